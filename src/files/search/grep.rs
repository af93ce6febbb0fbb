//! Searches text in files, with ripgrep's searcher. A first pass counts the matches of every file, in parallel. A second pass
//! reads the files of the requested page again for their lines. So the order is stable, and memory does not grow with the
//! number of matches.

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

/// How long the count of matches in ignored paths may take, which is made when nothing else matches.
const IGNORED_PATIENCE: Duration = Duration::from_secs(3);
/// How long the second pass may take when the first one has used up the time.
const PAGE_PATIENCE: Duration = Duration::from_secs(3);
/// A longer line is not searched, nor a longer file if the pattern may cross lines.
const LONGEST_BUFFER: usize = 256 << 20;

/// One page of the matches.
#[derive(Debug, Default)]
pub struct GrepPage {
    pub files: Vec<FileMatches>,
    /// How many matches there are in all.
    pub total_matches: usize,
    /// How many files have matches.
    pub total_files: usize,
    pub searched: usize,
    pub binaries: usize,
    pub unreadable: usize,
    /// The matches in ignored paths, counted when there are none elsewhere.
    pub ignored: Option<IgnoredMatches>,
    /// Whether time ran out before everything was searched.
    pub partial: bool,
    /// Directories that were not searched, because their file system does not answer.
    pub unanswered: Vec<PathBuf>,
}

/// The matches of one file.
#[derive(Debug)]
pub struct FileMatches {
    pub path: PathBuf,
    pub count: usize,
    pub lines: Vec<ResultLine>,
}

#[derive(Debug)]
pub struct IgnoredMatches {
    pub count: usize,
    /// Whether there was time to count all of them.
    pub complete: bool,
}

/// Searches one file or everything below a directory.
pub fn grep(
    permitted: &Permitted<SearchFiles>,
    query: &TextQuery,
    scope: &Scope,
    interrupt: &Interrupt,
) -> Result<GrepPage, FileError> {
    let walk = Walk::new(&permitted.handle, scope.deny());
    let mut search = Search {
        walk: &walk,
        query,
        matcher: query.matcher()?,
        files: query.files(permitted.handle.path())?,
        only: None,
        interrupt,
    };
    if !permitted.handle.is_directory() {
        search.only = Some(permitted.handle.open(permitted.requested.text(), OFlags::RDONLY)?);
    }
    let mut counted = search.count(if query.no_ignore { IgnoreFiles::Bypassed } else { IgnoreFiles::Respected }, None);
    counted.hits.sort();
    let mut page = GrepPage {
        total_matches: counted.hits.iter().map(|(_, count)| count).sum(),
        total_files: counted.hits.len(),
        searched: counted.searched.into_inner(),
        binaries: counted.binaries.into_inner(),
        unreadable: counted.unreadable.into_inner(),
        partial: interrupt.reason().is_some(),
        ..GrepPage::default()
    };
    if page.total_matches == 0 && !query.no_ignore && !page.partial && search.only.is_none() {
        page.ignored = Some(search.count_ignored(counted.visited.into_inner()));
    }
    // When time ran out, the matches that were found so far are shown.
    let second_pass = interrupt.afresh(PAGE_PATIENCE);
    page.files = Search { interrupt: &second_pass, ..search }.lines_of_page(&counted.hits)?;
    page.unanswered = walk.unanswered();
    match interrupt.reason() {
        Some(Reason::Cancelled) => Err(FileError::Cancelled),
        _ => Ok(page),
    }
}

struct Search<'a> {
    walk: &'a Walk<'a>,
    query: &'a TextQuery,
    matcher: RegexMatcher,
    files: (Types, Override),
    /// The file, when the agent named a file and not a directory.
    only: Option<File>,
    interrupt: &'a Interrupt,
}

/// The result of the first pass.
#[derive(Default)]
struct Counted {
    /// Files with matches and how many they have.
    hits: Vec<(PathBuf, usize)>,
    /// Everything that the walk came to.
    visited: AtomicUsize,
    searched: AtomicUsize,
    binaries: AtomicUsize,
    unreadable: AtomicUsize,
}

impl Search<'_> {
    /// The first pass. It leaves out the files in `except`.
    fn count(&self, ignore_files: IgnoreFiles, except: Option<&HashSet<PathBuf>>) -> Counted {
        let mut counted = Counted::default();
        let hits = Mutex::new(Vec::new());
        let one = |searcher: &mut Searcher, relative: &Path| {
            let mut count = Count::default();
            match self.read(searcher, relative, &mut count) {
                Err(_) if self.interrupt.reason().is_some() => 0,
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
            self.walk.run(ignore_files, self.interrupt, || {
                let mut searcher = self.searcher(false);
                let one = &one;
                let passed = &counted.visited;
                move |visited| {
                    passed.fetch_add(1, Ordering::Relaxed);
                    if self.wants(visited) && except.is_none_or(|except| !except.contains(visited.relative)) {
                        one(&mut searcher, visited.relative);
                    }
                }
            });
        }
        counted.hits = unlocked(hits);
        counted
    }

    /// Counts the matches in paths that ignore files exclude. `visited` is how many paths they leave.
    fn count_ignored(&self, visited: usize) -> IgnoredMatches {
        let all = AtomicUsize::new(0);
        self.walk.run(IgnoreFiles::Bypassed, self.interrupt, || {
            |_: &Visited<'_>| {
                all.fetch_add(1, Ordering::Relaxed);
            }
        });
        if all.into_inner() == visited {
            return IgnoredMatches { count: 0, complete: self.interrupt.reason().is_none() };
        }
        let searched = Mutex::new(HashSet::new());
        self.walk.run(IgnoreFiles::Respected, self.interrupt, || {
            |visited: &Visited<'_>| {
                searched.locked().insert(visited.relative.to_owned());
            }
        });
        let searched = unlocked(searched);
        let brief = self.interrupt.at_most(IGNORED_PATIENCE);
        let beyond =
            Search { matcher: self.matcher.clone(), files: self.files.clone(), only: None, interrupt: &brief, ..*self };
        let counted = beyond.count(IgnoreFiles::Bypassed, Some(&searched));
        IgnoredMatches { count: counted.hits.iter().map(|(_, count)| count).sum(), complete: brief.reason().is_none() }
    }

    /// The second pass: the files of the page, with the lines that are shown of each.
    fn lines_of_page(&self, hits: &[(PathBuf, usize)]) -> Result<Vec<FileMatches>, FileError> {
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
            let mut collect = Collect { matcher: &self.matcher, skip: lines.0, take: lines.1, lines: Vec::new() };
            if lines.1 > 0 {
                // A file that was removed since the first pass has no lines to show.
                let _ = self.read(&mut searcher, relative, &mut collect);
            }
            if self.interrupt.reason() == Some(Reason::Cancelled) {
                return Err(FileError::Cancelled);
            }
            page.push(FileMatches { path: self.walk.agent_path(relative), count: *count, lines: collect.lines });
        }
        Ok(page)
    }

    fn wants(&self, visited: &Visited<'_>) -> bool {
        let (types, globs) = &self.files;
        visited.kind.is_some_and(|kind| kind.is_file())
            && !types.matched(visited.relative, false).is_ignore()
            && !globs.matched(visited.relative, false).is_ignore()
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
        searcher.search_reader(&self.matcher, Interruptible { inner: file, interrupt: self.interrupt }, sink)
    }

    fn searcher(&self, for_lines: bool) -> Searcher {
        let context = if for_lines { self.query.context() } else { 0 };
        // A file that the agent named is searched even if it is binary.
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
