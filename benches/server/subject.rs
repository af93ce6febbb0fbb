//! A server under test.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

#[derive(Clone)]
pub struct Subject {
    pub name: String,
    pub words: Vec<String>,
    pub environment: Vec<(&'static str, &'static str)>,
    /// A request that the server needs before its first call.
    pub first_request: Option<(&'static str, Value)>,
    /// Whether it runs shell text, with this tool and these arguments.
    pub shell: bool,
    pub tool: String,
    pub template: Value,
    pub files: Option<FileTools>,
    pub ours: bool,
}

/// A tool and its arguments.
pub type Call = (&'static str, Value);

/// How a server edits and finds files. Paths are absolute.
#[derive(Clone, Copy)]
pub struct FileTools {
    pub edit: fn(path: &Path, old: &str, new: &str) -> Call,
    pub find: Option<fn(directory: &Path, name: &str) -> Call>,
}

impl Subject {
    pub fn new(name: &str, words: Vec<String>) -> Self {
        Self {
            name: name.to_owned(),
            words,
            environment: Vec::new(),
            first_request: None,
            shell: true,
            tool: "bash".to_owned(),
            template: template(),
            files: None,
            ours: false,
        }
    }

    pub fn ours(name: &str, binary: &str, flags: &[&str]) -> Self {
        let words = [binary].iter().chain(flags).map(ToString::to_string).collect();
        let files = FileTools {
            edit: |path, old, new| ("str_replace", json!({ "path": path, "old_str": old, "new_str": new })),
            find: Some(|directory, name| ("find", json!({ "path": directory, "pattern": name }))),
        };
        Self { ours: true, files: Some(files), ..Self::new(name, words) }
    }

    /// The same program with other flags.
    pub fn with_flags(&self, name: &str, flags: &[&str]) -> Self {
        let words =
            self.words[..1].iter().map(String::as_str).chain(flags.iter().copied()).map(str::to_owned).collect();
        Self { name: name.to_owned(), words, ..self.clone() }
    }

    /// Whether it takes the words of a program instead of shell text.
    pub fn takes_words(&self) -> bool {
        self.template["command"].is_array()
    }

    /// Each server has the scratch directory as its home, so that no settings of the person count and all write to the file
    /// system of the floor.
    pub fn command(&self, scratch: &Path) -> Command {
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).current_dir(scratch).envs(self.environment.iter().copied());
        for name in ["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
            command.env(name, scratch.parent().unwrap_or(scratch).join("home"));
        }
        command
    }
}

pub fn template() -> Value {
    json!({ "command": "{command}" })
}
