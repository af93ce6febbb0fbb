//! A sequenced-packet socket on the server's side: messages, descriptors beside them, no blocking.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, recv, recvmsg, sendmsg, socketpair,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::async_fd::async_fd;
use crate::keeper::protocol::MOST_DESCRIPTORS;

#[derive(Debug)]
pub struct Socket(AsyncFd<OwnedFd>);

impl Socket {
    /// Our end, and the blocking end for the other process.
    pub fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        rustix::io::ioctl_fionbio(&ours, true)?;
        Ok((Self(async_fd(ours)?), theirs))
    }

    pub async fn send(&self, message: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.0
            .async_io(Interest::WRITABLE, |socket| {
                let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
                let mut ancillary = SendAncillaryBuffer::new(&mut space);
                if !descriptors.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
                    return Err(io::Error::other("too many descriptors"));
                }
                sendmsg(socket.as_fd(), &[IoSlice::new(message)], &mut ancillary, SendFlags::NOSIGNAL)?;
                Ok(())
            })
            .await
    }

    /// As [`Socket::send`], without waiting: an error if the other side has no room for it.
    pub fn send_now(&self, message: &[u8]) -> io::Result<()> {
        rustix::net::send(self.0.get_ref(), message, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// Calls `act` whenever a message may have come, until it returns `false`. It must take all messages there are.
    pub async fn whenever_readable(&self, mut act: impl FnMut() -> bool) {
        while let Ok(mut ready) = self.0.readable().await {
            if !act() {
                return;
            }
            // Keeps the readiness of a message that has come since.
            ready.clear_ready();
        }
    }

    /// The next message if it is there already; empty when the other side has gone.
    pub fn receive_now(&self) -> Option<Vec<u8>> {
        match receive_into(self.0.get_ref()) {
            Ok(message) => Some(message),
            Err(Errno::AGAIN | Errno::INTR) => None,
            Err(_) => Some(Vec::new()),
        }
    }

    /// Whether the other side has gone.
    pub fn is_closed(&self) -> bool {
        let mut polled = [PollFd::new(self.0.get_ref(), PollFlags::empty())];
        let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        let _ = poll(&mut polled, Some(&now));
        polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
    }

    /// Closes the connection for both sides, even if other processes still hold this end.
    pub fn hang_up(&self) {
        let _ = rustix::net::shutdown(self.0.get_ref(), rustix::net::Shutdown::Both);
    }

    /// The next message and the descriptors that came with it.
    pub async fn receive_with_descriptors(&self) -> (Vec<u8>, Vec<OwnedFd>) {
        let received = self
            .0
            .async_io(Interest::READABLE, |socket| {
                // Made when a message is there, and not while the other side makes us wait for it.
                let mut buffer = vec![0; LONGEST_MESSAGE];
                let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
                let mut ancillary = RecvAncillaryBuffer::new(&mut space);
                let parts = &mut [IoSliceMut::new(&mut buffer)];
                let mut receive = || recvmsg(socket.as_fd(), parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC);
                let count = after_reset(receive(), receive)?.bytes;
                buffer.truncate(count);
                buffer.shrink_to_fit();
                let mut descriptors = Vec::new();
                for part in ancillary.drain() {
                    if let RecvAncillaryMessage::ScmRights(received) = part {
                        descriptors.extend(received);
                    }
                }
                Ok((buffer, descriptors))
            })
            .await;
        received.unwrap_or_default()
    }

    /// The next message; empty when the other side has gone.
    pub async fn receive(&self) -> Vec<u8> {
        let received = self.0.async_io(Interest::READABLE, |socket| Ok(receive_into(socket)?)).await;
        received.unwrap_or_default()
    }
}

const LONGEST_MESSAGE: usize = 64 * 1024;

/// Most looks find no message, so the memory for one is taken only when it is there.
fn receive_into(socket: &OwnedFd) -> Result<Vec<u8>, Errno> {
    let measure = || recv(socket, &mut [0; 0], RecvFlags::PEEK | RecvFlags::TRUNC).map(|(_, length)| length);
    let length = after_reset(measure(), measure)?;
    let mut message = Vec::with_capacity(length.clamp(1, LONGEST_MESSAGE));
    recv(socket, spare_capacity(&mut message), RecvFlags::empty())?;
    Ok(message)
}

/// Receives again after ECONNRESET. The kernel reports it once when the other side closed its end with one of our messages
/// unread, and before it hands out what the other side had sent: the exit status of a command, for example.
fn after_reset<T>(received: Result<T, Errno>, again: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
    if received.as_ref().is_err_and(|error| *error == Errno::CONNRESET) { again() } else { received }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_message_arrives_although_ours_was_never_read() {
        let (ours, theirs) = Socket::pair().unwrap();
        rustix::net::send(&theirs, b"exited", SendFlags::empty()).unwrap();
        ours.send(b"an order", &[]).await.unwrap();
        drop(theirs);
        assert_eq!(ours.receive().await, b"exited");
        assert_eq!(ours.receive().await, b"");
    }
}
