//! Text in files, with ripgrep's searcher: first every file is counted, in parallel; then the files of the page that is
//! shown are read again for their lines. So the order is stable and memory does not grow with what matches.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use grep_matcher::LineTerminator;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink};
use ignore::overrides::Override;
use ignore::types::Types;
use rustix::fs::OFlags;

use super::TextQuery;
use super::match_sinks::{Collect, Count, Interruptible, ResultLine};
use super::walk::{IgnoreFiles, Visited, Walk};
use crate::base::locks::{LockExt, unlocked};
use crate::files::interrupt::Reason;
use crate::files::{FileError, Interrupt, Scope, SearchFiles};
use crate::gate::Permitted;

/// What zero hits are worth in additional time.
const IGNORED_PATIENCE: Duration = Duration::from_secs(3);
/// What a page may take when the search itself has used up its time.
const PAGE_PATIENCE: Duration = Duration::from_secs(3);
/// A line or a multi-line file longer than this is not searched.
const LONGEST_BUFFER: usize = 256 << 20;

/// A page of what was found.
#[derive(Debug, Default)]
pub struct GrepPage {
    pub page: Vec<FileMatches>,
    /// GrepPage and files with matches in all.
    pub matches: usize,
    pub files: usize,
    pub searched: usize,
    pub binaries: usize,
    pub unreadable: usize,
    /// GrepPage where ignore files keep the search out, counted when there are none elsewhere; whether that is all of them.
    pub ignored: Option<(usize, bool)>,
    /// Whether time ran out before everything was searched.
    pub partial: bool,
}

#[derive(Debug)]
pub struct FileMatches {
    pub path: PathBuf,
    pub count: usize,
    pub lines: Vec<ResultLine>,
}

/// Searches one file or everything below a directory.
pub fn grep(
    permitted: &Permitted<SearchFiles>,
    query: &TextQuery,
    scope: &Scope,
    stop: &Interrupt,
) -> Result<GrepPage, FileError> {
    let walk = Walk::new(&permitted.entry, scope.deny());
    let mut search = Search {
        walk: &walk,
        query,
        matcher: query.matcher()?,
        files: query.files(permitted.entry.path())?,
        only: None,
        stop,
    };
    if !permitted.entry.is_directory() {
        search.only = Some(permitted.entry.open(permitted.asked.text(), OFlags::RDONLY)?);
    }
    let mut counted = search.count(if query.no_ignore { IgnoreFiles::Bypassed } else { IgnoreFiles::Respected }, None);
    counted.hits.sort();
    let mut found = GrepPage {
        matches: counted.hits.iter().map(|(_, count)| count).sum(),
        files: counted.hits.len(),
        searched: counted.searched.into_inner(),
        binaries: counted.binaries.into_inner(),
        unreadable: counted.unreadable.into_inner(),
        partial: stop.reason().is_some(),
        ..GrepPage::default()
    };
    if found.matches == 0 && !query.no_ignore && !found.partial && search.only.is_none() {
        found.ignored = Some(search.count_ignored());
    }
    // What was found in time is shown, also when time ran out.
    let showing = stop.afresh(PAGE_PATIENCE);
    found.page = Search { stop: &showing, ..search }.page(&counted.hits)?;
    match stop.reason() {
        Some(Reason::Cancelled) => Err(FileError::Cancelled),
        _ => Ok(found),
    }
}

struct Search<'a> {
    walk: &'a Walk<'a>,
    query: &'a TextQuery,
    matcher: RegexMatcher,
    files: (Types, Override),
    /// The file, when the search is about a single one.
    only: Option<File>,
    stop: &'a Interrupt,
}

#[derive(Default)]
struct Counted {
    hits: Vec<(PathBuf, usize)>,
    searched: AtomicUsize,
    binaries: AtomicUsize,
    unreadable: AtomicUsize,
}

impl Search<'_> {
    fn count(&self, ignore_files: IgnoreFiles, not: Option<&HashSet<PathBuf>>) -> Counted {
        let mut counted = Counted::default();
        let hits = Mutex::new(Vec::new());
        let one = |searcher: &mut Searcher, relative: &Path| {
            let mut count = Count::default();
            match self.read(searcher, relative, &mut count) {
                Err(_) if self.stop.reason().is_some() => 0,
                Err(_) => counted.unreadable.fetch_add(1, Ordering::Relaxed),
                Ok(()) if count.binary && self.only.is_none() => counted.binaries.fetch_add(1, Ordering::Relaxed),
                Ok(()) => {
                    if count.matches > 0 {
                        let mut hits = hits.locked();
                        hits.push((relative.to_owned(), count.matches));
                    }
                    counted.searched.fetch_add(1, Ordering::Relaxed)
                }
            };
        };
        if self.only.is_some() {
            one(&mut self.searcher(false), Path::new(""));
        } else {
            self.walk.run(ignore_files, self.stop, || {
                let mut searcher = self.searcher(false);
                let one = &one;
                move |found| {
                    if self.wants(found) && not.is_none_or(|not| !not.contains(found.relative)) {
                        one(&mut searcher, found.relative);
                    }
                }
            });
        }
        counted.hits = unlocked(hits);
        counted
    }

    /// What the pattern would find where ignore files keep the search out.
    fn count_ignored(&self) -> (usize, bool) {
        let searched = Mutex::new(HashSet::new());
        self.walk.run(IgnoreFiles::Respected, self.stop, || {
            |found: &Visited<'_>| {
                searched.locked().insert(found.relative.to_owned());
            }
        });
        let searched = unlocked(searched);
        let brief = self.stop.at_most(IGNORED_PATIENCE);
        let beyond =
            Search { matcher: self.matcher.clone(), files: self.files.clone(), only: None, stop: &brief, ..*self };
        let counted = beyond.count(IgnoreFiles::Bypassed, Some(&searched));
        (counted.hits.iter().map(|(_, count)| count).sum(), brief.reason().is_none())
    }

    /// The files of the page, with the lines it shows of each.
    fn page(&self, hits: &[(PathBuf, usize)]) -> Result<Vec<FileMatches>, FileError> {
        let mut page = Vec::new();
        let (mut skip, mut take) = (self.query.offset, self.query.max_results);
        let mut searcher = self.searcher(true);
        for (relative, count) in hits {
            let (passed, taken) = self.query.mode.share(*count, skip, take);
            skip -= passed;
            take -= taken;
            if taken == 0 {
                continue;
            }
            let lines = self.query.mode.lines(*count, passed, taken);
            let mut collect = Collect { matcher: &self.matcher, skip: lines.0, take: lines.1, shown: Vec::new() };
            if lines.1 > 0 {
                // A file that has gone since it was counted has no lines to show.
                let _ = self.read(&mut searcher, relative, &mut collect);
            }
            if self.stop.reason() == Some(Reason::Cancelled) {
                return Err(FileError::Cancelled);
            }
            page.push(FileMatches { path: self.walk.shown(relative), count: *count, lines: collect.shown });
        }
        Ok(page)
    }

    fn wants(&self, found: &Visited<'_>) -> bool {
        let (types, globs) = &self.files;
        found.kind.is_some_and(|kind| kind.is_file())
            && !types.matched(found.relative, false).is_ignore()
            && !globs.matched(found.relative, false).is_ignore()
    }

    fn read<S: Sink<Error = std::io::Error>>(
        &self,
        searcher: &mut Searcher,
        relative: &Path,
        sink: S,
    ) -> std::io::Result<()> {
        let file = match &self.only {
            Some(file) => {
                std::io::Seek::rewind(&mut &*file)?;
                file.try_clone()?
            }
            None => File::from(self.walk.open(relative)?),
        };
        searcher.search_reader(&self.matcher, Interruptible { inner: file, stop: self.stop }, sink)
    }

    fn searcher(&self, for_lines: bool) -> Searcher {
        let context = if for_lines { self.query.context() } else { 0 };
        // A file that was named is searched whatever it holds.
        let binary = if self.only.is_some() { BinaryDetection::convert(0) } else { BinaryDetection::quit(0) };
        SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(for_lines)
            .before_context(context)
            .after_context(context)
            .multi_line(self.query.is_multiline())
            .binary_detection(binary)
            .heap_limit(Some(LONGEST_BUFFER))
            .build()
    }
}
