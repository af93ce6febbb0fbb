//! Where git finds its repository from inside a directory.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::config::{self, Setting};
use super::files;
use super::object_id::ObjectFormat;
use crate::base::lexical;

/// Configuration and pointers are smaller than this. git itself reads larger ones; we take them for a trick.
pub const LARGEST_CONFIG: u64 = 1 << 20;

/// The repository of a working tree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Repository {
    /// The top of the working tree.
    pub top: PathBuf,
    /// Its own git directory, with HEAD and index.
    pub git: PathBuf,
    /// The git directory that all working trees of the repository share.
    pub common: PathBuf,
}

impl Repository {
    /// The repository that git would find from inside a directory.
    pub fn around(directory: &Path) -> Option<Self> {
        directory.ancestors().find_map(Self::at)
    }

    /// The repository with this top directory.
    pub fn at(top: &Path) -> Option<Self> {
        let dot = top.join(".git");
        let git =
            if files::metadata(&dot)?.is_file() { target(top, &files::read(&dot, LARGEST_CONFIG).ok()?)? } else { dot };
        let common = match files::read(&git.join("commondir"), LARGEST_CONFIG) {
            Ok(text) => lexical::normal(&git.join(path_of(&text))),
            Err(_) => git.clone(),
        };
        files::metadata(&git.join("HEAD"))?;
        Some(Self { top: top.to_owned(), git, common })
    }

    /// Whether git is writing the index, as it does at the end of a checkout.
    pub fn is_locked(&self) -> bool {
        files::metadata(&self.git.join("index.lock")).is_some()
    }

    pub fn format(&self) -> ObjectFormat {
        let sha256 = |setting: &Setting| setting.name() == "extensions.objectformat" && setting.text() == "sha256";
        let settings = settings(&self.common.join("config"));
        if settings.iter().any(sha256) { ObjectFormat::Sha256 } else { ObjectFormat::Sha1 }
    }
}

/// The settings in a file; none if it cannot be read.
pub fn settings(path: &Path) -> Vec<Setting> {
    files::read(path, LARGEST_CONFIG).ok().and_then(|text| config::parse(&text).ok()).unwrap_or_default()
}

/// The git directory that a `.git` file names.
pub fn target(directory: &Path, text: &[u8]) -> Option<PathBuf> {
    let path = path_of(text.strip_prefix(b"gitdir: ")?);
    Some(lexical::normal(&directory.join(path)))
}

/// A path that fills a whole file.
pub fn path_of(text: &[u8]) -> &Path {
    let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |at| at + 1);
    Path::new(std::ffi::OsStr::from_bytes(&text[..end]))
}
