//! A sequenced-packet socket on the server's side: messages, descriptors beside them, no blocking.

use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
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

    /// Whether the other side has gone.
    pub fn is_closed(&self) -> bool {
        let mut polled = [PollFd::new(self.0.get_ref(), PollFlags::empty())];
        let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        let _ = poll(&mut polled, Some(&now));
        polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
    }

    /// The next message and the descriptor that came with it, if one did.
    pub async fn receive_with_descriptor(&self) -> (Vec<u8>, Option<OwnedFd>) {
        let (message, descriptors) = self.receive_with_descriptors().await;
        (message, descriptors.into_iter().next())
    }

    /// The next message and the descriptors that came with it.
    pub async fn receive_with_descriptors(&self) -> (Vec<u8>, Vec<OwnedFd>) {
        let mut buffer = vec![0; 64 * 1024];
        let received = self
            .0
            .async_io(Interest::READABLE, |socket| {
                let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
                let mut ancillary = RecvAncillaryBuffer::new(&mut space);
                let parts = &mut [IoSliceMut::new(&mut buffer)];
                let count = recvmsg(socket.as_fd(), parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?.bytes;
                let mut descriptors = Vec::new();
                for part in ancillary.drain() {
                    if let RecvAncillaryMessage::ScmRights(received) = part {
                        descriptors.extend(received);
                    }
                }
                Ok((count, descriptors))
            })
            .await;
        let (count, descriptors) = received.unwrap_or_default();
        buffer.truncate(count);
        (buffer, descriptors)
    }

    /// The next message; empty when the other side has gone.
    pub async fn receive(&self) -> Vec<u8> {
        let mut buffer = vec![0; 64 * 1024];
        let received = self
            .0
            .async_io(Interest::READABLE, |socket| Ok(recv(socket.as_fd(), &mut buffer[..], RecvFlags::empty())?.0))
            .await;
        buffer.truncate(received.unwrap_or(0));
        buffer
    }
}
