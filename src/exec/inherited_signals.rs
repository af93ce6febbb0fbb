//! What the launcher has decided about signals. The kernel hands it down through `exec`.

/// Lets every signal through, whatever the launcher has blocked: a blocked SIGTERM would never end the server, and without
/// SIGCHLD it would not notice the end of its guards. Threads inherit this, so it is called before the first one starts.
pub fn unblock_all() {
    // SAFETY: sigemptyset initialises the set, and pthread_sigmask only reads it.
    unsafe {
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Whether the process has a terminal that controls it. When that is closed, the kernel takes it away and sends SIGHUP.
pub fn has_terminal() -> bool {
    std::fs::File::open("/dev/tty").is_ok()
}

/// Whether the server is to survive the end of its terminal, as with `nohup`.
pub fn hangup_is_ignored() -> bool {
    // SAFETY: without a new action, sigaction only fills in the old one, which is plain data.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGHUP, std::ptr::null(), &raw mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}
