//! The pipe on which a shell reports its cwd and variables when it ends.
//!
//! bash writes the report line by line, and every line would wake a reader that waits on the pipe. So the server reads a
//! short command's report only after the exit, when all of it is there. For a command that takes longer it reads along,
//! because a report may be larger than the pipe. A shell that stays reports little, and the server waits for that.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use tokio::io::unix::AsyncFd;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::super::async_fd::async_fd;
use super::shell_report::Stayed;

#[derive(Debug)]
pub struct StateChannel(Reading);

#[derive(Debug)]
enum Reading {
    /// There is nothing to read: the program is no shell, or the report was taken already.
    None,
    NotYet(OwnedFd),
    /// A waiting shell's, with what has come so far.
    Watched {
        pipe: AsyncFd<OwnedFd>,
        bytes: Vec<u8>,
    },
    UnderWay {
        collecting: JoinHandle<Vec<u8>>,
        over: CancellationToken,
    },
}

const LONGEST: usize = 8 << 20;

impl StateChannel {
    /// For a program that is no shell.
    pub fn none() -> Self {
        Self(Reading::None)
    }

    /// From the reading end of a pipe, which must not block.
    pub fn new(pipe: OwnedFd) -> Self {
        Self(Reading::NotYet(pipe))
    }

    /// As [`StateChannel::new`], for a shell that waits.
    pub fn watched(pipe: OwnedFd) -> io::Result<Self> {
        Ok(Self(Reading::Watched { pipe: async_fd(pipe)?, bytes: Vec::new() }))
    }

    /// The shell ends with its text, so its report is not waited for.
    pub fn unwatch(&mut self) {
        self.0 = match std::mem::replace(&mut self.0, Reading::None) {
            Reading::Watched { pipe, .. } => Reading::NotYet(pipe.into_inner()),
            other => other,
        };
    }

    /// Waits for the report of a shell that stays. Never returns if the shell ends without one. It can be dropped and called
    /// again.
    pub async fn stays(&mut self, nonce: &str, fields: usize) -> Stayed {
        let Reading::Watched { pipe, bytes } = &mut self.0 else { return std::future::pending().await };
        loop {
            if let Some(stayed) = Stayed::parse(bytes, nonce, fields) {
                bytes.clear();
                return stayed;
            }
            match pipe.readable().await {
                Ok(mut ready) if take_all(pipe.get_ref(), bytes) => ready.clear_ready(),
                _ => return std::future::pending().await,
            }
        }
    }

    /// Starts to read along while the shell writes. Returns what completes when the shell is about to run its text.
    pub fn begin(&mut self) -> oneshot::Receiver<()> {
        let (ready, is_ready) = oneshot::channel();
        let pipe = match std::mem::replace(&mut self.0, Reading::None) {
            Reading::NotYet(pipe) => async_fd(pipe).ok(),
            Reading::Watched { pipe, .. } => Some(pipe),
            Reading::None | Reading::UnderWay { .. } => None,
        };
        let Some(pipe) = pipe else { return is_ready };
        let over = CancellationToken::new();
        let ended = over.clone();
        let collecting = tokio::spawn(async move { collect(&pipe, ready, &ended).await });
        self.0 = Reading::UnderWay { collecting, over };
        is_ready
    }

    /// The whole report. Call it once the command has exited: a child that inherited the descriptor may keep the pipe open
    /// for ever, so the exit is the end of the report, not the end of the pipe.
    pub async fn take(&mut self) -> Vec<u8> {
        match std::mem::replace(&mut self.0, Reading::None) {
            Reading::None => Vec::new(),
            Reading::NotYet(pipe) => all(&pipe),
            Reading::Watched { pipe, mut bytes } => {
                take_all(pipe.get_ref(), &mut bytes);
                bytes
            }
            Reading::UnderWay { collecting, over } => {
                over.cancel();
                collecting.await.unwrap_or_default()
            }
        }
    }
}

/// A closed pipe would kill the shell with SIGPIPE when it reports, so the server reads on.
impl Drop for StateChannel {
    fn drop(&mut self) {
        if tokio::runtime::Handle::try_current().is_ok() {
            drop(self.begin());
        }
    }
}

async fn collect(pipe: &AsyncFd<OwnedFd>, ready: oneshot::Sender<()>, over: &CancellationToken) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut ready = Some(ready);
    loop {
        if let Some(ready) = ready.take_if(|_| !bytes.is_empty()) {
            let _ = ready.send(());
        }
        tokio::select! {
            biased;
            () = over.cancelled() => {
                // All that the shell wrote before its exit is in the pipe now.
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

fn all(pipe: &OwnedFd) -> Vec<u8> {
    let mut bytes = Vec::new();
    take_all(pipe, &mut bytes);
    bytes
}

/// Reads everything that is in the pipe. Returns whether more may come.
fn take_all(pipe: &OwnedFd, bytes: &mut Vec<u8>) -> bool {
    const PIECE: usize = 1024;
    loop {
        // No report is longer. The server drops the rest, but reads it, so that the writer does not block.
        bytes.truncate(LONGEST);
        bytes.reserve(PIECE);
        match rustix::io::read(pipe, rustix::buffer::spare_capacity(bytes)) {
            Ok(0) => return false,
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return io::Error::from(error).kind() == io::ErrorKind::WouldBlock,
        }
    }
}
