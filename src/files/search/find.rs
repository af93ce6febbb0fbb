//! Finds names below a directory that match a glob, the newest first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::fs::FileType;

use super::name_pattern::NamePattern;
use super::walk::{IgnoreFiles, Walk};
use crate::base::locks::{LockExt, unlocked};
use crate::files::interrupt::Reason;
use crate::files::{FileError, Interrupt, Scope, SearchFiles};
use crate::gate::Permitted;

/// Which names to find, and which page of them to show.
#[derive(Clone, Debug)]
pub struct NameQuery {
    pub pattern: String,
    pub kind: Option<FileType>,
    pub max_results: usize,
    pub offset: usize,
}

/// One page of the names that match.
#[derive(Debug)]
pub struct FindPage {
    /// The newest first, each with whether it is a directory.
    pub names: Vec<(PathBuf, bool)>,
    /// How many names match in all.
    pub total: usize,
    /// How many files were looked at.
    pub looked_at: usize,
    /// Whether these names are in ignored paths, because nothing else matched.
    pub ignored: bool,
    /// Whether time ran out before everything was looked at.
    pub partial: bool,
    /// Directories that were not looked at, because their file system does not answer.
    pub unanswered: Vec<PathBuf>,
}

/// Finds names below the directory. If none matches, it looks in ignored paths too.
pub fn find(
    permitted: &Permitted<SearchFiles>,
    query: &NameQuery,
    scope: &Scope,
    interrupt: &Interrupt,
) -> Result<FindPage, FileError> {
    if !permitted.handle.is_directory() {
        let message = format!("{} is not a directory", permitted.requested.text());
        return Err(FileError::BadSearch { message, hint: "find looks below a directory.".to_owned() });
    }
    let pattern = NamePattern::parse(&query.pattern, permitted.handle.path())?;
    let walk = Walk::new(&permitted.handle, scope.deny()).only_below(pattern.prefix());
    let mut page = find_in(&walk, &pattern, query, IgnoreFiles::Respected, interrupt);
    if page.total == 0 && !page.partial {
        let ignored = find_in(&walk, &pattern, query, IgnoreFiles::Bypassed, interrupt);
        page = FindPage { ignored: true, looked_at: page.looked_at, ..ignored };
    }
    match interrupt.reason() {
        Some(Reason::Cancelled) => Err(FileError::Cancelled),
        _ => Ok(page),
    }
}

fn find_in(
    walk: &Walk<'_>,
    pattern: &NamePattern,
    query: &NameQuery,
    ignore_files: IgnoreFiles,
    interrupt: &Interrupt,
) -> FindPage {
    let wanted = query.offset.saturating_add(query.max_results);
    let found = Mutex::new(Found::default());
    walk.run(ignore_files, interrupt, || {
        let mut mine = Mine { found: Found::default(), wanted, all: &found };
        move |visited| {
            if visited.kind.is_some_and(|kind| !kind.is_dir()) {
                mine.found.looked_at += 1;
            }
            if !pattern.matches(visited.relative) {
                return;
            }
            let Ok(stat) = walk.stat(visited.relative) else { return };
            let kind = FileType::from_raw_mode(stat.st_mode);
            if query.kind.is_none_or(|wanted| wanted == kind) {
                mine.found.total += 1;
                mine.add((stat.st_mtime, stat.st_mtime_nsec), visited.relative, kind == FileType::Directory);
            }
        }
    });
    let Found { newest, total, looked_at } = unlocked(found);
    let newest = newest.into_sorted_vec().into_iter().skip(query.offset).map(|Reverse((_, Reverse(named)))| named);
    let names = newest
        .filter(|(relative, _)| walk.exists(relative))
        .map(|(relative, is_directory)| (walk.agent_path(&relative), is_directory))
        .collect();
    FindPage {
        names,
        total,
        looked_at,
        ignored: false,
        partial: interrupt.reason().is_some(),
        unanswered: walk.unanswered(),
    }
}

/// What a walk has found so far.
#[derive(Default)]
struct Found {
    /// The newest names up to the end of the page, with the oldest of them on top. So memory does not grow with the number
    /// of names that match.
    newest: BinaryHeap<Reverse<Dated>>,
    total: usize,
    looked_at: usize,
}

/// Seconds and nanoseconds.
type Modified = (i64, u64);

/// A name and whether it is a directory, in the order of pages from behind.
type Dated = (Modified, Reverse<(PathBuf, bool)>);

/// What one thread has found. It is added to what all have found when the thread is done, so that no name needs a lock.
struct Mine<'a> {
    found: Found,
    wanted: usize,
    all: &'a Mutex<Found>,
}

impl Mine<'_> {
    fn add(&mut self, modified: Modified, relative: &Path, is_directory: bool) {
        let newest = &mut self.found.newest;
        let is_full = newest.len() >= self.wanted;
        if is_full && newest.peek().is_some_and(|Reverse((oldest, _))| *oldest > modified) {
            return;
        }
        newest.push(Reverse((modified, Reverse((relative.to_owned(), is_directory)))));
        if is_full {
            newest.pop();
        }
    }
}

impl Drop for Mine<'_> {
    fn drop(&mut self) {
        let mut all = self.all.locked();
        all.total += self.found.total;
        all.looked_at += self.found.looked_at;
        all.newest.append(&mut self.found.newest);
        while all.newest.len() > self.wanted {
            all.newest.pop();
        }
    }
}
