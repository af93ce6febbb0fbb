//! Sending and receiving packets, with descriptors beside them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, send as send_packet, sendmsg,
};

use super::protocol::MOST_DESCRIPTORS;

/// Receives one packet: its length and the descriptors that came with it. Length 0 means that the peer has hung up.
pub fn receive(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let message = recvmsg(socket, &mut [io::IoSliceMut::new(buffer)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut descriptors = Vec::new();
    for part in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = part {
            descriptors.extend(received);
        }
    }
    Ok((message.bytes, descriptors))
}

/// Ignores errors: if the peer is gone, the caller learns it from the hang-up.
pub fn send(socket: impl AsFd, message: &[u8]) {
    let _ = send_packet(socket, message, SendFlags::NOSIGNAL);
}

/// As [`send`], with one descriptor.
pub fn send_with(socket: impl AsFd, message: &[u8], descriptor: BorrowedFd<'_>) {
    send_all(socket, message, &[descriptor]);
}

/// As [`send`], with up to [`MOST_DESCRIPTORS`] descriptors.
pub fn send_all(socket: impl AsFd, message: &[u8], descriptors: &[BorrowedFd<'_>]) {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    let _ = sendmsg(socket, &[io::IoSlice::new(message)], &mut ancillary, SendFlags::NOSIGNAL);
}
