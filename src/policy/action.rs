//! What a tool may want to do. Each kind of action is a type of its own, so that a permit
//! (`gate::Permitted<RunCommand>`) says exactly what was permitted.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The part of an action that the policy judges.
#[derive(Debug)]
pub enum Subject<'a> {
    /// Text that a shell will interpret.
    ShellText { text: &'a str, cwd: &'a Path, search_path: Option<&'a OsString> },
    /// A program and its arguments, started without a shell.
    Words { words: &'a [String], cwd: &'a Path },
    /// Text typed into a program that is already running.
    Input(&'a str),
    /// Read a file or list a directory. The path has its links resolved.
    Read(&'a Path),
    /// Create or change a file. The path has its links resolved. `protected` is the protected name that the path falls
    /// under, if there is one: other programs run or trust such a file outside the sandbox.
    Write { path: &'a Path, protected: Option<&'a str> },
    /// Reach a host that no list names.
    Host(&'a str),
}

/// Something that needs a permit before it happens.
pub trait Action: Send + Sync {
    fn subject(&self) -> Subject<'_>;
    /// One line for people, for example in a refusal.
    fn summary(&self) -> String;
    /// What a person sees who is asked about the action.
    fn preview(&self) -> Preview {
        Preview { text: self.summary(), ..Preview::default() }
    }
    /// Replaces the text to run by the text that was judged, written out again. Only shell text has one.
    fn replace_text(&mut self, _canonical: String) {}
}

/// The exact action that a question is about.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Preview {
    pub text: String,
    /// What would be written, for a file.
    pub content: Option<String>,
    pub cwd: Option<PathBuf>,
    pub description: Option<String>,
}

impl Preview {
    /// The text and the content, for an answer that is bound to exactly these.
    pub fn whole(&self) -> String {
        match &self.content {
            Some(content) => format!("{}\n{content}", self.text),
            None => self.text.clone(),
        }
    }
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

    fn preview(&self) -> Preview {
        Preview { text: self.words.join(" "), cwd: Some(self.cwd.clone()), ..Preview::default() }
    }
}

/// Run shell text in a directory.
#[derive(Clone, Debug)]
pub struct RunCommand {
    pub command: String,
    pub cwd: PathBuf,
    /// The `PATH` of the shell that will run it. An earlier command of the session may have changed it.
    pub search_path: Option<OsString>,
    /// What the agent says the command is for.
    pub description: Option<String>,
}

impl Action for RunCommand {
    fn subject(&self) -> Subject<'_> {
        Subject::ShellText { text: &self.command, cwd: &self.cwd, search_path: self.search_path.as_ref() }
    }

    fn summary(&self) -> String {
        format!("run `{}` in {}", self.command, self.cwd.display())
    }

    fn preview(&self) -> Preview {
        let (text, cwd) = (self.command.clone(), Some(self.cwd.clone()));
        Preview { text, cwd, description: self.description.clone(), content: None }
    }

    fn replace_text(&mut self, canonical: String) {
        self.command = canonical;
    }
}

/// Type text into a running task.
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
