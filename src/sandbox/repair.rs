//! What the sentry does to a file that a command must not have written, and the note that tells the agent.

use std::path::Path;

use super::beneath::Place;

/// Why a git configuration file gets other content.
#[derive(Clone, Copy, Debug)]
pub enum Rewrite<'a> {
    /// The repository is new, so there is no older version. Only the settings that make git run a program go.
    Strip,
    /// The older version is put back.
    Undo { because: &'a str },
}

impl Rewrite<'_> {
    /// Replaces the file, and returns a note about it.
    pub fn apply(self, root: &Path, path: &Path, content: &[u8]) -> String {
        let done = Place::find(root, path).and_then(|place| place.replace(content, 0o644));
        let shown = path.strip_prefix(root).unwrap_or(path).display();
        match (self, done) {
            (Self::Strip, Ok(())) => format!("settings that make git run a program were removed from {shown}"),
            (Self::Strip, Err(error)) => {
                format!("settings that make git run a program could not be removed from {shown}: {error}")
            }
            (Self::Undo { because }, Ok(())) => format!("{shown} was put back: {because}"),
            (Self::Undo { because }, Err(error)) => format!("{shown} could not be put back ({error}): {because}"),
        }
    }
}

/// Renames the file so that no program picks it up, and returns a note about it.
pub fn move_aside(root: &Path, path: &Path, because: &str) -> String {
    let shown = path.strip_prefix(root).unwrap_or(path).display();
    match Place::find(root, path).and_then(|place| place.move_aside()) {
        Ok(name) => format!("{shown} was moved to {}: {because}", name.display()),
        Err(error) => format!("{shown} could not be moved aside ({error}): {because}"),
    }
}
