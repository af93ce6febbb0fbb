//! Typing into a running command: text and keys, to its stdin or its terminal.

use super::Task;
use crate::exec::keys::{self, UnknownKey};
use crate::exec::{Input, InputError, Process, Streams};
use crate::gate::Permitted;
use crate::policy::action::TypeInput;

/// What goes to the task, in this order.
#[derive(Debug, Default, Eq, PartialEq)]
pub struct Typing {
    bytes: Vec<u8>,
    ends_input: bool,
    signal: Option<i32>,
}

#[derive(Debug, thiserror::Error)]
pub enum TypingError {
    #[error("task {0} has no open stdin: its input was given when it was started")]
    NoInput(String),
    #[error("failed to type into task {0}: {1}")]
    Failed(String, #[source] InputError),
    #[error(transparent)]
    Key(#[from] UnknownKey),
}

impl Typing {
    /// Translates text and the names of keys for these streams. A terminal turns control keys into signals itself. A task
    /// without one has only a pipe, so here C-c becomes SIGINT, C-\ SIGQUIT, and C-d the end of the input.
    pub fn new(text: &str, names: &[String], streams: &Streams) -> Result<Self, UnknownKey> {
        let mut typing = Self { bytes: text.as_bytes().to_vec(), ..Self::default() };
        let terminal = match streams {
            Streams::Terminal { terminal, .. } => Some(terminal.expects_application_keys()),
            Streams::Pipes { .. } => None,
        };
        for name in names {
            let bytes = keys::bytes(name, terminal.unwrap_or(false))?;
            match (terminal, bytes.as_slice()) {
                (None, [0x04]) => typing.ends_input = true,
                (None, [0x03]) => typing.signal = Some(libc::SIGINT),
                (None, [0x1c]) => typing.signal = Some(libc::SIGQUIT),
                (None, b"\r") => typing.bytes.push(b'\n'),
                _ => typing.bytes.extend(bytes),
            }
        }
        Ok(typing)
    }
}

impl Task {
    /// Types what was permitted. Returns what the program waited for before: see [`Task::takes_input`].
    pub async fn type_in(&self, permitted: &Permitted<TypeInput>) -> Result<Option<u32>, TypingError> {
        let typing = Typing::new(&permitted.text, &permitted.keys, &self.streams)?;
        let input = self.input.as_ref().ok_or_else(|| TypingError::NoInput(self.id.clone()))?;
        let before = self.process.input_wait().await;
        self.marks().typed.push_str(&format!("{}\n", permitted.text));
        typing.send(input, &self.process).await.map_err(|error| TypingError::Failed(self.id.clone(), error))?;
        Ok(before)
    }
}

impl Typing {
    /// For what a person types themselves. What an agent types goes through [`Task::type_in`], with a permit.
    pub async fn send_for_person(&self, input: &Input, process: &Process) -> Result<(), InputError> {
        self.send(input, process).await
    }

    async fn send(&self, input: &Input, process: &Process) -> Result<(), InputError> {
        input.touch();
        if !self.bytes.is_empty() {
            input.write(&self.bytes).await?;
        }
        if self.ends_input {
            input.close().await;
        }
        if let Some(signal) = self.signal {
            process.signal(signal).await;
        }
        Ok(())
    }
}
