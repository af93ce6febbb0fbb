/// Why a text could not be understood. Such a text is never allowed.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{reason}")]
pub struct Opaque {
    pub reason: String,
    /// The text exceeded a limit or broke the parser. It is denied, and nobody is asked about it.
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
