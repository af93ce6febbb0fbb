//! Decides the system calls that a filter cannot judge, because what matters is in the caller's memory: where a Unix socket
//! lies, which file gets a new mode. The kernel suspends the caller and hands the call to us ([`listener`]). We do it in the
//! caller's place, on the caller's own descriptor and on a file that we have opened ourselves, and give back the result. So
//! nothing that the caller swaps meanwhile makes a difference. We never tell the kernel to go on with the caller's own call,
//! except for [`rename`], where we do not judge but help, and for `listen`, of which we only take note.
//!
//! 1. [`mod@caller`] reads the caller's memory and descriptors.
//! 2. [`view`] finds out what a path means to the caller, and where the file really lies.
//! 3. [`connect`] (with [`unix_socket`], [`listed`], [`own_sockets`] and [`proxy_only`]), [`pair`], [`set_id`] and [`rename`]
//!    (with [`moving`]) each do one kind of call.
//!
//! The process that does this is outside the session's restrictions: see `keeper/supervisor.rs`.

mod caller;
mod connect;
mod credentials;
mod listed;
mod listener;
mod moving;
mod notes;
mod own_sockets;
mod pair;
mod proxy_only;
mod rename;
mod set_id;
mod unix_socket;
mod view;

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use self::caller::Caller;
use self::connect::{Connects, Outcome};
use self::listener::Notification;
use super::Profile;

pub use self::caller::can_inspect;
pub use self::listener::Listener;
pub use self::notes::Note;
pub use self::rename::{CALLS as RENAMES, supervises_renames};
pub use self::unix_socket::Session;

/// Whether connections have to be supervised.
pub fn supervises_connections(profile: &Profile) -> bool {
    supervises_names(profile) || profile.connects_to_proxy_only()
}

/// Whether the names of Unix sockets have to be supervised. Landlock does it itself since ABI 9.
pub fn supervises_names(profile: &Profile) -> bool {
    profile.sockets != super::profile::Sockets::All && !super::landlock::knows_sockets()
}

/// Whether it has to be known which Unix sockets are the session's own.
pub fn supervises_listening(profile: &Profile) -> bool {
    profile.reaches_own_sockets_only() && supervises_connections(profile)
}

/// Answers the calls of one session.
pub struct Supervisor<'a> {
    session: Session<'a>,
    listener: Listener,
    connects: Connects,
    renames: rename::Renames,
    notes: notes::Notes,
}

impl<'a> Supervisor<'a> {
    pub fn new(session: Session<'a>, listener: Listener, keeper: i32) -> Self {
        Self {
            session,
            listener,
            connects: Connects::default(),
            renames: rename::Renames::default(),
            notes: notes::Notes::new(keeper),
        }
    }

    /// What to poll for reading: a call has come.
    pub fn calls(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    /// What to poll for writing: a connection that a caller waits for has been made, or has failed.
    pub fn connections(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.connects.waiting()
    }

    /// How long to poll at most.
    pub fn patience(&self) -> Option<Duration> {
        self.connects.patience()
    }

    /// Answers the next call. Tells a note if the call was refused, before the answer: afterwards the command could end, and
    /// the note would come too late for its result.
    pub fn answer_call(&mut self, tell: impl FnOnce(Note)) {
        // The caller may have been killed meanwhile.
        let Ok(call) = self.listener.next() else { return };
        let result = match call.number {
            libc::SYS_connect => match self.connect(&call) {
                Outcome::Over(result) => result,
                Outcome::Waits => return,
            },
            number if RENAMES.contains(&number) => match self.renames.rename(&self.session, &self.listener, &call) {
                rename::Outcome::GoesOn => return self.listener.go_on(call.id),
                rename::Outcome::Moves => return,
                rename::Outcome::Over(result) => result,
            },
            libc::SYS_listen => {
                // A socket of which we have no note cannot be connected to. The call itself has nothing to do with us.
                let _ = caller(&call).and_then(|caller| Ok(self.session.note_listening(&caller, &call)?));
                return self.listener.go_on(call.id);
            }
            libc::SYS_socketpair => caller(&call).and_then(|caller| pair::make(&self.listener, &caller, &call)),
            _ => {
                caller(&call).and_then(|caller| set_id::change_mode(&self.session.view, &self.listener, &caller, &call))
            }
        };
        let (answer, refusal) = match result {
            Ok(()) => (Ok(()), None),
            Err(Refused { errno, because }) => (if errno == 0 { Ok(()) } else { Err(errno) }, because),
        };
        if let Some(note) = refusal.and_then(|text| self.notes.about(call.pid, text)) {
            tell(note);
        }
        if !self.listener.answer(call.id, answer) && call.number == libc::SYS_connect {
            self.connects.not_delivered(&call, answer);
        }
    }

    /// Looks at the connections that callers wait for, and answers those that are over.
    pub fn look_after_connections(&mut self) {
        self.connects.look_after(&self.listener);
    }

    fn connect(&mut self, call: &Notification) -> Outcome {
        match caller(call) {
            Ok(caller) => self.connects.connect(&self.session, &self.listener, &caller, call),
            Err(refused) => Outcome::Over(Err(refused)),
        }
    }
}

fn caller(call: &Notification) -> Result<Caller, Refused> {
    Ok(Caller::open(call.pid)?)
}

/// Why a call is not done as the caller wants it.
#[derive(Debug)]
pub struct Refused {
    /// 0 if the call was done in part, and the caller is told that it was done.
    errno: i32,
    /// What to tell the agent, if the sandbox is the reason.
    because: Option<String>,
}

impl Refused {
    fn because(errno: i32, text: String) -> Self {
        Self { errno, because: Some(text) }
    }
}

impl<E: Into<io::Error>> From<E> for Refused {
    fn from(error: E) -> Self {
        Self { errno: error.into().raw_os_error().unwrap_or(libc::EIO), because: None }
    }
}
