use std::sync::{Arc, OnceLock};
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use super::record::milliseconds;
use crate::audit::Who;
use crate::exec::Streams;

/// What a command prints. It can outlive the command: it keeps no process alive.
#[derive(Debug)]
pub struct CommandOutput {
    /// That of the command.
    pub id: String,
    pub who: Arc<Who>,
    pub streams: Streams,
    begun: Instant,
    end: OnceLock<CommandEnd>,
    over: CancellationToken,
}

/// How a command has ended.
#[derive(Clone, Copy, Debug)]
pub struct CommandEnd {
    /// Not known if the process that watched the command was killed.
    pub exit_code: Option<i32>,
    /// Why it ended, if it was not by itself.
    pub ended_by: Option<&'static str>,
    pub milliseconds: u64,
}

impl CommandOutput {
    pub fn new(id: &str, who: &Arc<Who>, streams: Streams) -> Self {
        let (begun, end, over) = (Instant::now(), OnceLock::new(), CancellationToken::new());
        Self { id: id.to_owned(), who: who.clone(), streams, begun, end, over }
    }

    /// The command has ended, and its output is complete.
    pub fn end(&self, end: CommandEnd) {
        let _ = self.end.set(end);
        self.over.cancel();
    }

    /// `None` while the command runs.
    pub fn ended(&self) -> Option<CommandEnd> {
        self.end.get().copied()
    }

    /// Waits until the command has ended and its output is complete.
    pub async fn over(&self) {
        self.over.cancelled().await;
    }

    /// How long the command has run, in milliseconds.
    pub fn elapsed(&self) -> u64 {
        self.ended().map_or_else(|| milliseconds(self.begun), |end| end.milliseconds)
    }
}
