//! Visits everything below a directory, on all cores, with ripgrep's walker. Each thread walks a part of the tree, and a
//! thread that has nothing to do takes over a directory from one that has ([`Crew`]).
//!
//! The walker works with path names, and a command can exchange a directory between two of its steps. So what the walker
//! reports is only a hint: a file is opened again beneath the handle of the directory, without following links, before
//! anything of it is shown or read. An exchanged directory yields nothing.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use ignore::{DirEntry, WalkBuilder, WalkState};
use rustix::fs::{AtFlags, OFlags, Stat};

use super::crew::Crew;
use crate::base::locks::LockExt;
use crate::base::mounts;
use crate::files::scope::beneath;
use crate::files::{DenyGlobs, Interrupt, PathHandle};

/// A walk through one directory.
pub struct Walk<'a> {
    top: &'a PathHandle,
    deny: Arc<DenyGlobs>,
    /// The part of the directory where the walk begins.
    begin: PathBuf,
    /// Directories that were left out, because their file system does not answer.
    unanswered: Arc<Mutex<BTreeSet<PathBuf>>>,
}

const MOST_THREADS: usize = 12;

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
    pub fn new(top: &'a PathHandle, deny: &DenyGlobs) -> Self {
        let deny = Arc::new(deny.near(&[&top.names().agent, &top.names().real]));
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
        make_visitor: impl Fn() -> V + Sync,
    ) {
        let top = self.top.real().join(&self.begin);
        if mounts::may_hang_below(&top) {
            return self.run_past_hung_mounts(&top, ignore_files, interrupt, make_visitor);
        }
        let threads = std::thread::available_parallelism().map_or(2, usize::from).min(MOST_THREADS);
        let crew = Arc::new(Crew::new(top.clone(), threads));
        let walk = || {
            let mut visit = make_visitor();
            while let Some(part) = crew.next_part() {
                let is_top = part.directories() == [top.as_path()];
                let mut dealt_out = Vec::new();
                let walker =
                    self.builder(part.directories(), ignore_files, &crew).max_depth(is_top.then_some(1)).build();
                for entry in walker.flatten() {
                    if interrupt.is_due() {
                        crew.disband();
                        break;
                    }
                    if is_top && entry.depth() == 1 && entry.file_type().is_some_and(|kind| kind.is_dir()) {
                        dealt_out.push(entry.into_path());
                        continue;
                    }
                    // The top of the walk is not below itself. The top of any other part has not been visited yet.
                    if (entry.depth() > 0 || !is_top)
                        && let Some(relative) = below(entry.path(), self.top.real())
                    {
                        visit(&Visited { relative, kind: entry.file_type() });
                    }
                }
                if interrupt.reason().is_none() {
                    crew.deal(dealt_out);
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads {
                // Where no more threads can be started, fewer do the work.
                if std::thread::Builder::new().spawn_scoped(scope, walk).is_err() {
                    break;
                }
            }
            walk();
        });
    }

    /// The library's own parallel walk asks the filter before it opens a directory, so it passes a mount that hangs. It
    /// needs threads: the crew does not, but its walk opens a directory first.
    fn run_past_hung_mounts<V: FnMut(&Visited<'_>) + Send>(
        &self,
        top: &Path,
        ignore_files: IgnoreFiles,
        interrupt: &Interrupt,
        make_visitor: impl Fn() -> V,
    ) {
        // Nobody waits in this crew, so it takes nothing over.
        let threads = std::thread::available_parallelism().map_or(2, usize::from).min(MOST_THREADS);
        let crew = Arc::new(Crew::new(top.to_owned(), threads));
        self.builder(&[top.to_owned()], ignore_files, &crew).threads(threads).build_parallel().run(|| {
            let mut visit = make_visitor();
            Box::new(move |entry| {
                if interrupt.is_due() {
                    return WalkState::Quit;
                }
                if let Ok(entry) = entry
                    && entry.depth() > 0
                    && let Some(relative) = below(entry.path(), self.top.real())
                {
                    visit(&Visited { relative, kind: entry.file_type() });
                }
                WalkState::Continue
            })
        });
    }

    fn builder(&self, directories: &[PathBuf], ignore_files: IgnoreFiles, crew: &Arc<Crew>) -> WalkBuilder {
        let respect = ignore_files == IgnoreFiles::Respected;
        let (deny, names, crew) = (self.deny.clone(), self.top.names().clone(), crew.clone());
        let unanswered = self.unanswered.clone();
        let answers = move |entry: &DirEntry| {
            let silent = entry.file_type().is_some_and(|kind| kind.is_dir()) && !mounts::answers(entry.path());
            if silent {
                unanswered.locked().insert(entry.path().to_owned());
            }
            !silent
        };
        let mut builder = WalkBuilder::new(&directories[0]);
        for directory in &directories[1..] {
            builder.add(directory);
        }
        builder
            .hidden(false)
            .require_git(false)
            .parents(respect)
            .ignore(respect)
            .git_ignore(respect)
            .git_global(respect)
            .git_exclude(respect)
            .filter_entry(move |entry| {
                let below = below(entry.path(), &names.real).unwrap_or(entry.path());
                if entry.depth() == 0 {
                    return true;
                }
                if entry.file_name() == OsStr::new(".git")
                    || names.is_denied_below(&deny, below)
                    || !answers(entry)
                    || deny.secrets().is_found(entry.ino(), entry.path())
                {
                    return false;
                }
                let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
                !(is_directory && crew.take_over(entry.path()))
            });
        if respect {
            builder.add_custom_ignore_filename(".rgignore");
        }
        builder
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

/// The path from the top of a walk to what the walk has found. The walker makes paths by adding names to the top, so comparing
/// bytes is enough, and much quicker than comparing names.
fn below<'p>(path: &'p Path, top: &Path) -> Option<&'p Path> {
    let top = top.as_os_str().as_bytes();
    let rest = path.as_os_str().as_bytes().strip_prefix(top)?;
    let whole_names = rest.is_empty() || rest.starts_with(b"/") || top.ends_with(b"/");
    whole_names.then(|| Path::new(OsStr::from_bytes(rest.strip_prefix(b"/").unwrap_or(rest))))
}
