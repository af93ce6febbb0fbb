//! `socketpair` for datagrams. A datagram socket can send to any named socket, past every check, so nobody gets one. The two
//! ends of a pair get sequenced packets instead, which keep message boundaries too and reach only each other.

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::Refused;
use super::caller::Caller;
use super::listener::{Listener, Notification};

pub fn make(listener: &Listener, caller: &Caller, call: &Notification) -> Result<(), Refused> {
    let wanted = SocketFlags::from_bits_truncate(call.number_at(1).cast_unsigned());
    let flags = (wanted & SocketFlags::NONBLOCK) | SocketFlags::CLOEXEC;
    let (one, other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    let close_on_exec = wanted.contains(SocketFlags::CLOEXEC);
    let one = listener.give(call.id, &one, close_on_exec)?;
    let other = listener.give(call.id, &other, close_on_exec)?;
    listener.still_waits(call)?;
    caller.write(call.arguments[3], &[one.to_ne_bytes(), other.to_ne_bytes()].concat())?;
    Ok(())
}
