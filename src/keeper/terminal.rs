//! A terminal for a command, opened here and not by the server: inside a sandbox only the keeper's own devpts is one.

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::protocol::TerminalSize;

pub struct Terminal {
    pub master: OwnedFd,
    /// Of the end that the command opens.
    pub path: CString,
}

pub fn open(size: TerminalSize) -> io::Result<Terminal> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    tcsetwinsize(&master, Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 })?;
    let path = ptsname(&master, Vec::new())?;
    Ok(Terminal { master, path })
}
