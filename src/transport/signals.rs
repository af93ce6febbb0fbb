use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exec::hangup_is_ignored;

/// The signals that ask the server to shut down: SIGTERM, SIGINT, SIGQUIT, and SIGHUP unless the launcher ignores it.
pub struct Signals {
    all: Vec<Signal>,
}

impl Signals {
    /// From now on, none of these signals ends the process by itself.
    pub fn listen() -> io::Result<Self> {
        let hangup = (!hangup_is_ignored()).then_some(SignalKind::hangup());
        let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::quit()].into_iter().chain(hangup);
        Ok(Self { all: kinds.map(signal).collect::<io::Result<_>>()? })
    }

    /// Waits for the next of these signals.
    pub async fn next(&mut self) {
        futures::future::select_all(self.all.iter_mut().map(|signal| Box::pin(signal.recv()))).await;
    }
}
