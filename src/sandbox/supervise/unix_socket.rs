//! Which Unix sockets commands may connect to. A name is resolved once, by us, to the file that it means to the caller.
//! Where that file lies decides, and the connection is made to that very file.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType};

use super::Refused;
use super::caller::Caller;
use super::listed::Listed;
use super::listener::Notification;
use super::own_sockets::{OwnSockets, listens};
use super::view::{Base, Found, LastLink, View, absolute};
use crate::base::lexical;
use crate::sandbox::{Profile, landlock};

/// What decides where the session's commands may connect to.
pub struct Session<'a> {
    pub(super) profile: &'a Profile,
    pub(super) view: View,
    listed: Listed,
    own: OwnSockets,
}

impl<'a> Session<'a> {
    /// Has to be made before the keeper starts a command.
    pub fn new(profile: &'a Profile, keeper: i32) -> io::Result<Self> {
        Ok(Self { profile, view: View::of(keeper)?, listed: Listed::new(&profile.sockets), own: OwnSockets::default() })
    }

    /// The caller is about to listen on a socket.
    pub fn note_listening(&mut self, caller: &Caller, call: &Notification) -> io::Result<()> {
        self.own.note(&self.view, caller, call)
    }
}

/// The name in an address of a Unix socket.
#[derive(Debug, Eq, PartialEq)]
pub enum UnixName {
    Path(PathBuf),
    Abstract(String),
    /// The kernel refuses such an address.
    None,
}

impl UnixName {
    pub fn in_address(address: &[u8]) -> Self {
        let Some((family, name)) = address.split_first_chunk().filter(|(family, _)| **family == unix_family()) else {
            return Self::None;
        };
        let _: &[u8; 2] = family;
        match name.split_first() {
            None => Self::None,
            Some((0, name)) => Self::Abstract(String::from_utf8_lossy(name).into_owned()),
            Some(_) => {
                let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
                Self::Path(PathBuf::from(OsStr::from_bytes(&name[..end])))
            }
        }
    }
}

pub fn unix_family() -> [u8; 2] {
    AddressFamily::UNIX.as_raw().to_ne_bytes()
}

/// Finds the socket at a path, if commands may connect to it.
pub fn find(session: &Session<'_>, caller: &Caller, path: &Path) -> Result<Found, Refused> {
    let Session { profile, view, listed, own } = session;
    let open = || view.open(caller, Base::WorkingDirectory, path, LastLink::Follow);
    let named = || absolute(caller, Base::WorkingDirectory, path).map(|path| lexical::normal(&path));
    let (found, is_there) = match open() {
        // The sandbox hides a socket of this name, unless it has only just come.
        Err(_) if named().is_ok_and(|named| is_socket(&named)) => (open(), true),
        found => (found, false),
    };
    let place = match found {
        Ok(found) if profile.may_connect(&found.path) => {
            if profile.reaches_own_sockets_only() && !profile.lists_socket(&found.path) && !own.contain(&found) {
                return Err(another_programs(&found));
            }
            return Ok(found);
        }
        Ok(found) => Ok(found.path),
        Err(error) => Err(error),
    };
    let named = named()?;
    if let Some(listed) = listed.open(&named, place.as_deref().ok()) {
        return Ok(listed?);
    }
    let place = match place {
        Ok(place) => place,
        // A link in /proc to another process, which may lead anywhere; or the sandbox hides a socket of this name.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EXDEV | libc::ELOOP)) || is_there => named,
        Err(error) => return Err(error.into()),
    };
    let why = if profile.read_only { "is outside the temporary directory" } else { "is outside the scope" };
    let text = format!(
        "the Unix socket {} {why}, so commands cannot connect to it (sandbox.sockets lists exceptions)",
        place.display()
    );
    Err(Refused::because(libc::EACCES, text))
}

/// Explains why a socket in the scope cannot be connected to. A file that a program has left behind is as good as none.
fn another_programs(found: &Found) -> Refused {
    match listens(found, SocketType::STREAM) {
        Ok(()) | Err(Errno::PROTOTYPE) => {}
        Err(nobody) => return nobody.into(),
    }
    let text = format!(
        "the Unix socket {} is not one of this session's own, so commands cannot connect to it unless the network is on \
         (sandbox.sockets lists exceptions)",
        found.path.display()
    );
    Refused::because(libc::EACCES, text)
}

/// Whether there is a socket outside the session.
fn is_socket(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
}

/// Whether an abstract name can only be one of the session's own.
pub fn abstract_names_are_ours(profile: &Profile) -> bool {
    profile.has_own_network() || landlock::knows_scopes()
}

pub fn not_ours(name: &str) -> Refused {
    let name = name.trim_end_matches('\0').escape_debug();
    Refused::because(
        libc::EPERM,
        format!(
            "the abstract Unix socket @{name} belongs to a program outside the session, so commands cannot connect to it"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::profile::Sockets;

    #[test]
    fn the_name_in_an_address_is_read_as_the_kernel_reads_it() {
        let address = |name: &[u8]| [&unix_family()[..], name].concat();
        for (bytes, name) in [
            (address(b"/run/x\0rubbish"), UnixName::Path("/run/x".into())),
            (address(b"x"), UnixName::Path("x".into())),
            (address(b"\0x"), UnixName::Abstract("x".into())),
            (address(b"\0"), UnixName::Abstract(String::new())),
            (address(b""), UnixName::None),
            (vec![2, 0, 0, 80, 127, 0, 0, 1], UnixName::None),
            (vec![1], UnixName::None),
            (vec![], UnixName::None),
        ] {
            assert_eq!(UnixName::in_address(&bytes), name, "{bytes:?}");
        }
    }

    #[test]
    fn sockets_of_the_session_and_listed_ones_may_be_used() {
        let profile = Profile {
            writable: vec!["/p".into(), "/cache".into()],
            scope: vec!["/p".into()],
            tmp: "/t".into(),
            secrets: [crate::sandbox::secrets::Mask::hidden("/p/.gnupg".into())].into(),
            sockets: Sockets::Only(vec!["/run/x.sock".into()]),
            ..Profile::default()
        };
        for (path, may) in [
            ("/p/a.sock", true),
            ("/t/a.sock", true),
            ("/run/x.sock", true),
            ("/run/y.sock", false),
            ("/p/.gnupg/S.gpg-agent", false),
            ("/px/a.sock", false),
            ("/cache/a.sock", false),
            ("p/a.sock", false),
            ("socket:[1]", false),
        ] {
            assert_eq!(profile.may_connect(Path::new(path)), may, "{path}");
        }
    }
}
