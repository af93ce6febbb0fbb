//! Finds names below a directory that match a glob, the newest first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

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
    // The newest names up to the end of the page, with the oldest of them on top. So memory does not grow with the number of
    // names that match.
    let newest = Mutex::new(BinaryHeap::new());
    let (total, looked_at) = (AtomicUsize::new(0), AtomicUsize::new(0));
    walk.run(ignore_files, interrupt, || {
        |visited| {
            if visited.kind.is_some_and(|kind| !kind.is_dir()) {
                looked_at.fetch_add(1, Ordering::Relaxed);
            }
            if !pattern.matches(visited.relative) {
                return;
            }
            let Ok(stat) = walk.stat(visited.relative) else { return };
            let kind = FileType::from_raw_mode(stat.st_mode);
            if query.kind.is_some_and(|wanted| wanted != kind) {
                return;
            }
            total.fetch_add(1, Ordering::Relaxed);
            let named = (visited.relative.to_owned(), kind == FileType::Directory);
            let mut newest = newest.locked();
            newest.push(Reverse(((stat.st_mtime, stat.st_mtime_nsec), Reverse(named))));
            if newest.len() > wanted {
                newest.pop();
            }
        }
    });
    let newest = unlocked(newest).into_sorted_vec();
    let newest = newest.into_iter().skip(query.offset).map(|Reverse((_, Reverse(named)))| named);
    let names = newest
        .filter(|(relative, _)| walk.exists(relative))
        .map(|(relative, is_directory)| (walk.agent_path(&relative), is_directory))
        .collect();
    FindPage {
        names,
        total: total.into_inner(),
        looked_at: looked_at.into_inner(),
        ignored: false,
        partial: interrupt.reason().is_some(),
        unanswered: walk.unanswered(),
    }
}
