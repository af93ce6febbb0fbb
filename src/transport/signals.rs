use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exec::{hangup_is_ignored, has_terminal};

/// The signals that ask the server to shut down: SIGTERM, SIGINT, SIGQUIT, and SIGHUP where its terminal is gone. Any other
/// SIGHUP asks it to read its configuration again. A launcher that ignores SIGHUP, like `nohup`, has it ignored.
pub struct Signals {
    ending: Vec<Signal>,
    hangup: Option<Signal>,
    had_terminal: bool,
    on_hangup: Option<Box<dyn Fn() + Send + Sync>>,
}

impl Signals {
    /// From now on, none of these signals ends the process by itself.
    pub fn listen() -> io::Result<Self> {
        let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::quit()];
        Ok(Self {
            ending: kinds.into_iter().map(signal).collect::<io::Result<_>>()?,
            hangup: (!hangup_is_ignored()).then(|| signal(SignalKind::hangup())).transpose()?,
            had_terminal: has_terminal(),
            on_hangup: None,
        })
    }

    /// What a SIGHUP asks for that somebody sends to the server. Without this, it asks for the end.
    #[must_use]
    pub fn on_hangup(mut self, act: impl Fn() + Send + Sync + 'static) -> Self {
        self.on_hangup = Some(Box::new(act));
        self
    }

    /// Waits for the next signal that asks for the end.
    pub async fn next(&mut self) {
        loop {
            let ending = futures::future::select_all(self.ending.iter_mut().map(|signal| Box::pin(signal.recv())));
            let hangup = async {
                match &mut self.hangup {
                    Some(hangup) => hangup.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = ending => return,
                _ = hangup => match &self.on_hangup {
                    Some(act) if !self.had_terminal || has_terminal() => act(),
                    _ => return,
                },
            }
        }
    }
}
