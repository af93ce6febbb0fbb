//! What a tool may want to do. Each kind is its own type, so that the proof of permission
//! (`gate::Permitted<RunCommand>`) says exactly what was permitted.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What the policy looks at when it judges an action.
#[derive(Debug)]
pub enum Subject<'a> {
    /// Text that a shell will interpret.
    ShellText { text: &'a str, cwd: &'a Path, search_path: Option<&'a OsString> },
    /// A program and its arguments, started without a shell.
    Words { words: &'a [String], cwd: &'a Path },
    /// Text typed into a program that is already running.
    Input(&'a str),
    /// Content of a file or names in a directory, by the path that links lead to.
    Read(&'a Path),
    /// A file to make or change, by the path that links lead to. What stands under a protected name runs or is believed
    /// outside the sandbox later; then the name is given.
    Write { path: &'a Path, protected: Option<&'a str> },
}

/// Something that needs permission before it happens.
pub trait Action: Send + Sync {
    fn subject(&self) -> Subject<'_>;
    /// One line for people: the question of an approval, the line of the audit log.
    fn summary(&self) -> String;
    /// What a person who is asked gets to see.
    fn shown(&self) -> Shown {
        Shown { text: self.summary(), cwd: None, description: None }
    }
    /// Takes the text to run from the judgement, where it has one: what was judged, written out again.
    fn replace_text(&mut self, _canonical: String) {}
}

/// The exact thing a question is about.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Shown {
    pub text: String,
    pub cwd: Option<PathBuf>,
    pub description: Option<String>,
}

/// Run one program without a shell.
#[derive(Clone, Debug)]
pub struct RunWords {
    pub words: Vec<String>,
    pub cwd: PathBuf,
}

impl Action for RunWords {
    fn subject(&self) -> Subject<'_> {
        Subject::Words { words: &self.words, cwd: &self.cwd }
    }

    fn summary(&self) -> String {
        format!("run {:?} in {}", self.words, self.cwd.display())
    }

    fn shown(&self) -> Shown {
        Shown { text: self.words.join(" "), cwd: Some(self.cwd.clone()), description: None }
    }
}

/// Run shell text in a directory.
#[derive(Clone, Debug)]
pub struct RunCommand {
    pub command: String,
    pub cwd: PathBuf,
    /// The PATH of the shell that will run it, which an earlier command may have changed.
    pub search_path: Option<OsString>,
    /// The agent's own words on what this is for.
    pub description: Option<String>,
}

impl Action for RunCommand {
    fn subject(&self) -> Subject<'_> {
        Subject::ShellText { text: &self.command, cwd: &self.cwd, search_path: self.search_path.as_ref() }
    }

    fn summary(&self) -> String {
        format!("run `{}` in {}", self.command, self.cwd.display())
    }

    fn shown(&self) -> Shown {
        Shown { text: self.command.clone(), cwd: Some(self.cwd.clone()), description: self.description.clone() }
    }

    fn replace_text(&mut self, canonical: String) {
        self.command = canonical;
    }
}

/// Type into a running task.
#[derive(Clone, Debug)]
pub struct TypeInput {
    pub task_id: String,
    pub text: String,
    /// Keys after the text, by their names.
    pub keys: Vec<String>,
}

impl Action for TypeInput {
    fn subject(&self) -> Subject<'_> {
        Subject::Input(&self.text)
    }

    fn summary(&self) -> String {
        match self.keys.as_slice() {
            [] => format!("type {:?} into task {}", self.text, self.task_id),
            keys => format!("type {:?} and {} into task {}", self.text, keys.join(" "), self.task_id),
        }
    }
}
