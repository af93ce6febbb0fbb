//! Visits everything below a directory, on all cores, with ripgrep's walker.
//!
//! The walker works with path names, and a command can exchange a directory between two of its steps. So what the walker
//! reports is only a hint: a file is opened again beneath the handle of the directory, without following links, before
//! anything of it is shown or read. An exchanged directory yields nothing.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use ignore::{WalkBuilder, WalkState};
use rustix::fs::{AtFlags, OFlags, Stat};

use crate::files::scope::beneath;
use crate::files::{DenyGlobs, Interrupt, PathHandle};

/// A walk through one directory.
pub struct Walk<'a> {
    top: &'a PathHandle,
    deny: &'a DenyGlobs,
    /// The part of the directory where the walk begins.
    begin: PathBuf,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum IgnoreFiles {
    Respected,
    Bypassed,
}

/// One name below the directory.
pub struct Visited<'a> {
    /// The path from the directory.
    pub relative: &'a Path,
    pub kind: Option<std::fs::FileType>,
}

impl<'a> Walk<'a> {
    pub fn new(top: &'a PathHandle, deny: &'a DenyGlobs) -> Self {
        Self { top, deny, begin: PathBuf::new() }
    }

    /// Visits this part of the directory only.
    #[must_use]
    pub fn only_below(self, part: &Path) -> Self {
        Self { begin: part.to_owned(), ..self }
    }

    /// The path of something below the directory, as agents know it. An empty path is the top itself, which may be a file.
    pub fn agent_path(&self, relative: &Path) -> PathBuf {
        self.top.names().join(relative).agent
    }

    /// Calls a visitor for each name. Every thread makes a visitor of its own. `.git` and denied names are left out.
    pub fn run<V: FnMut(&Visited<'_>) + Send>(
        &self,
        ignore_files: IgnoreFiles,
        interrupt: &Interrupt,
        make_visitor: impl Fn() -> V,
    ) {
        let respect = ignore_files == IgnoreFiles::Respected;
        let (deny, names) = (self.deny.clone(), self.top.names().clone());
        let mut builder = WalkBuilder::new(self.top.real().join(&self.begin));
        builder
            .hidden(false)
            .require_git(false)
            .parents(respect)
            .ignore(respect)
            .git_ignore(respect)
            .git_global(respect)
            .git_exclude(respect)
            .threads(std::thread::available_parallelism().map_or(2, usize::from).min(12))
            .filter_entry(move |entry| {
                let below = entry.path().strip_prefix(&names.real).unwrap_or(entry.path());
                entry.depth() == 0
                    || entry.file_name() != OsStr::new(".git")
                        && !names.is_denied_below(&deny, below)
                        && !deny.secrets().is_found(entry.ino(), entry.path())
            });
        if respect {
            builder.add_custom_ignore_filename(".rgignore");
        }
        builder.build_parallel().run(|| {
            let mut visit = make_visitor();
            Box::new(move |entry| {
                if interrupt.is_due() {
                    return WalkState::Quit;
                }
                if let Ok(entry) = entry
                    && entry.depth() > 0
                    && let Ok(relative) = entry.path().strip_prefix(self.top.real())
                {
                    visit(&Visited { relative, kind: entry.file_type() });
                }
                WalkState::Continue
            })
        });
    }

    /// Opens a visited file for its content, if it really lies beneath the directory.
    pub fn open(&self, relative: &Path) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        beneath::open_without_links(self.top, relative, flags)
    }

    /// The metadata of a visited name. It is quick and, like the name, only a hint: see [`Walk::exists`].
    pub fn stat(&self, relative: &Path) -> rustix::io::Result<Stat> {
        rustix::fs::statat(self.top, relative, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Whether a visited name really exists beneath the directory.
    pub fn exists(&self, relative: &Path) -> bool {
        beneath::open_without_links(self.top, relative, OFlags::PATH).is_ok()
    }
}
