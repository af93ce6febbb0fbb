//! `rename` of a directory in a draft. An overlay does not rename a directory that comes from the layer below: the call fails
//! with EXDEV. `mv` copies then, but most programs give up (`git mv`, `os.rename`). So we do it in their place ([`moving`]).
//!
//! For everything else the kernel goes on with the caller's own call. That is safe here, because nothing is decided: the
//! kernel holds the call to the same restrictions as ever.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::process::{Pid, WaitOptions, waitpid};

use super::caller::Caller;
use super::credentials::as_caller;
use super::listener::{Listener, Notification};
use super::moving::{self, Place};
use super::view::{Base, LastLink, View};
use super::{Refused, Session};
use crate::sandbox::Profile;

pub const CALLS: &[i64] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_renameat2,
];

/// Whether renames have to be supervised.
pub fn supervises_renames(profile: &Profile) -> bool {
    !profile.drafts.is_empty()
}

/// What becomes of a call.
pub enum Outcome {
    /// The kernel does it.
    GoesOn,
    /// A child of ours does it and answers.
    Moves,
    Over(Result<(), Refused>),
}

/// The directories that are being moved. Each has a child, because that can take long.
#[derive(Default)]
pub struct Renames {
    moving: Vec<Move>,
}

struct Move {
    caller: i32,
    number: i64,
    arguments: [u64; 6],
    child: Pid,
}

/// Two processes that rename one directory at the same time: one of them must find it gone. All sessions and servers that
/// share a draft lock its layer's directory for that.
fn one_at_a_time(profile: &Profile) -> Vec<OwnedFd> {
    let lock = |layer: &PathBuf| {
        let directory =
            rustix::fs::open(layer, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        rustix::fs::flock(&directory, FlockOperation::LockExclusive).ok()?;
        Some(directory)
    };
    profile.drafts.iter().filter_map(lock).collect()
}

/// The exit code of a child whose answer was delivered. Another code is the error number of an answer that was not.
const DELIVERED: i32 = 255;

impl Renames {
    pub fn rename(&mut self, session: &Session<'_>, listener: &Listener, call: &Notification) -> Outcome {
        if let Some(result) = self.earlier_result(call) {
            return Outcome::Over(result);
        }
        let wanted = || -> io::Result<Option<(Caller, Wanted)>> {
            let caller = Caller::open(call.pid)?;
            Ok(Wanted::of(&session.view, &caller, call)?.map(|wanted| (caller, wanted)))
        };
        // If something cannot be found, the kernel tells the caller.
        let Ok(Some((caller, wanted))) = wanted() else { return Outcome::GoesOn };
        if !listener.is_waiting(call.id) {
            return Outcome::GoesOn;
        }
        // SAFETY: the supervisor has a single thread, so the child's copy of the heap is consistent.
        match unsafe { libc::fork() } {
            0 => {
                let _turn = one_at_a_time(session.profile);
                let moved = as_caller(&caller, || moving::rename(&wanted.old, &wanted.new, wanted.flags));
                let answer = moved
                    .map_err(|refused| refused.errno)
                    .and_then(|moved| moved.map_err(rustix::io::Errno::raw_os_error));
                let delivered = listener.answer(call.id, answer);
                // SAFETY: ends the child without running what the supervisor has registered for its own exit.
                unsafe { libc::_exit(if delivered { DELIVERED } else { answer.err().unwrap_or(0) }) }
            }
            child => match Pid::from_raw(child).filter(|_| child > 0) {
                Some(child) => {
                    let (caller, number, arguments) = (call.pid, call.number, call.arguments);
                    self.moving.push(Move { caller, number, arguments, child });
                    Outcome::Moves
                }
                None => Outcome::GoesOn,
            },
        }
    }

    /// A signal can interrupt a call that waits. The caller's kernel then makes the same call again, while a child of ours is
    /// still at work on the first one, or has done it.
    fn earlier_result(&mut self, call: &Notification) -> Option<Result<(), Refused>> {
        let mut earlier = None;
        self.moving.retain(|known| {
            let same = (known.caller, known.number, known.arguments) == (call.pid, call.number, call.arguments);
            let options = if same { WaitOptions::empty() } else { WaitOptions::NOHANG };
            match waitpid(Some(known.child), options) {
                Ok(None) => true,
                Ok(Some((_, status))) => {
                    if let Some(errno) = status.exit_status().filter(|code| same && *code != DELIVERED) {
                        let interrupted = Refused { errno, because: None };
                        earlier = Some(if errno == 0 { Ok(()) } else { Err(interrupted) });
                    }
                    false
                }
                Err(_) => false,
            }
        });
        earlier
    }
}

struct Wanted {
    old: Place,
    new: Place,
    flags: RenameFlags,
}

impl Wanted {
    /// `None` if this is no directory in an overlay.
    fn of(view: &View, caller: &Caller, call: &Notification) -> io::Result<Option<Self>> {
        let named = |base: Option<usize>, path: usize| -> io::Result<(Base, PathBuf)> {
            let base = base.map_or(Base::WorkingDirectory, |index| Base::Descriptor(call.number_at(index)));
            Ok((base, caller.read_path(call.arguments[path])?))
        };
        let is_plain = call.number != libc::SYS_renameat && call.number != libc::SYS_renameat2;
        let (old, new) = if is_plain { ((None, 0), (None, 1)) } else { ((Some(0), 1), (Some(2), 3)) };
        let old = named(old.0, old.1)?;
        let itself = view.open(caller, old.0, &old.1, LastLink::Open)?;
        if FileType::from_raw_mode(itself.stat()?.st_mode) != FileType::Directory || !moving::is_in_overlay(&itself) {
            return Ok(None);
        }
        let place = |(base, path): (Base, PathBuf)| -> io::Result<Option<Place>> {
            let Some((parent, name)) = split(&path) else { return Ok(None) };
            let directory: OwnedFd = view.open(caller, base, &parent, LastLink::Follow)?.into();
            Ok(Some(Place { directory, name }))
        };
        let flags = if call.number == libc::SYS_renameat2 { call.number_at(4).cast_unsigned() } else { 0 };
        let (Some(old), Some(new)) = (place(old)?, place(named(new.0, new.1)?)?) else { return Ok(None) };
        Ok(Some(Self { old, new, flags: RenameFlags::from_bits_retain(flags) }))
    }
}

/// The directory that a path is in, and its name there. `None` for a path without a name of its own.
fn split(path: &Path) -> Option<(PathBuf, OsString)> {
    let bytes = path.as_os_str().as_bytes();
    let end = bytes.iter().rposition(|byte| *byte != b'/')? + 1;
    let start = bytes[..end].iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let name = std::ffi::OsStr::from_bytes(&bytes[start..end]);
    let parent = if start == 0 { Path::new(".") } else { Path::new(std::ffi::OsStr::from_bytes(&bytes[..start])) };
    (name != "." && name != "..").then(|| (parent.to_owned(), name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_split_at_its_last_name() {
        for (path, wanted) in [
            ("a", Some((".", "a"))),
            ("a/", Some((".", "a"))),
            ("a/b//", Some(("a/", "b"))),
            ("/a", Some(("/", "a"))),
            ("../x/y", Some(("../x/", "y"))),
            ("/", None),
            ("", None),
            ("a/..", None),
            ("a/.", None),
        ] {
            let found = split(Path::new(path));
            assert_eq!(found, wanted.map(|(parent, name)| (parent.into(), name.into())), "{path}");
        }
    }
}
