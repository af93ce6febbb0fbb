//! Stdin and stdout. Clients connect them to pipes or sockets; the runtime reads and writes those directly. Tokio's own
//! stdio goes through a separate thread, which every call would have to wait for twice.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream as Socket;

use rustix::fs::{FileType, fstat};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{UnixStream, unix::pipe};

use super::borrowed_pipe::BorrowedPipe;

type Input = Box<dyn AsyncRead + Send + Unpin>;
type Output = Box<dyn AsyncWrite + Send + Unpin>;

pub fn stdin() -> Input {
    let direct = || -> io::Result<Input> {
        Ok(match kind(io::stdin())? {
            // Opened again, because other processes may share the old file description. Making that one non-blocking
            // would surprise them.
            FileType::Fifo => match pipe::OpenOptions::new().open_receiver("/proc/self/fd/0") {
                Ok(pipe) => Box::new(pipe),
                // A pipe that another user made (setpriv, sudo) cannot be opened again.
                Err(_) => Box::new(BorrowedPipe::new(io::stdin().as_fd().try_clone_to_owned()?)?),
            },
            FileType::Socket => Box::new(socket(io::stdin())?),
            _ => Box::new(tokio::io::stdin()),
        })
    };
    direct().unwrap_or_else(|_| Box::new(tokio::io::stdin()))
}

pub fn stdout() -> Output {
    let direct = || -> io::Result<Output> {
        Ok(match kind(io::stdout())? {
            FileType::Fifo => match pipe::OpenOptions::new().open_sender("/proc/self/fd/1") {
                Ok(pipe) => Box::new(pipe),
                Err(_) => Box::new(BorrowedPipe::new(io::stdout().as_fd().try_clone_to_owned()?)?),
            },
            FileType::Socket => Box::new(socket(io::stdout())?),
            _ => Box::new(tokio::io::stdout()),
        })
    };
    direct().unwrap_or_else(|_| Box::new(tokio::io::stdout()))
}

fn kind(stream: impl AsFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(fstat(stream)?.st_mode))
}

/// A socket cannot be opened again, so ours becomes non-blocking. The client's end is a separate file description and
/// does not change.
fn socket(stream: impl AsFd) -> io::Result<UnixStream> {
    let socket = Socket::from(stream.as_fd().try_clone_to_owned()?);
    // Fails unless it is a unix stream socket. Tokio's own stdio then takes over.
    socket.peer_addr()?;
    socket.set_nonblocking(true)?;
    UnixStream::from_std(socket)
}
