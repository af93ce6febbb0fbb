//! `testudo approve`: the questions of all servers of this user, answered with one key.

use std::collections::HashMap;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::audit_text::row;
use super::keyboard::{Key, Keyboard};
use super::output::{print, print_error, reader_has_gone};
use crate::config::Config;
use crate::control::servers::{self, News};
use crate::control::types::{QuestionState, State};
use crate::control::{Message, Remote};

// The doc comments are the help texts.
#[derive(Args)]
pub struct ApproveArguments {
    /// The id of a question, to answer it without a terminal
    #[arg(value_name = "ID", requires = "decision")]
    id: Option<String>,
    /// The answer: once, session, program, always or deny
    #[arg(value_name = "DECISION")]
    decision: Option<String>,
    /// Wait for further questions. While this runs, agents whose client cannot ask wait for your answer
    #[arg(long)]
    wait: bool,
    /// Print the pending questions as JSON
    #[arg(long)]
    json: bool,
}

/// Who has answered, as the others read it.
const BY: &str = "testudo approve";
/// How often it is looked whether anybody still reads.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How long a question that waits may take to arrive.
const SHOWN_WITHIN: Duration = Duration::from_secs(5);

pub async fn run(config: &Config, arguments: &ApproveArguments) -> anyhow::Result<ExitCode> {
    if let (Some(id), Some(decision)) = (&arguments.id, &arguments.decision) {
        return answer_one(config, id, decision).await;
    }
    if arguments.json {
        let all = servers::all(&config.control_dirs).await;
        let questions: Vec<_> = all
            .iter()
            .flat_map(|(_, state)| {
                state.questions.iter().map(|question| {
                    let mut shown = json!(question);
                    shown["server"] = json!(state.server.pid);
                    shown["project"] = json!(state.server.project);
                    shown
                })
            })
            .collect();
        print(&serde_json::to_string_pretty(&json!({ "questions": questions }))?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut desk = Desk::default();
    let waits = async || servers::all(&config.control_dirs).await.iter().any(|(_, state)| !state.questions.is_empty());
    if !arguments.wait && !waits().await {
        print("no question waits for an answer; `testudo approve --wait` waits for the next one")?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut keyboard = Keyboard::open()?;
    if arguments.wait {
        print("waiting for questions; q or Ctrl-C ends")?;
    }
    // Questions come from the same stream as answers, so no answer to one that is shown can be missed.
    let mut begun = false;
    let mut news = servers::follow(config.control_dirs.clone(), true).await;
    let mut look = tokio::time::interval(LOOK_EVERY);
    loop {
        desk.show_next()?;
        begun |= desk.shown.is_some();
        if !arguments.wait && begun && desk.shown.is_none() {
            break;
        }
        tokio::select! {
            // The question was answered before it could be shown.
            () = tokio::time::sleep(SHOWN_WITHIN), if !arguments.wait && !begun => break,
            // A person who cannot see the questions must not answer them.
            _ = look.tick() => if reader_has_gone() { break },
            told = news.recv() => match told {
                Some((remote, News::Told(message))) => desk.told(&remote, &message)?,
                Some((remote, News::Gone)) => desk.gone(&remote)?,
                None => break,
            },
            key = keyboard.next() => match key {
                Key::Character(c) if !desk.pressed(c).await? => break,
                Key::Character(_) => {}
                Key::End => break,
            },
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn answer_one(config: &Config, id: &str, decision: &str) -> anyhow::Result<ExitCode> {
    for (remote, state) in servers::all(&config.control_dirs).await {
        if state.questions.iter().any(|question| question.id == id) {
            if let Err(error) = remote.answer(id, decision, BY).await {
                print_error(&format!("testudo: {error}"));
                return Ok(ExitCode::FAILURE);
            }
            print(&format!("{id}: {decision}"))?;
            return Ok(ExitCode::SUCCESS);
        }
    }
    print_error(&format!("testudo: no question {id} waits for an answer"));
    Ok(ExitCode::FAILURE)
}

/// The questions, one of which is in sight.
#[derive(Default)]
struct Desk {
    waiting: Vec<(Remote, QuestionState)>,
    shown: Option<(Remote, QuestionState)>,
    projects: HashMap<Remote, String>,
}

impl Desk {
    fn told(&mut self, remote: &Remote, message: &Message) -> std::io::Result<()> {
        match message.kind.as_str() {
            "state" => {
                if let Ok(state) = serde_json::from_value(message.data.clone()) {
                    self.joined(remote, state);
                }
            }
            "questions" => self.replace(remote, serde_json::from_value(message.data.clone()).unwrap_or_default()),
            "event" if message.data["event"] == "answer" => self.answered(remote, &message.data)?,
            _ => {}
        }
        Ok(())
    }

    fn joined(&mut self, remote: &Remote, state: State) {
        let project = format!("server {} in {}", state.server.pid, state.server.project);
        self.projects.insert(remote.clone(), row(&project));
        self.replace(remote, state.questions);
    }

    /// Somebody has answered. If it was the question in sight, the person learns by whom.
    fn answered(&mut self, remote: &Remote, event: &serde_json::Value) -> std::io::Result<()> {
        let is_shown = self
            .shown
            .as_ref()
            .is_some_and(|(server, shown)| server == remote && event["question"] == shown.id.as_str());
        if !is_shown || event["by"] == BY {
            return Ok(());
        }
        self.shown = None;
        let text = |name: &str| row(event[name].as_str().unwrap_or_default());
        print(&format!("\nanswered by {}: {}\n", text("by"), text("decision")))
    }

    /// These questions of one server wait now.
    fn replace(&mut self, remote: &Remote, questions: Vec<QuestionState>) {
        self.waiting.retain(|(server, _)| server != remote);
        let shown = self.shown.as_ref().map(|(_, shown)| shown.id.clone());
        let new = questions.into_iter().filter(|question| Some(&question.id) != shown.as_ref());
        self.waiting.extend(new.map(|question| (remote.clone(), question)));
    }

    fn gone(&mut self, remote: &Remote) -> std::io::Result<()> {
        self.replace(remote, Vec::new());
        if self.shown.take_if(|(server, _)| server == remote).is_some() {
            print("\nthe server has ended\n")?;
        }
        Ok(())
    }

    fn show_next(&mut self) -> std::io::Result<()> {
        if self.shown.is_some() || self.waiting.is_empty() {
            return Ok(());
        }
        let (remote, question) = self.waiting.remove(0);
        let project = self.projects.get(&remote).cloned().unwrap_or_default();
        print(&form(&project, &question))?;
        self.shown = Some((remote, question));
        Ok(())
    }

    /// Returns `false` if the person wants to leave.
    async fn pressed(&mut self, key: char) -> std::io::Result<bool> {
        if matches!(key, 'q' | '\u{3}' | '\u{4}') {
            return Ok(false);
        }
        let Some((remote, question)) = &self.shown else { return Ok(true) };
        let by_number = key.to_digit(10).and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
        let by_letter = || question.choices.iter().position(|choice| letter(&choice.decision) == Some(key));
        let Some(choice) = by_number.or_else(by_letter).and_then(|at| question.choices.get(at)) else {
            return Ok(true);
        };
        let outcome = match remote.answer(&question.id, &choice.decision, BY).await {
            Ok(()) => format!("{}\n", choice.decision),
            Err(error) => format!("{error}\n"),
        };
        print(&outcome)?;
        self.shown = None;
        Ok(true)
    }
}

/// The first letter of a decision answers, too.
fn letter(decision: &str) -> Option<char> {
    decision.chars().next()
}

/// The question as the server has made it: nothing in it can be forged. Our own lines come after it.
fn form(project: &str, question: &QuestionState) -> String {
    let client = question.client.as_deref().map(row).unwrap_or_default();
    let who = format!("{}/{} {client}", row(&question.principal), row(&question.session));
    let mut text = format!("{}\n\n{project}, {who}\n", question.message);
    for (index, choice) in question.choices.iter().enumerate() {
        let key = letter(&choice.decision).unwrap_or_default();
        text.push_str(&format!("  {} or {key}   {}\n", index + 1, choice.title));
    }
    text.push_str(&format!("({} s left; q leaves it open)", question.seconds_left));
    text
}
