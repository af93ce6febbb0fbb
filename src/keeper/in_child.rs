//! Work that a forked child does for the guard. A process that has entered namespaces cannot come back.

use std::io;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use super::packets;
use super::processes::{self, Forked};
use crate::sandbox::{Doing, Failure};

const DONE: &[u8] = b"done";

/// Does something in a child process, and returns its result. A child that ends without a word has failed.
pub fn in_child(work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
    let (ours, theirs) = pair.doing(|| "create a socket pair".to_owned())?;
    let child = match processes::fork().doing(|| "fork".to_owned())? {
        Forked::Child => {
            match work() {
                Ok(()) => packets::send(&theirs, DONE),
                Err(failure) => packets::send(&theirs, encode(&failure).as_bytes()),
            }
            processes::exit(0)
        }
        Forked::Parent { child } => child,
    };
    drop(theirs);
    let mut buffer = [0; 1024];
    let heard = packets::receive(&ours, &mut buffer).doing(|| "hear from a child".to_owned());
    processes::wait_for(child);
    match &buffer[..heard?.0] {
        DONE => Ok(()),
        message => Err(decode(&String::from_utf8_lossy(message))),
    }
}

fn encode(failure: &Failure) -> String {
    format!("{}\0{}\0{}", failure.errno(), failure.doing, failure.error)
}

fn decode(message: &str) -> Failure {
    let mut fields = message.splitn(3, '\0');
    let (errno, doing, text) = (fields.next(), fields.next(), fields.next());
    match (errno.and_then(|errno| errno.parse().ok()), doing, text) {
        (Some(0), Some(doing), Some(text)) => Failure::new(doing.to_owned(), io::Error::other(text)),
        (Some(errno), Some(doing), Some(_)) => Failure::new(doing.to_owned(), io::Error::from_raw_os_error(errno)),
        _ => Failure::new("do its work".to_owned(), io::Error::other("a child of the guard was killed")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_stays_what_it_was() {
        for error in [io::Error::from_raw_os_error(libc::EPERM), io::Error::other("no room")] {
            let failure = Failure::new("mount /proc".to_owned(), error);
            let again = decode(&encode(&failure));
            assert_eq!((again.errno(), again.to_string()), (failure.errno(), failure.to_string()));
        }
        assert!(decode("").to_string().contains("was killed"));
    }
}
