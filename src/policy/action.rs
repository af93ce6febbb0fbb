//! What a tool may want to do. Each kind is its own type, so that the proof of permission
//! (`gate::Permitted<RunCommand>`) says exactly what was permitted.

use std::path::{Path, PathBuf};

/// What the policy looks at when it judges an action.
#[derive(Debug)]
pub enum Subject<'a> {
    /// Text that a shell will interpret.
    ShellText(&'a str),
    /// Text typed into a program that is already running.
    Input(&'a str),
    /// Content of a file or names in a directory, by the path that links lead to.
    Read(&'a Path),
    /// A file to make or change, by the path that links lead to.
    Write(&'a Path),
}

/// Something that needs permission before it happens.
pub trait Action: Send + Sync {
    fn subject(&self) -> Subject<'_>;
    /// One line for people: the question of an approval, the line of the audit log.
    fn summary(&self) -> String;
}

/// Run shell text in a directory.
#[derive(Clone, Debug)]
pub struct RunCommand {
    pub command: String,
    pub cwd: PathBuf,
    /// The agent's own words on what this is for.
    pub description: Option<String>,
}

impl Action for RunCommand {
    fn subject(&self) -> Subject<'_> {
        Subject::ShellText(&self.command)
    }

    fn summary(&self) -> String {
        format!("run `{}` in {}", self.command, self.cwd.display())
    }
}

/// Type into a running task.
#[derive(Clone, Debug)]
pub struct TypeInput {
    pub task_id: String,
    pub text: String,
}

impl Action for TypeInput {
    fn subject(&self) -> Subject<'_> {
        Subject::Input(&self.text)
    }

    fn summary(&self) -> String {
        format!("type {:?} into task {}", self.text, self.task_id)
    }
}
