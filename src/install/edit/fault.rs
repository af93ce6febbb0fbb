use std::fmt;

/// Why a file is not changed.
#[derive(Debug, PartialEq)]
pub struct Fault {
    /// Line and column, from 1.
    place: Option<(usize, usize)>,
    reason: String,
}

impl Fault {
    pub fn new(place: Option<(usize, usize)>, reason: impl Into<String>) -> Self {
        Self { place, reason: reason.into() }
    }

    /// At a byte of the text.
    pub fn at(text: &str, byte: usize, reason: impl Into<String>) -> Self {
        let before = &text[..byte.min(text.len())];
        let line = before.rsplit('\n').next().unwrap_or_default();
        Self::new(Some((before.matches('\n').count() + 1, line.chars().count() + 1)), reason)
    }

    /// The file is well-formed, but written in a way that the editor does not know how to change.
    pub fn layout() -> Self {
        Self::new(None, "the file is written in a way that cannot be changed without touching other settings")
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some((line, column)) => write!(formatter, "line {line}, column {column}: {}", self.reason),
            None => formatter.write_str(&self.reason),
        }
    }
}
