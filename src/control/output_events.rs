//! What one command prints, from its beginning to its end: `output` events, and one `end`.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{Path, State as Shared};
use axum::response::Response;

use super::Viewer;
use super::api;
use super::events::Teller;
use super::types::OutputPiece;
use crate::exec::{Recording, Streams};
use crate::server::{CommandOutput, Server};

/// The most bytes of one event.
const PIECE: usize = 64 * 1024;

pub async fn stream(
    Shared(server): Shared<Arc<Server>>,
    Extension(viewer): Extension<Viewer>,
    Path(id): Path<String>,
) -> Response {
    let Some(printed) = api::visible_output(&server, &viewer, &id) else { return api::no_command(&id) };
    let (teller, response) = Teller::new();
    tokio::spawn(async move { tell(&printed, &teller).await });
    response
}

async fn tell(printed: &CommandOutput, teller: &Teller) {
    let follow =
        async |stream: &str, recording: &Recording| Follower::new(stream, recording).follow(printed, teller).await;
    let telling = async {
        match &printed.streams {
            Streams::Pipes { stdout, stderr } => {
                tokio::join!(follow("stdout", stdout), follow("stderr", stderr));
            }
            Streams::Terminal { raw, .. } => follow("terminal", raw).await,
        }
    };
    tokio::select! {
        () = telling => {}
        () = teller.closed() => return,
    }
    teller.tell("end", &()).await;
}

struct Follower<'a> {
    stream: &'a str,
    recording: &'a Recording,
    position: u64,
    /// The beginning of a character whose rest has not been printed yet.
    begin: Vec<u8>,
}

impl<'a> Follower<'a> {
    fn new(stream: &'a str, recording: &'a Recording) -> Self {
        Self { stream, recording, position: 0, begin: Vec::new() }
    }

    async fn follow(mut self, printed: &CommandOutput, teller: &Teller) {
        loop {
            let (seen, over) = (self.recording.seen(), printed.ended().is_some() || self.recording.has_ended());
            if !self.catch_up(teller).await || over {
                return;
            }
            tokio::select! {
                () = self.recording.grown(seen) => {}
                () = printed.over() => {}
            }
        }
    }

    /// Tells what is there. Returns `false` if nobody reads any more.
    async fn catch_up(&mut self, teller: &Teller) -> bool {
        loop {
            let mut bytes = vec![0; PIECE];
            let Ok(count @ 1..) = self.recording.get().spill.read_at(self.position, &mut bytes) else { return true };
            self.position += count as u64;
            self.begin.extend_from_slice(&bytes[..count]);
            let text = take_text(&mut self.begin);
            if !text.is_empty() && !teller.tell("output", &OutputPiece { stream: self.stream.to_owned(), text }).await {
                return false;
            }
        }
    }
}

/// The text at the beginning of the bytes. The first bytes of a character that is not complete stay.
fn take_text(bytes: &mut Vec<u8>) -> String {
    let rest = bytes.split_off(bytes.len() - torn(bytes));
    let text = String::from_utf8_lossy(bytes).into_owned();
    *bytes = rest;
    text
}

/// How many bytes at the end belong to a character that is not complete.
pub fn torn(bytes: &[u8]) -> usize {
    let cut = (1..=bytes.len().min(3)).find(|back| {
        let at = bytes.len() - back;
        let length = match bytes[at] {
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ => 1,
        };
        length > *back
    });
    cut.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::take_text;

    #[test]
    fn a_character_is_not_torn() {
        let mut bytes = "aä€".as_bytes().to_vec();
        let last = bytes.pop().unwrap();
        assert_eq!(take_text(&mut bytes), "aä");
        bytes.push(last);
        assert_eq!((take_text(&mut bytes).as_str(), bytes.len()), ("€", 0));
        let mut broken = vec![b'x', 0xff, b'y'];
        assert_eq!(take_text(&mut broken), "x\u{fffd}y");
    }
}
