//! Opens a pseudo-terminal for a command. A reaper does it and not the server, because in the sandbox only terminals of
//! the session's own devpts exist.

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::protocol::TerminalSize;

pub struct Pty {
    pub master: OwnedFd,
    /// The path of the side that the command opens.
    pub path: CString,
}

pub fn open(size: TerminalSize) -> io::Result<Pty> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    tcsetwinsize(&master, Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 })?;
    let path = ptsname(&master, Vec::new())?;
    Ok(Pty { master, path })
}
