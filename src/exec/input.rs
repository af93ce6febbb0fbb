//! What goes into a running command: the writing end of its stdin, or its terminal.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::SetOnce;

use crate::base::locks::LockExt;

/// Open until it is closed. Writers take turns.
#[derive(Debug)]
pub struct Input {
    descriptor: tokio::sync::Mutex<Option<AsyncFd<OwnedFd>>>,
    /// Done when the program can take input.
    ready: SetOnce<()>,
    /// When an agent or a person typed last.
    typed: Mutex<Option<Instant>>,
}

/// A shell takes a few milliseconds to get ready. If it does not say so, writes go ahead after this.
const LONGEST_START: Duration = Duration::from_secs(2);
/// How long a write waits for a program that does not read.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum InputError {
    #[error("its input is closed")]
    Closed,
    #[error("it does not read its input: {written} of {length} bytes were taken")]
    NotRead { written: usize, length: usize },
    #[error("failed to write to it: {0}")]
    Failed(#[source] io::Error),
}

impl Input {
    /// From a non-blocking descriptor.
    pub fn new(descriptor: OwnedFd) -> io::Result<Self> {
        let descriptor = tokio::sync::Mutex::new(Some(super::async_fd::async_fd(descriptor)?));
        Ok(Self { descriptor, ready: SetOnce::new(), typed: Mutex::default() })
    }

    /// Only `exec` may call it: whatever an agent types comes through [`super::Task::type_in`], with a permit, and whatever a
    /// person types through [`super::Typing::send_for_person`].
    pub(in crate::exec) async fn write(&self, bytes: &[u8]) -> Result<(), InputError> {
        let _ = tokio::time::timeout(LONGEST_START, self.ready.wait()).await;
        let guard = self.descriptor.lock().await;
        let descriptor = guard.as_ref().ok_or(InputError::Closed)?;
        let mut written = 0;
        while written < bytes.len() {
            let some =
                descriptor.async_io(Interest::WRITABLE, |inner| Ok(rustix::io::write(inner, &bytes[written..])?));
            match tokio::time::timeout(PATIENCE, some).await {
                Ok(Ok(count)) => written += count,
                Ok(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => return Err(InputError::Closed),
                Ok(Err(error)) => return Err(InputError::Failed(error)),
                Err(_) => return Err(InputError::NotRead { written, length: bytes.len() }),
            }
        }
        Ok(())
    }

    /// An agent or a person types now. The replies of a terminal are not typed.
    pub(in crate::exec) fn touch(&self) {
        *self.typed.locked() = Some(Instant::now());
    }

    pub fn typed(&self) -> Option<Instant> {
        *self.typed.locked()
    }

    /// The program can take input from now on.
    pub fn set_ready(&self) {
        let _ = self.ready.set(());
    }

    /// Ends the input: its reader sees the end of the file.
    pub async fn close(&self) {
        self.descriptor.lock().await.take();
    }
}
