//! Starts the command itself, in a session of its own. `posix_spawn` does not copy our memory as `fork` would.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use super::protocol::Start;

/// A descriptor, and its number in the command.
pub struct Placement<'a> {
    pub descriptor: &'a OwnedFd,
    pub at: i32,
}

/// The command gets its own session and process group, with no signal blocked or ignored. `terminal` is the path of a
/// terminal: the command opens it as stdin, stdout and stderr, and because its session has no terminal yet, it becomes the
/// controlling terminal. Without a path the command has no controlling terminal.
pub fn spawn(start: &Start, placements: &[Placement<'_>], terminal: Option<&CStr>) -> io::Result<i32> {
    let program = c_string(&start.program)?;
    let arguments = start.arguments.iter().map(|word| c_string(word)).collect::<io::Result<Vec<_>>>()?;
    let environment = start
        .environment
        .iter()
        .map(|(name, value)| c_string(OsStr::from_bytes(&[name.as_bytes(), b"=", value.as_bytes()].concat())))
        .collect::<io::Result<Vec<_>>>()?;
    let arguments = pointers(&arguments);
    let environment = pointers(&environment);

    let mut attributes = MaybeUninit::uninit();
    let mut actions = MaybeUninit::uninit();
    let mut pid = 0;
    // SAFETY: attributes and actions are initialised before use and destroyed after; every pointer handed over (program,
    // words, signal sets) lives until posix_spawn has returned.
    unsafe {
        check(libc::posix_spawnattr_init(attributes.as_mut_ptr()))?;
        check(libc::posix_spawn_file_actions_init(actions.as_mut_ptr()))?;
        let mut none: libc::sigset_t = std::mem::zeroed();
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigfillset(&raw mut all);
        libc::posix_spawnattr_setsigmask(attributes.as_mut_ptr(), &raw const none);
        libc::posix_spawnattr_setsigdefault(attributes.as_mut_ptr(), &raw const all);
        #[expect(clippy::cast_possible_truncation, reason = "the flags are small constants of a short field")]
        let signals = (libc::POSIX_SPAWN_SETSIGMASK | libc::POSIX_SPAWN_SETSIGDEF) as libc::c_short;
        libc::posix_spawnattr_setflags(attributes.as_mut_ptr(), signals | libc::POSIX_SPAWN_SETSID);
        if let Some(path) = terminal {
            libc::posix_spawn_file_actions_addopen(actions.as_mut_ptr(), 0, path.as_ptr(), libc::O_RDWR, 0);
            libc::posix_spawn_file_actions_adddup2(actions.as_mut_ptr(), 0, 1);
            libc::posix_spawn_file_actions_adddup2(actions.as_mut_ptr(), 0, 2);
        }
        for placement in placements {
            // glibc refuses a number beyond the limit of open files here, and would otherwise leave it out.
            check(libc::posix_spawn_file_actions_adddup2(
                actions.as_mut_ptr(),
                placement.descriptor.as_raw_fd(),
                placement.at,
            ))?;
        }
        let result = libc::posix_spawn(
            &raw mut pid,
            program.as_ptr(),
            actions.as_ptr(),
            attributes.as_ptr(),
            arguments.as_ptr(),
            environment.as_ptr(),
        );
        libc::posix_spawn_file_actions_destroy(actions.as_mut_ptr());
        libc::posix_spawnattr_destroy(attributes.as_mut_ptr());
        check(result)?;
    }
    Ok(pid)
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(result)) }
}

fn c_string(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

fn pointers(strings: &[CString]) -> Vec<*mut libc::c_char> {
    strings.iter().map(|string| string.as_ptr().cast_mut()).chain([std::ptr::null_mut()]).collect()
}
