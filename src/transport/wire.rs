//! Stdin and stdout, read and written by the runtime itself where they are pipes or sockets, as clients make them: what
//! the runtime offers for stdio goes through a thread of its own, and a call would wait for it twice.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream as Socket;

use rustix::fs::{FileType, fstat};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{UnixStream, unix::pipe};

type Input = Box<dyn AsyncRead + Send + Unpin>;
type Output = Box<dyn AsyncWrite + Send + Unpin>;

pub fn input() -> Input {
    let direct = || -> io::Result<Input> {
        Ok(match kind(io::stdin())? {
            // Opened anew, because whoever shares the old description must not find it non-blocking.
            FileType::Fifo => Box::new(pipe::OpenOptions::new().open_receiver("/proc/self/fd/0")?),
            FileType::Socket => Box::new(socket(io::stdin())?),
            _ => Box::new(tokio::io::stdin()),
        })
    };
    direct().unwrap_or_else(|_| Box::new(tokio::io::stdin()))
}

pub fn output() -> Output {
    let direct = || -> io::Result<Output> {
        Ok(match kind(io::stdout())? {
            FileType::Fifo => Box::new(pipe::OpenOptions::new().open_sender("/proc/self/fd/1")?),
            FileType::Socket => Box::new(socket(io::stdout())?),
            _ => Box::new(tokio::io::stdout()),
        })
    };
    direct().unwrap_or_else(|_| Box::new(tokio::io::stdout()))
}

fn kind(stream: impl AsFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(stream)?.st_mode))
}

/// Its other end is another description, so nobody else is surprised.
fn socket(stream: impl AsFd) -> io::Result<UnixStream> {
    let socket = Socket::from(stream.as_fd().try_clone_to_owned()?);
    // Only a stream of the unix family can be one; an address of another kind is left to the runtime.
    socket.peer_addr()?;
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}
