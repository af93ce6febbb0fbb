//! What the file tools ask permission for. Each action holds the very handle it is about, so that what was permitted is
//! what happens, whatever the path leads to by then.

use crate::policy::action::Shown;
use crate::policy::{Action, Subject};

use super::{PathHandle, RequestedPath, Target};

/// Show the content of a file or the names in a directory.
#[derive(Debug)]
pub struct ReadFile {
    pub asked: RequestedPath,
    pub entry: PathHandle,
}

/// Make or change a file.
#[derive(Debug)]
pub struct WriteFile {
    pub asked: RequestedPath,
    pub target: Target,
    pub protected: Option<Protected>,
}

/// What makes a write a question.
#[derive(Debug)]
pub struct Protected {
    /// The name that the file falls under.
    pub name: String,
    /// What would be written, for the person who decides.
    pub change: String,
}

/// Look through the files and names below a directory, or through one file.
#[derive(Debug)]
pub struct SearchFiles {
    pub asked: RequestedPath,
    pub entry: PathHandle,
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
        let protected = self.protected.as_ref().map(|protected| protected.name.as_str());
        Subject::Write { path: self.target.path(), protected }
    }

    fn summary(&self) -> String {
        format!("write {}", self.target.path().display())
    }

    fn shown(&self) -> Shown {
        let change = self.protected.as_ref().map(|protected| format!("\n{}", protected.change)).unwrap_or_default();
        Shown { text: self.summary() + &change, cwd: None, description: None }
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
