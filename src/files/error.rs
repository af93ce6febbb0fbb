use std::path::PathBuf;

/// Why a file operation did not happen. [`FileError::hints`] adds the evidence and the next step to the message.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("path must not be empty")]
    EmptyPath,
    #[error("path must not contain a NUL character")]
    NulInPath,
    #[error("access denied: path \"{path}\" is outside allowed directories")]
    Outside { path: String, allowed: Vec<PathBuf>, advice: Option<&'static str> },
    #[error("access denied: path \"{path}\" matches deny pattern \"{pattern}\"")]
    Denied { path: String, pattern: String, allowed: Vec<PathBuf> },
    #[error("file not found: {path}")]
    NotFound { path: String, absolute: PathBuf, same_name: Vec<String> },
    #[error("{path} is a directory")]
    IsDirectory { path: String },
    #[error("{path} is {what}; only regular files and directories can be viewed or edited")]
    NotAFile { path: String, what: &'static str },
    #[error("file size {size} bytes exceeds maximum {maximum} bytes")]
    FileTooLarge { size: u64, maximum: u64, hint: &'static str },
    #[error("content size {size} bytes exceeds maximum {maximum} bytes")]
    ContentTooLarge { size: u64, maximum: u64 },
    #[error("invalid {what}")]
    BadRange { what: String },
    #[error("{path} cannot be written: the server runs with --sandbox read-only")]
    ReadOnly { path: String },
    #[error("old_str must not be empty")]
    EmptyOld,
    #[error("string not found in {path}")]
    NoMatch { path: String, diagnosis: Vec<String> },
    #[error("found {count} occurrences of the string in {path}; match must be unique (use replace_all to replace all)")]
    Ambiguous { path: String, count: usize, lines: String },
    #[error("{path} has changed at this very place since this session last saw it; nothing was replaced")]
    Stale { path: String, changes: String },
    #[error("{path} keeps changing while it is edited; nothing was replaced")]
    Contended { path: String },
    #[error("{message}")]
    BadSearch { message: String, hint: String },
    #[error("cancelled by the client")]
    Cancelled,
    #[error("failed to {doing} {path}: {error}")]
    Os { doing: &'static str, path: String, error: std::io::Error },
}

impl FileError {
    pub fn os(doing: &'static str, path: &str, error: impl Into<std::io::Error>) -> Self {
        Self::Os { doing, path: path.to_owned(), error: error.into() }
    }

    /// The evidence and what to do next, one line each.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Outside { allowed, advice, .. } => {
                [allowed_directories(allowed)].into_iter().chain(advice.map(str::to_owned)).collect()
            }
            Self::Denied { allowed, .. } => vec![allowed_directories(allowed)],
            Self::NotFound { absolute, same_name, .. } => {
                let mut hints = vec![format!("Looked for {}.", absolute.display())];
                if !same_name.is_empty() {
                    hints.push(format!("Files of the same name: {}", same_name.join(", ")));
                }
                hints
            }
            Self::IsDirectory { .. } => vec!["Name a file in it. view and find show which files there are.".to_owned()],
            Self::FileTooLarge { hint, .. } => {
                vec![format!("{hint} The limit is --max-file-size.")]
            }
            Self::ContentTooLarge { .. } => vec!["Nothing was written. The limit is --max-file-size.".to_owned()],
            Self::ReadOnly { .. } => vec![
                "Nothing was written. The user can change that with --sandbox workspace-write ([sandbox] mode)."
                    .to_owned(),
            ],
            Self::NoMatch { diagnosis, .. } => diagnosis.clone(),
            Self::Ambiguous { lines, .. } => {
                vec![format!("They start at lines {lines}. Add surrounding lines to old_str until it is unique.")]
            }
            Self::Stale { changes, .. } => vec![
                "What has changed:".to_owned(),
                changes.clone(),
                "If the edit is still right, send it again: this session has now seen the change.".to_owned(),
            ],
            Self::Contended { .. } => {
                vec!["Another program keeps writing to it. Try again when that program is done.".to_owned()]
            }
            Self::BadSearch { hint, .. } if !hint.is_empty() => vec![hint.clone()],
            _ => Vec::new(),
        }
    }
}

fn allowed_directories(allowed: &[PathBuf]) -> String {
    if allowed.is_empty() {
        return "No directory is allowed: the user can name one with --project-dir DIR.".to_owned();
    }
    let shown: Vec<String> = allowed.iter().map(|path| path.display().to_string()).collect();
    format!("Allowed directories: {}", shown.join(", "))
}
