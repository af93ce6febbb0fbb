//! `chmod` and its kin, when they set a set-id bit. A program with such a bit would give its owner's rights to whoever runs
//! it outside. So the bits stay off, and the rest of the mode is set: archives that contain such programs can be unpacked.
//! On a directory the bits are harmless, and often used.

use std::path::PathBuf;

use rustix::fs::{FileType, Mode};

use super::Refused;
use super::caller::Caller;
use super::credentials::as_caller;
use super::listener::{Listener, Notification};
use super::view::{Base, Found, LastLink, View};

const SET_ID: Mode = Mode::SUID.union(Mode::SGID);

pub fn change_mode(view: &View, listener: &Listener, caller: &Caller, call: &Notification) -> Result<(), Refused> {
    let Wanted { file, mode } = Wanted::of(view, caller, call)?;
    listener.still_waits(call)?;
    let directory = match FileType::from_raw_mode(file.stat()?.st_mode) {
        // As the kernel says it.
        FileType::Symlink => return Err(rustix::io::Errno::OPNOTSUPP.into()),
        kind => kind == FileType::Directory,
    };
    let mode = if directory { mode } else { mode.difference(SET_ID) };
    as_caller(caller, || rustix::fs::chmod(file.stable_path(), mode))??;
    if directory {
        return Ok(());
    }
    let text = format!("{} did not get a set-user-ID or set-group-ID bit: no command may set one", file.path.display());
    Err(Refused::because(0, text))
}

struct Wanted {
    file: Found,
    mode: Mode,
}

impl Wanted {
    fn of(view: &View, caller: &Caller, call: &Notification) -> Result<Self, Refused> {
        let mode = |index: usize| Mode::from_raw_mode(call.number_at(index).cast_unsigned() & 0o7777);
        let path = |index: usize| caller.read_path(call.arguments[index]);
        let named = |base: Base, path: PathBuf, last: LastLink| view.open(caller, base, &path, last);
        Ok(match call.number {
            libc::SYS_fchmod => Self { file: Found::new(caller.descriptor(call.number_at(0))?)?, mode: mode(1) },
            libc::SYS_fchmodat => {
                let base = Base::Descriptor(call.number_at(0));
                Self { file: named(base, path(1)?, LastLink::Follow)?, mode: mode(2) }
            }
            libc::SYS_fchmodat2 => {
                let (base, flags, path) = (Base::Descriptor(call.number_at(0)), call.number_at(3), path(1)?);
                let last = if flags & libc::AT_SYMLINK_NOFOLLOW == 0 { LastLink::Follow } else { LastLink::Open };
                let itself = path.as_os_str().is_empty() && flags & libc::AT_EMPTY_PATH != 0;
                let file =
                    if itself { Found::new(caller.descriptor(call.number_at(0))?)? } else { named(base, path, last)? };
                Self { file, mode: mode(2) }
            }
            _ => Self { file: named(Base::WorkingDirectory, path(0)?, LastLink::Follow)?, mode: mode(1) },
        })
    }
}
