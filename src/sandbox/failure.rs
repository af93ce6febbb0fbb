use std::io;

/// A step that did not work. Its text reaches the agent, so it says what was being done, to what, and why it failed.
#[derive(Debug, thiserror::Error)]
#[error("failed to {doing}: {error}")]
pub struct Failure {
    doing: String,
    error: io::Error,
}

/// Says what was being done when something failed; the words fit after "failed to".
pub trait Doing<T> {
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, Failure>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, Failure> {
        self.map_err(|error| Failure { doing: doing(), error: error.into() })
    }
}
