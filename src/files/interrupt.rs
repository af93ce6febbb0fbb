use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

/// When work in the background has to end early: the client no longer wants it, or its time is up.
#[derive(Clone, Debug)]
pub struct Interrupt {
    cancel: Option<CancellationToken>,
    deadline: Option<Instant>,
    /// Remembered, so that a walk that just made it in time is not called partial.
    noticed: Arc<AtomicU8>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum Reason {
    Cancelled = 1,
    OutOfTime = 2,
}

impl Interrupt {
    pub fn never() -> Self {
        Self { cancel: None, deadline: None, noticed: Arc::default() }
    }

    pub fn after(budget: Duration) -> Self {
        Self { deadline: Some(Instant::now() + budget), ..Self::never() }
    }

    #[must_use]
    pub fn or_cancelled(mut self, cancel: CancellationToken) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// The same, but not longer than this.
    #[must_use]
    pub fn at_most(&self, budget: Duration) -> Self {
        let brief = Instant::now() + budget;
        let deadline = self.deadline.map_or(brief, |deadline| deadline.min(brief));
        Self { cancel: self.cancel.clone(), deadline: Some(deadline), noticed: Arc::default() }
    }

    /// As long as this from now on, whatever was left: for what must follow even when time ran out.
    #[must_use]
    pub fn afresh(&self, budget: Duration) -> Self {
        Self { deadline: None, ..self.clone() }.at_most(budget)
    }

    /// Whether to end now; cheap enough to ask for every file.
    pub fn is_due(&self) -> bool {
        let reason = if self.cancel.as_ref().is_some_and(CancellationToken::is_cancelled) {
            Reason::Cancelled
        } else if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            Reason::OutOfTime
        } else {
            return false;
        };
        self.noticed.store(reason as u8, Ordering::Relaxed);
        true
    }

    /// Why work ended early, if it did.
    pub fn reason(&self) -> Option<Reason> {
        match self.noticed.load(Ordering::Relaxed) {
            1 => Some(Reason::Cancelled),
            2 => Some(Reason::OutOfTime),
            _ => None,
        }
    }
}
