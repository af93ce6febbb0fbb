//! The limit of file sizes (RLIMIT_FSIZE, `ulimit -f`).

/// A write beyond the limit fails like any other write, and the agent is told. Left to itself, the kernel would end the
/// server with SIGXFSZ. Commands get the default back, as all signals.
pub fn survive_file_size_limit() {
    // SAFETY: ignoring a signal installs no handler.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}
