use std::io;

/// A step that failed. The agent reads the text, so it says what was being done, to which path, and why it failed.
#[derive(Debug, thiserror::Error)]
#[error("failed to {doing}: {error}")]
pub struct Failure {
    pub doing: String,
    pub error: io::Error,
}

impl Failure {
    pub fn new(doing: String, error: io::Error) -> Self {
        Self { doing, error }
    }

    /// The number of the system's error, or 0 when no system call failed.
    pub fn errno(&self) -> i32 {
        self.error.raw_os_error().unwrap_or_default()
    }
}

/// Adds to an error what was being done. The words must fit after "failed to".
pub trait Doing<T> {
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, Failure>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, doing: impl FnOnce() -> String) -> Result<T, Failure> {
        self.map_err(|error| Failure::new(doing(), error.into()))
    }
}
