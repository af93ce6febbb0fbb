/// Why a text could not be understood. Such a text is never allowed.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{reason}")]
pub struct Opaque {
    pub reason: String,
    /// The text exceeded a limit or broke the parser. It is denied, and nobody is asked about it.
    pub hostile: bool,
    /// It does not parse, so bash could not run it either.
    pub broken: bool,
}

impl Opaque {
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), hostile: false, broken: false }
    }

    pub fn hostile(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), hostile: true, broken: false }
    }

    pub fn broken(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), hostile: false, broken: true }
    }
}
