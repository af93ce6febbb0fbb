//! What the file tools ask permission for. Each action holds the very handle it is about, so that what was permitted is
//! what happens, whatever the path leads to by then.

use crate::policy::{Action, Subject};

use super::{Asked, Entry, Target};

/// Show the content of a file or the names in a directory.
#[derive(Debug)]
pub struct ReadFile {
    pub asked: Asked,
    pub entry: Entry,
}

/// Make or change a file.
#[derive(Debug)]
pub struct WriteFile {
    pub asked: Asked,
    pub target: Target,
}

/// Look through the files and names below a directory, or through one file.
#[derive(Debug)]
pub struct SearchFiles {
    pub asked: Asked,
    pub entry: Entry,
}

impl Action for ReadFile {
    fn subject(&self) -> Subject<'_> {
        Subject::Read(self.entry.path())
    }

    fn summary(&self) -> String {
        format!("read {}", self.entry.path().display())
    }
}

impl Action for WriteFile {
    fn subject(&self) -> Subject<'_> {
        Subject::Write(self.target.path())
    }

    fn summary(&self) -> String {
        format!("write {}", self.target.path().display())
    }
}

impl Action for SearchFiles {
    fn subject(&self) -> Subject<'_> {
        Subject::Read(self.entry.path())
    }

    fn summary(&self) -> String {
        format!("search {}", self.entry.path().display())
    }
}
