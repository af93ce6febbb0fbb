use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A pipe that blocks, because others may hold it too and would be surprised if it did not. It is read and written only when
/// the kernel says that this will not block, so it needs no thread of its own: where no more threads can be started, tokio's
/// own stdio would never answer.
pub struct BorrowedPipe(AsyncFd<OwnedFd>);

/// A pipe that can be written takes so many bytes at once.
const PIPE_BUF: usize = 4096;

impl BorrowedPipe {
    pub fn new(pipe: OwnedFd) -> io::Result<Self> {
        crate::exec::async_fd(pipe).map(Self)
    }
}

impl AsyncRead for BorrowedPipe {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.0.poll_read_ready(context))?;
            if is_ready(ready.get_inner(), PollFlags::IN)? {
                let count = rustix::io::read(ready.get_inner(), buffer.initialize_unfilled())?;
                buffer.advance(count);
                return Poll::Ready(Ok(()));
            }
            ready.clear_ready();
        }
    }
}

impl AsyncWrite for BorrowedPipe {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            let mut ready = ready!(self.0.poll_write_ready(context))?;
            if is_ready(ready.get_inner(), PollFlags::OUT)? {
                let some = &bytes[..bytes.len().min(PIPE_BUF)];
                return Poll::Ready(Ok(rustix::io::write(ready.get_inner(), some)?));
            }
            ready.clear_ready();
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Whether the pipe can be read or written right now, or has been closed at its other end.
fn is_ready(pipe: &OwnedFd, wanted: PollFlags) -> io::Result<bool> {
    let mut watched = [PollFd::new(pipe, wanted)];
    Ok(poll(&mut watched, Some(&Timespec::default()))? > 0)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn more_than_the_pipe_holds_passes_through() {
        let (read, write) = std::io::pipe().unwrap();
        let mut input = BorrowedPipe::new(read.into()).unwrap();
        let mut output = BorrowedPipe::new(write.into()).unwrap();
        let sent: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
        let expected = sent.clone();
        let sending = tokio::spawn(async move { output.write_all(&sent).await });
        let mut received = Vec::new();
        input.read_to_end(&mut received).await.unwrap();
        sending.await.unwrap().unwrap();
        assert!(received == expected);
    }
}
