//! What the file tools ask permission for. Each action holds the open handle that it is about. So the operation happens on
//! the file that was permitted, even if its path leads elsewhere by then.

use crate::policy::action::Preview;
use crate::policy::{Action, Subject};

use super::{PathHandle, RequestedPath, Target};

/// Show the content of a file or the names in a directory.
#[derive(Debug)]
pub struct ReadFile {
    pub requested: RequestedPath,
    pub handle: PathHandle,
}

/// Create or change a file.
#[derive(Debug)]
pub struct WriteFile {
    pub requested: RequestedPath,
    pub target: Target,
    /// Present when the file has a protected name, so that a person must be asked.
    pub protected: Option<Protected>,
}

/// Why a person is asked about a write, and what they are shown.
#[derive(Debug)]
pub struct Protected {
    /// The protected name that the file falls under.
    pub name: String,
    /// What would be written.
    pub change: String,
}

/// Search the files and names below a directory, or one file.
#[derive(Debug)]
pub struct SearchFiles {
    pub requested: RequestedPath,
    pub handle: PathHandle,
}

impl Action for ReadFile {
    fn subject(&self) -> Subject<'_> {
        Subject::Read(self.handle.path())
    }

    fn summary(&self) -> String {
        format!("read {}", self.handle.path().display())
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

    fn preview(&self) -> Preview {
        let content = self.protected.as_ref().map(|protected| protected.change.clone());
        Preview { text: self.summary(), content, ..Preview::default() }
    }
}

impl Action for SearchFiles {
    fn subject(&self) -> Subject<'_> {
        Subject::Read(self.handle.path())
    }

    fn summary(&self) -> String {
        format!("search {}", self.handle.path().display())
    }
}
