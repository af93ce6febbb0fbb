use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

/// Tells long work to end early, because the client cancelled the call or because time ran out. The work asks
/// [`Interrupt::is_due`] at every step.
#[derive(Clone, Debug)]
pub struct Interrupt {
    cancel: Option<CancellationToken>,
    deadline: Option<Instant>,
    /// Set when the work was told to end. Work that finished just before the deadline is therefore not called partial.
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

    /// The same interrupt, due after `budget` at the latest.
    #[must_use]
    pub fn at_most(&self, budget: Duration) -> Self {
        let brief = Instant::now() + budget;
        let deadline = self.deadline.map_or(brief, |deadline| deadline.min(brief));
        Self { cancel: self.cancel.clone(), deadline: Some(deadline), noticed: Arc::default() }
    }

    /// Due after `budget` from now, whatever was left: for work that must follow even when time ran out.
    #[must_use]
    pub fn afresh(&self, budget: Duration) -> Self {
        Self { deadline: None, ..self.clone() }.at_most(budget)
    }

    /// Whether the work must end now. Cheap enough to ask for every file.
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

    /// Why the work ended early; `None` if it was never told to.
    pub fn reason(&self) -> Option<Reason> {
        match self.noticed.load(Ordering::Relaxed) {
            1 => Some(Reason::Cancelled),
            2 => Some(Reason::OutOfTime),
            _ => None,
        }
    }
}
