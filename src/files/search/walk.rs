//! Visits everything below a directory, on all cores, with ripgrep's walker.
//!
//! The walker works with path names, and a command can exchange a directory between two of its steps. So what the walker
//! reports is only a hint: a file is opened again beneath the handle of the directory, without following links, before
//! anything of it is shown or read. An exchanged directory yields nothing.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ignore::{DirEntry, WalkBuilder, WalkState};
use rustix::fs::{AtFlags, OFlags, Stat};

use crate::base::locks::LockExt;
use crate::base::mounts;
use crate::files::scope::beneath;
use crate::files::{DenyGlobs, Interrupt, PathHandle};

/// A walk through one directory.
pub struct Walk<'a> {
    top: &'a PathHandle,
    deny: &'a DenyGlobs,
    /// The part of the directory where the walk begins.
    begin: PathBuf,
    /// Directories that were left out, because their file system does not answer.
    unanswered: Arc<Mutex<BTreeSet<PathBuf>>>,
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
        Self { top, deny, begin: PathBuf::new(), unanswered: Arc::default() }
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

    /// Directories that were left out because their file system does not answer, as agents know them.
    pub fn unanswered(&self) -> Vec<PathBuf> {
        let unanswered = self.unanswered.locked();
        let below = unanswered.iter().filter_map(|path| path.strip_prefix(self.top.real()).ok());
        below.map(|relative| self.agent_path(relative)).collect()
    }

    /// Calls a visitor for each name. Every thread makes a visitor of its own. `.git` and denied names are left out.
    pub fn run<V: FnMut(&Visited<'_>) + Send>(
        &self,
        ignore_files: IgnoreFiles,
        interrupt: &Interrupt,
        make_visitor: impl Fn() -> V,
    ) {
        let threads = std::thread::available_parallelism().map_or(2, usize::from).min(12);
        let respect = ignore_files == IgnoreFiles::Respected;
        let (deny, names, unanswered) = (self.deny.clone(), self.top.names().clone(), self.unanswered.clone());
        let answers = move |entry: &DirEntry| {
            let silent = entry.file_type().is_some_and(|kind| kind.is_dir()) && !mounts::answers(entry.path());
            if silent {
                unanswered.locked().insert(entry.path().to_owned());
            }
            !silent
        };
        let mut builder = WalkBuilder::new(self.top.real().join(&self.begin));
        builder
            .hidden(false)
            .require_git(false)
            .parents(respect)
            .ignore(respect)
            .git_ignore(respect)
            .git_global(respect)
            .git_exclude(respect)
            .threads(threads)
            .filter_entry(move |entry| {
                let below = entry.path().strip_prefix(&names.real).unwrap_or(entry.path());
                entry.depth() == 0
                    || entry.file_name() != OsStr::new(".git") && !names.is_denied_below(&deny, below) && answers(entry)
            });
        if respect {
            builder.add_custom_ignore_filename(".rgignore");
        }
        let below_top = |entry: &DirEntry| {
            let relative = entry.path().strip_prefix(self.top.real()).ok()?;
            (entry.depth() > 0).then(|| relative.to_owned())
        };
        if !can_start(threads) {
            let mut visit = make_visitor();
            for entry in builder.build().take_while(|_| !interrupt.is_due()).flatten() {
                if let Some(relative) = below_top(&entry) {
                    visit(&Visited { relative: &relative, kind: entry.file_type() });
                }
            }
            return;
        }
        builder.build_parallel().run(|| {
            let mut visit = make_visitor();
            Box::new(move |entry| {
                if interrupt.is_due() {
                    return WalkState::Quit;
                }
                if let Ok(entry) = entry
                    && let Some(relative) = below_top(&entry)
                {
                    visit(&Visited { relative: &relative, kind: entry.file_type() });
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

/// Whether so many threads can be started now. The library's parallel walk never ends if only some of them start
/// (RLIMIT_NPROC, a container's limit on processes), so the caller then walks alone.
fn can_start(threads: usize) -> bool {
    let (release, held) = std::sync::mpsc::channel::<()>();
    let held = Arc::new(Mutex::new(held));
    let start = |_| {
        let held = held.clone();
        std::thread::Builder::new().spawn(move || held.locked().recv().is_ok()).ok()
    };
    let started: Vec<_> = (0..threads).map_while(start).collect();
    drop(release);
    started.into_iter().filter_map(|thread| thread.join().ok()).count() == threads
}
