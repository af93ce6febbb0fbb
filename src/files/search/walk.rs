//! Going through everything below a directory, on all cores, with ripgrep's walker.
//!
//! The walker works with path names, so what it reports is only a hint: whatever is shown or read is opened again beneath
//! the handle of the directory, without links. A directory that is exchanged meanwhile yields nothing.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use ignore::{WalkBuilder, WalkState};
use rustix::fs::{AtFlags, OFlags, Stat};

use crate::files::scope::beneath;
use crate::files::{DenyGlobs, Interrupt, PathHandle};

/// A directory to go through.
pub struct Walk<'a> {
    entry: &'a PathHandle,
    deny: &'a DenyGlobs,
    /// Where to begin below it.
    from: PathBuf,
}

/// Whether ignore files are respected.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum IgnoreFiles {
    Respected,
    Bypassed,
}

/// One name below the directory.
pub struct Visited<'a> {
    /// From the directory.
    pub relative: &'a Path,
    pub kind: Option<std::fs::FileType>,
}

impl<'a> Walk<'a> {
    pub fn new(entry: &'a PathHandle, deny: &'a DenyGlobs) -> Self {
        Self { entry, deny, from: PathBuf::new() }
    }

    /// Only what lies below this part: nothing else can match.
    #[must_use]
    pub fn only_below(mut self, from: PathBuf) -> Self {
        self.from = from;
        self
    }

    /// The name agents know something by.
    pub fn shown(&self, relative: &Path) -> PathBuf {
        self.entry.path().join(relative)
    }

    /// Calls a visitor, one of which every thread makes for itself, for each name. `.git` and denied names are left out.
    pub fn run<V: FnMut(&Visited<'_>) + Send>(
        &self,
        ignore_files: IgnoreFiles,
        stop: &Interrupt,
        make_visitor: impl Fn() -> V,
    ) {
        let respect = ignore_files == IgnoreFiles::Respected;
        let (deny, real, shown) = (self.deny.clone(), self.entry.real().to_owned(), self.entry.path().to_owned());
        let mut builder = WalkBuilder::new(self.entry.real().join(&self.from));
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
                if entry.depth() == 0 {
                    return true;
                }
                // By either name, as in `PathHandle::hides`, which cannot be borrowed here.
                let below = || entry.path().strip_prefix(&real).unwrap_or(entry.path());
                let denied = || deny.hides(entry.path()) || real != shown && deny.hides(&shown.join(below()));
                entry.file_name() != OsStr::new(".git") && (deny.is_empty() || !denied())
            });
        if respect {
            builder.add_custom_ignore_filename(".rgignore");
        }
        builder.build_parallel().run(|| {
            let mut visit = make_visitor();
            Box::new(move |entry| {
                if stop.is_due() {
                    return WalkState::Quit;
                }
                if let Ok(entry) = entry
                    && entry.depth() > 0
                    && let Ok(relative) = entry.path().strip_prefix(self.entry.real())
                {
                    visit(&Visited { relative, kind: entry.file_type() });
                }
                WalkState::Continue
            })
        });
    }

    /// Opens the content of what the walker named, if it is really there.
    pub fn open(&self, relative: &Path) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        beneath::open_without_links(self.entry.handle(), relative, flags)
    }

    /// Looks at what the walker named, quickly: as much a hint as the name itself.
    pub fn glance(&self, relative: &Path) -> rustix::io::Result<Stat> {
        rustix::fs::statat(self.entry.handle(), relative, AtFlags::SYMLINK_NOFOLLOW)
    }

    /// Whether what the walker named is really there.
    pub fn holds(&self, relative: &Path) -> bool {
        beneath::open_without_links(self.entry.handle(), relative, OFlags::PATH).is_ok()
    }
}
