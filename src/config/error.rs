use std::path::Path;

/// Why the server does not start, or keeps the configuration that it has. Each error names the setting, and the nearest valid name where there is one.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("failed to read the configuration file {path}: {error}")]
    Unreadable { path: String, error: std::io::Error },
    #[error(
        "the configuration file {path} is gone; put it back, or leave an empty file there to return to the defaults"
    )]
    Gone { path: String },
    #[error(
        "the configuration file {path} is inside the project {project}, where an agent could change it; move it outside"
    )]
    InsideProject { path: String, project: String },
    #[error("failed to parse {path}: {error}")]
    Syntax { path: String, error: toml::de::Error },
    #[error("unknown key `{key}` in {origin}{suggestion}")]
    UnknownKey { key: String, origin: String, suggestion: String },
    #[error(
        "the current directory cannot be read: {reason}; start the server in another one, or name one with \
         --workdir or --project-dir"
    )]
    CurrentDirectory { reason: String },
    #[error("bad value for {origin}: {reason}")]
    BadValue { origin: String, reason: String },
}

impl ConfigError {
    /// Whether the mistake is in the configuration file.
    pub fn is_in(&self, file: &Path) -> bool {
        match self {
            Self::BadValue { origin, .. } => *origin == file.display().to_string(),
            Self::CurrentDirectory { .. } => false,
            Self::Unreadable { .. }
            | Self::Gone { .. }
            | Self::InsideProject { .. }
            | Self::Syntax { .. }
            | Self::UnknownKey { .. } => true,
        }
    }

    /// `origin` is a flag, a variable or a file.
    pub(super) fn bad_value(origin: &str, reason: impl Into<String>) -> Self {
        Self::BadValue { origin: origin.to_owned(), reason: reason.into() }
    }
}

/// The end of an error about an unknown name.
pub(super) fn did_you_mean<'a>(written: &str, valid: impl Iterator<Item = &'a str>, prefix: &str) -> String {
    let valid: Vec<&str> = valid.collect();
    match crate::base::spelling::nearest(written, valid.iter().copied()) {
        Some(near) => format!("; did you mean `{prefix}{near}`?"),
        None => format!("; the valid names are {}", valid.join(", ")),
    }
}
