//! `connect`, done in the caller's place.
//!
//! Every connection comes here, those of the network too: while we looked at a descriptor, another thread could put a Unix
//! socket in its place, so the kernel must not go on with any call. We never block. A caller that is willing to wait is
//! answered when its connection is made.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::net::AddressFamily;
use rustix::net::sockopt::{Timeout, socket_cookie, socket_domain, socket_timeout};

use super::Refused;
use super::caller::Caller;
use super::credentials::as_caller;
use super::listener::{Listener, Notification};
use super::proxy_only;
use super::unix_socket::{Session, UnixName, abstract_names_are_ours, find, not_ours, unix_family};
use super::view::Found;

#[derive(Default)]
pub struct Connects {
    waiting: Vec<Waiting>,
    undelivered: Vec<Undelivered>,
    /// The socket of the newest call.
    newest: u64,
}

pub enum Outcome {
    Over(Result<(), Refused>),
    /// The caller is answered later.
    Waits,
}

/// A connection that is being made for a caller that waits for it.
struct Waiting {
    call: u64,
    caller: i32,
    attempt: Attempt,
    /// The caller's SO_SNDTIMEO.
    until: Option<Instant>,
}

/// A connection that was made while a signal interrupted its caller. When the kernel repeats the call, the answer is the
/// one that the caller missed.
struct Undelivered {
    caller: i32,
    /// The kernel's number for it, which no other socket ever gets.
    socket: u64,
    answer: Result<(), i32>,
}

/// A listener whose queue is full does not tell when there is room.
const UNIX_RETRY: Duration = Duration::from_millis(5);
/// How often we look whether a waiting caller was killed.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
const MOST_UNDELIVERED: usize = 64;

impl Connects {
    pub fn connect(
        &mut self,
        session: &Session<'_>,
        listener: &Listener,
        caller: &Caller,
        call: &Notification,
    ) -> Outcome {
        let attempt = match Attempt::prepare(session, caller, call) {
            Ok(attempt) => attempt,
            Err(refused) => return Outcome::Over(Err(refused)),
        };
        if let Err(gone) = listener.still_waits(call) {
            return Outcome::Over(Err(gone));
        }
        self.newest = attempt.number;
        if let Some(answer) = self.take_undelivered(call.pid, attempt.number) {
            return Outcome::Over(answer.map_err(|errno| io::Error::from_raw_os_error(errno).into()));
        }
        let result = if attempt.unix { as_caller(caller, || attempt.run()) } else { Ok(attempt.run()) };
        match result {
            Ok(Err(errno)) if attempt.must_wait(errno) => {
                let timeout = socket_timeout(&attempt.socket, Timeout::Send).ok().flatten();
                let until = timeout.map(|timeout| Instant::now() + timeout);
                self.waiting.push(Waiting { call: call.id, caller: call.pid, attempt, until });
                Outcome::Waits
            }
            Ok(Err(errno)) => Outcome::Over(Err(attempt.explained(errno))),
            Ok(Ok(())) => Outcome::Over(Ok(())),
            Err(refused) => Outcome::Over(Err(refused)),
        }
    }

    pub fn waiting(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.waiting.iter().filter(|waiting| !waiting.attempt.unix).map(|waiting| waiting.attempt.socket.as_fd())
    }

    pub fn patience(&self) -> Option<Duration> {
        let next = |waiting: &Waiting| if waiting.attempt.unix { UNIX_RETRY } else { LOOK_AGAIN };
        self.waiting.iter().map(next).min()
    }

    /// Tries again, and answers what is over. Forgets callers that do not wait any more.
    pub fn look_after(&mut self, listener: &Listener) {
        let mut undelivered = Vec::new();
        self.waiting.retain(|waiting| {
            if !listener.is_waiting(waiting.call) {
                return false;
            }
            let attempt = &waiting.attempt;
            let expired = waiting.until.is_some_and(|until| until <= Instant::now());
            let answer = match attempt.run() {
                Err(errno) if attempt.must_wait(errno) && !expired => return true,
                Err(libc::EALREADY) => Err(libc::EINPROGRESS),
                // Our first attempt has been completed since.
                Err(libc::EISCONN) | Ok(()) => Ok(()),
                Err(errno) => Err(errno),
            };
            if !listener.answer(waiting.call, answer) {
                undelivered.push((waiting.caller, attempt.number, answer));
            }
            false
        });
        undelivered.into_iter().for_each(|(caller, socket, answer)| self.remember(caller, socket, answer));
    }

    /// The newest call was interrupted by a signal before it got this answer.
    pub fn not_delivered(&mut self, call: &Notification, answer: Result<(), i32>) {
        self.remember(call.pid, self.newest, answer);
    }

    /// Remembers an answer for the call that repeats this one. (An attempt that failed is simply made again.)
    fn remember(&mut self, caller: i32, socket: u64, answer: Result<(), i32>) {
        if !matches!(answer, Ok(()) | Err(libc::EINPROGRESS)) {
            return;
        }
        if self.undelivered.len() >= MOST_UNDELIVERED {
            self.undelivered.remove(0);
        }
        self.undelivered.push(Undelivered { caller, socket, answer });
    }

    fn take_undelivered(&mut self, caller: i32, socket: u64) -> Option<Result<(), i32>> {
        let at = self.undelivered.iter().position(|missed| missed.caller == caller && missed.socket == socket)?;
        Some(self.undelivered.remove(at).answer)
    }
}

/// A program can make itself not dumpable. At level `landlock`, only root may look into it then.
fn not_inspected(error: io::Error) -> Refused {
    if error.raw_os_error() != Some(libc::EPERM) {
        return error.into();
    }
    let text = "a program forbids others to look into it (PR_SET_DUMPABLE), so its connection could not be checked";
    Refused::because(libc::EACCES, text.to_owned())
}

/// One connection: the caller's socket, and an address in our own memory.
struct Attempt {
    socket: OwnedFd,
    /// The kernel's number for the socket.
    number: u64,
    address: Vec<u8>,
    unix: bool,
    /// Keeps the listening socket's file open, which the address names.
    _target: Option<Found>,
}

impl Attempt {
    fn prepare(session: &Session<'_>, caller: &Caller, call: &Notification) -> Result<Self, Refused> {
        /// The size of `sockaddr_storage`, the longest address.
        const LONGEST: usize = 128;
        let length = usize::try_from(call.number_at(2)).ok().filter(|length| *length <= LONGEST);
        let mut address = vec![0; length.ok_or(rustix::io::Errno::INVAL)?];
        let socket = caller.descriptor(call.number_at(0)).map_err(not_inspected)?;
        caller.read(call.arguments[1], &mut address)?;
        let domain = socket_domain(&socket)?;
        let unix = domain == AddressFamily::UNIX;
        if [AddressFamily::INET, AddressFamily::INET6].contains(&domain) && session.profile.connects_to_proxy_only() {
            proxy_only::check(&address, session.profile.proxy)?;
        }
        let mut target = None;
        if unix {
            match UnixName::in_address(&address) {
                UnixName::Path(path) => {
                    let found = find(session, caller, &path)?;
                    address = [&unix_family()[..], found.stable_path().as_bytes(), &[0]].concat();
                    target = Some(found);
                }
                UnixName::Abstract(name) if !abstract_names_are_ours(session.profile) => return Err(not_ours(&name)),
                // The kernel keeps abstract names inside: Landlock, or the session's own network.
                UnixName::Abstract(_) | UnixName::None => {}
            }
        }
        Ok(Self { number: socket_cookie(&socket)?, socket, address, unix, _target: target })
    }

    /// Connects without blocking. If the socket blocks, it is switched over for a moment: until it is connected, nothing
    /// else can be done with it.
    fn run(&self) -> Result<(), i32> {
        let flags = fcntl_getfl(&self.socket).map_err(rustix::io::Errno::raw_os_error)?;
        let blocks = !flags.contains(OFlags::NONBLOCK);
        if blocks {
            let _ = fcntl_setfl(&self.socket, flags | OFlags::NONBLOCK);
        }
        let length = libc::socklen_t::try_from(self.address.len()).unwrap_or(0);
        // SAFETY: the address is ours, lives across the call, and has that length.
        let result = unsafe { libc::connect(self.socket.as_raw_fd(), self.address.as_ptr().cast(), length) };
        let error = io::Error::last_os_error();
        if blocks {
            let _ = fcntl_setfl(&self.socket, flags);
        }
        if result == 0 { Ok(()) } else { Err(error.raw_os_error().unwrap_or(libc::EIO)) }
    }

    /// Whether the caller has asked to wait for what this error announces.
    fn must_wait(&self, errno: i32) -> bool {
        let unfinished =
            if self.unix { errno == libc::EAGAIN } else { errno == libc::EINPROGRESS || errno == libc::EALREADY };
        unfinished && fcntl_getfl(&self.socket).is_ok_and(|flags| !flags.contains(OFlags::NONBLOCK))
    }

    fn explained(&self, errno: i32) -> Refused {
        match UnixName::in_address(&self.address) {
            UnixName::Abstract(name) if self.unix && errno == libc::EPERM => not_ours(&name),
            _ => io::Error::from_raw_os_error(errno).into(),
        }
    }
}
