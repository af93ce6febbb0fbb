/// Why a text could not be understood. Never a reason to allow it.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{reason}")]
pub struct Opaque {
    pub reason: String,
    /// It broke a limit or the parser itself: refused outright rather than asked about.
    pub hostile: bool,
}

impl Opaque {
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), hostile: false }
    }

    pub fn hostile(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), hostile: true }
    }
}
