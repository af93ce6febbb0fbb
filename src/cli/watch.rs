//! `testudo watch`: commands and their output as they happen, in all servers of this user.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use serde_json::Value;
use tokio::sync::mpsc;

use super::audit_text::{Narrator, row};
use super::live_text::LiveText;
use super::output::reader_has_gone;
use crate::config::Config;
use crate::control::servers::{self, News};
use crate::control::types::{OutputPiece, State};
use crate::control::{Message, Remote};

/// What a command printed, or that it has printed everything.
enum Printed {
    Piece(OutputPiece),
    End,
}

type Key = (Remote, String);

struct Watch<'a> {
    session: Option<&'a str>,
    json: bool,
    narrator: Narrator,
    /// The commands whose output is followed.
    followed: HashSet<Key>,
    /// Ends that are told when the output is complete.
    ends: HashMap<Key, String>,
    texts: HashMap<(Key, String), LiveText>,
    /// Who has printed last. A line of another one gets a heading.
    last: Option<Key>,
    pieces: mpsc::Sender<(Key, Printed)>,
}

pub async fn run(config: &Config, session: Option<&str>, json: bool) -> anyhow::Result<()> {
    let (pieces, mut printed) = mpsc::channel(256);
    let mut watch = Watch {
        session,
        json,
        narrator: Narrator::default(),
        followed: HashSet::new(),
        ends: HashMap::new(),
        texts: HashMap::new(),
        last: None,
        pieces,
    };
    let mut news = servers::follow(config.control_dirs.clone(), false).await;
    let mut look = tokio::time::interval(std::time::Duration::from_millis(200));
    loop {
        let told = tokio::select! {
            told = news.recv() => match told {
                Some((remote, News::Told(message))) => watch.told(&remote, &message),
                Some((remote, News::Gone)) => watch.gone(&remote),
                None => return Ok(()),
            },
            printed = printed.recv() => match printed {
                Some((key, printed)) => watch.printed(&key, printed),
                None => return Ok(()),
            },
            _ = look.tick() => if reader_has_gone() { return Ok(()) } else { Ok(()) },
        };
        match told {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            told => told?,
        }
    }
}

impl Watch<'_> {
    fn wants(&self, session: &str) -> bool {
        self.session.is_none_or(|wanted| wanted == session)
    }

    fn told(&mut self, remote: &Remote, message: &Message) -> io::Result<()> {
        match message.kind.as_str() {
            "state" => {
                let Ok(state) = serde_json::from_value::<State>(message.data.clone()) else { return Ok(()) };
                self.joined(remote, &state)
            }
            "event" => self.event(remote, &message.data),
            "lagged" => write(&format!("({} events were left out)\n", message.data)),
            _ => Ok(()),
        }
    }

    /// A server was found. Commands that run already are followed, too.
    fn joined(&mut self, remote: &Remote, state: &State) -> io::Result<()> {
        if !self.json {
            let project = row(&state.server.project);
            write(&format!("-- server {} in {project}\n", state.server.pid))?;
        }
        let wanted = self.session;
        let all = state.clients.iter().flat_map(|client| &client.sessions);
        for session in all.filter(|session| wanted.is_none_or(|wanted| wanted == session.name)) {
            for command in &session.commands {
                if !self.json {
                    write(&format!("{}  $ {}\n", row(&session.name), row(&command.command)))?;
                }
                self.follow(remote, &command.id);
            }
        }
        Ok(())
    }

    fn gone(&mut self, remote: &Remote) -> io::Result<()> {
        self.followed.retain(|(server, _)| server != remote);
        if self.json { Ok(()) } else { write("-- a server has ended\n") }
    }

    fn event(&mut self, remote: &Remote, event: &Value) -> io::Result<()> {
        let text = self.narrator.text(event);
        if !event["session"].as_str().is_none_or(|session| self.wants(session)) {
            return Ok(());
        }
        let key = (remote.clone(), event["process"].as_str().unwrap_or_default().to_owned());
        if event["event"] == "process_start" {
            self.follow(remote, &key.1);
        }
        if self.json {
            return write(&format!("{event}\n"));
        }
        let Some(text) = text.filter(|_| event["event"] != "call") else { return Ok(()) };
        self.last = None;
        // The end of a command comes after its output.
        if event["event"] == "process_exit" && self.followed.contains(&key) {
            self.ends.insert(key, text);
            return Ok(());
        }
        write(&format!("{text}\n"))
    }

    fn follow(&mut self, remote: &Remote, command: &str) {
        let key = (remote.clone(), command.to_owned());
        if !self.followed.insert(key.clone()) {
            return;
        }
        let pieces = self.pieces.clone();
        tokio::spawn(async move {
            if let Ok(mut events) = key.0.events(&format!("/v1/commands/{}/output", key.1)).await {
                while let Some(message) = events.next().await {
                    let Ok(piece) = serde_json::from_value(message.data) else { break };
                    if pieces.send((key.clone(), Printed::Piece(piece))).await.is_err() {
                        return;
                    }
                }
            }
            let _ = pieces.send((key, Printed::End)).await;
        });
    }

    fn printed(&mut self, key: &Key, printed: Printed) -> io::Result<()> {
        match printed {
            Printed::Piece(piece) => {
                if self.json {
                    let (process, OutputPiece { stream, text }) = (&key.1, piece);
                    let line =
                        serde_json::json!({"event": "output", "process": process, "stream": stream, "text": text});
                    return write(&format!("{line}\n"));
                }
                let text = self.texts.entry((key.clone(), piece.stream)).or_default().push(&piece.text);
                self.show(key, &text)
            }
            Printed::End => {
                self.followed.remove(key);
                for stream in ["stdout", "stderr", "terminal"] {
                    if let Some(mut live) = self.texts.remove(&(key.clone(), stream.to_owned())) {
                        self.show(key, &live.finish())?;
                    }
                }
                match self.ends.remove(key) {
                    Some(end) => write(&format!("{end}\n")),
                    None => Ok(()),
                }
            }
        }
    }

    fn show(&mut self, key: &Key, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        if self.followed.len() > 1 && self.last.as_ref() != Some(key) {
            write(&format!("-- {}\n", key.1))?;
        }
        self.last = Some(key.clone());
        write(text)
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
}
