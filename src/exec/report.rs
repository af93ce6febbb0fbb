//! What a shell says about itself at its end, on a pipe of its own.
//!
//! bash writes it line by line, and a pipe that somebody watches wakes its watcher for each of them. So nobody watches at
//! first: the end of the command follows, and then everything is there. Only a command that takes its time gets a reader,
//! because a report may be larger than the pipe.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use tokio::io::unix::AsyncFd;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::watched::watched;

/// A report that may still be written.
#[derive(Debug)]
pub struct Report(State);

#[derive(Debug)]
enum State {
    /// Of a program that is no shell, or taken already.
    None,
    Unread(OwnedFd),
    Read {
        collecting: JoinHandle<Vec<u8>>,
        over: CancellationToken,
    },
}

const LONGEST: usize = 8 << 20;

impl Report {
    /// Of a program that is no shell.
    pub fn none() -> Self {
        Self(State::None)
    }

    /// From the end of a pipe that does not block.
    pub fn of(pipe: OwnedFd) -> Self {
        Self(State::Unread(pipe))
    }

    /// Has it read while it is written.
    pub fn begin(&mut self) {
        let State::Unread(pipe) = std::mem::replace(&mut self.0, State::None) else { return };
        let Ok(pipe) = watched(pipe) else { return };
        let over = CancellationToken::new();
        let ended = over.clone();
        self.0 = State::Read { collecting: tokio::spawn(async move { collect(&pipe, &ended).await }), over };
    }

    /// All of it, once the command has ended. A child that inherited the descriptor keeps it open, so the command's end is
    /// the end of it.
    pub async fn take(&mut self) -> Vec<u8> {
        match std::mem::replace(&mut self.0, State::None) {
            State::None => Vec::new(),
            State::Unread(pipe) => {
                let mut bytes = Vec::new();
                take_all(&pipe, &mut bytes);
                bytes
            }
            State::Read { collecting, over } => {
                over.cancel();
                collecting.await.unwrap_or_default()
            }
        }
    }
}

/// A shell that writes to nobody would be killed for it, so somebody reads on.
impl Drop for Report {
    fn drop(&mut self) {
        if tokio::runtime::Handle::try_current().is_ok() {
            self.begin();
        }
    }
}

async fn collect(pipe: &AsyncFd<OwnedFd>, over: &CancellationToken) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        tokio::select! {
            biased;
            () = over.cancelled() => {
                // Whatever was written before the end is there to be read now.
                take_all(pipe.get_ref(), &mut bytes);
                return bytes;
            }
            ready = pipe.readable() => match ready {
                Ok(mut ready) if take_all(pipe.get_ref(), &mut bytes) => ready.clear_ready(),
                _ => return bytes,
            },
        }
    }
}

/// Everything that is in the pipe; whether more may come.
fn take_all(pipe: &OwnedFd, bytes: &mut Vec<u8>) -> bool {
    let mut buffer = [0; 16 * 1024];
    loop {
        match rustix::io::read(pipe, &mut buffer) {
            Ok(0) => return false,
            Ok(count) if bytes.len() < LONGEST => bytes.extend_from_slice(&buffer[..count]),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return io::Error::from(error).kind() == io::ErrorKind::WouldBlock,
        }
    }
}
