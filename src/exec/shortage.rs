//! Things that a machine runs out of. Such a failure may pass, so it is tried again, and the person can raise a limit.

use std::io;

use super::descriptor_limit::descriptor_limit;

/// What to do about an error number that stands for a shortage; `None` for every other error.
pub fn advice(errno: i32) -> Option<String> {
    match errno {
        libc::EMFILE => {
            let limit = descriptor_limit();
            let more = limit.saturating_mul(2).max(1024);
            Some(format!(
                "The server may open {limit} files at a time: start it with a higher limit (ulimit -n {more}; in a \
                 container --ulimit nofile={more})."
            ))
        }
        libc::ENFILE => Some("The machine has too many open files (sysctl fs.file-max).".to_owned()),
        libc::EAGAIN => Some(
            "No more processes or threads can be started: end some, or raise the limit (ulimit -u; in a container \
             --pids-limit)."
                .to_owned(),
        ),
        libc::ENOMEM => Some(
            "The machine is out of memory: free some, or raise the limit (ulimit -v; in a container -m).".to_owned(),
        ),
        _ => None,
    }
}

/// As [`advice`], for an error of our own process.
pub fn advice_on(error: &io::Error) -> Option<String> {
    advice(error.raw_os_error()?)
}
