//! FindPage below a directory that match a glob, the newest first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use globset::{GlobBuilder, GlobMatcher};
use rustix::fs::FileType;

use super::walk::{IgnoreFiles, Walk};
use crate::base::locks::{LockExt, unlocked};
use crate::files::interrupt::Reason;
use crate::files::{FileError, Interrupt, Scope, SearchFiles};
use crate::gate::Permitted;

/// What is looked for.
#[derive(Clone, Debug)]
pub struct NameQuery {
    pub pattern: String,
    pub kind: Option<FileType>,
    pub max_results: usize,
    pub offset: usize,
}

/// A page of what was found.
#[derive(Debug)]
pub struct FindPage {
    /// Newest first, with a word on whether it is a directory.
    pub page: Vec<(PathBuf, bool)>,
    /// How many match in all.
    pub total: usize,
    /// How many files were looked at.
    pub looked_at: usize,
    /// Whether nothing matched until ignore files were left out of account.
    pub ignored: bool,
    /// Whether time ran out before everything was looked at.
    pub partial: bool,
}

/// Looks below the directory. When nothing matches there, what ignore files hide is looked at too, and said to be so.
pub fn find(
    permitted: &Permitted<SearchFiles>,
    query: &NameQuery,
    scope: &Scope,
    stop: &Interrupt,
) -> Result<FindPage, FileError> {
    if !permitted.entry.is_directory() {
        let message = format!("{} is not a directory", permitted.asked.text());
        return Err(FileError::BadSearch { message, hint: "find looks below a directory.".to_owned() });
    }
    let pattern = Pattern::parse(&query.pattern, permitted.entry.path())?;
    let walk = Walk::new(&permitted.entry, scope.deny()).only_below(pattern.prefix.clone());
    let mut names = look(&walk, &pattern, query, IgnoreFiles::Respected, stop);
    if names.total == 0 && !names.partial {
        let looked_at = names.looked_at;
        names = look(&walk, &pattern, query, IgnoreFiles::Bypassed, stop);
        names.ignored = true;
        names.looked_at = looked_at;
    }
    match stop.reason() {
        Some(Reason::Cancelled) => Err(FileError::Cancelled),
        _ => Ok(names),
    }
}

fn look(
    walk: &Walk<'_>,
    pattern: &Pattern,
    query: &NameQuery,
    ignore_files: IgnoreFiles,
    stop: &Interrupt,
) -> FindPage {
    let wanted = query.offset.saturating_add(query.max_results);
    // The newest so many, with the oldest of them on top: memory for a page, whatever the number of names.
    let newest = Mutex::new(BinaryHeap::new());
    let (total, looked_at) = (AtomicUsize::new(0), AtomicUsize::new(0));
    walk.run(ignore_files, stop, || {
        |found| {
            if found.kind.is_some_and(|kind| !kind.is_dir()) {
                looked_at.fetch_add(1, Ordering::Relaxed);
            }
            if !pattern.matches(found.relative) {
                return;
            }
            let Ok(stat) = walk.glance(found.relative) else { return };
            let kind = FileType::from_raw_mode(stat.st_mode);
            if query.kind.is_some_and(|wanted| wanted != kind) {
                return;
            }
            total.fetch_add(1, Ordering::Relaxed);
            let named = (found.relative.to_owned(), kind == FileType::Directory);
            let mut newest = newest.locked();
            newest.push(Reverse(((stat.st_mtime, stat.st_mtime_nsec), Reverse(named))));
            if newest.len() > wanted {
                newest.pop();
            }
        }
    });
    let newest = unlocked(newest).into_sorted_vec();
    let newest = newest.into_iter().skip(query.offset).map(|Reverse((_, Reverse(named)))| named);
    let page = newest
        .filter(|(relative, _)| walk.holds(relative))
        .map(|(relative, is_directory)| (walk.shown(&relative), is_directory))
        .collect();
    FindPage {
        page,
        total: total.into_inner(),
        looked_at: looked_at.into_inner(),
        ignored: false,
        partial: stop.reason().is_some(),
    }
}

/// A glob, and what is plain at its beginning.
struct Pattern {
    matcher: GlobMatcher,
    /// A pattern without a slash is about the last name alone.
    names_only: bool,
    /// Nothing outside of this part can match.
    prefix: PathBuf,
}

impl Pattern {
    fn parse(written: &str, base: &Path) -> Result<Self, FileError> {
        let bad = |message: String| FileError::BadSearch {
            message,
            hint: "A pattern is a glob such as *.rs, src/**/*.{ts,tsx} or **/test_*.".to_owned(),
        };
        let below = Path::new(written).strip_prefix(base).ok().and_then(Path::to_str).unwrap_or(written);
        let trimmed = below.trim_start_matches("./").trim_end_matches('/');
        if trimmed.is_empty() {
            return Err(bad("pattern must not be empty".to_owned()));
        }
        let glob = GlobBuilder::new(trimmed).literal_separator(true).build();
        let matcher =
            glob.map_err(|error| bad(format!("invalid pattern {written:?}: {}", error.kind())))?.compile_matcher();
        let parts: Vec<&str> = trimmed.split('/').collect();
        let plain = |part: &&&str| !part.contains(['*', '?', '[', ']', '{', '}', '\\', ',']) && **part != "..";
        let inside_braces = trimmed.contains('{');
        let prefix =
            if inside_braces { PathBuf::new() } else { parts[..parts.len() - 1].iter().take_while(plain).collect() };
        Ok(Self { matcher, names_only: parts.len() == 1, prefix })
    }

    fn matches(&self, relative: &Path) -> bool {
        if self.names_only {
            relative.file_name().is_some_and(|name| self.matcher.is_match(name))
        } else {
            self.matcher.is_match(relative)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_with_a_slash_is_about_the_path() {
        let rows = [
            ("*.rs", "a/b.rs", true),
            ("*.rs", "a/b.rst", false),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/b/a.rs", false),
            ("src/**/*.rs", "src/b/a.rs", true),
            ("src/**/*.rs", "src/a.rs", true),
            ("**/a.rs", "a.rs", true),
            ("/w/src/*.rs", "src/a.rs", true),
            ("./src/*.rs", "src/a.rs", true),
            ("*.{ts,tsx}", "x/y.tsx", true),
            ("target/", "a/target", true),
        ];
        for (pattern, path, want) in rows {
            assert_eq!(
                Pattern::parse(pattern, Path::new("/w")).unwrap().matches(Path::new(path)),
                want,
                "{pattern} {path}"
            );
        }
    }

    #[test]
    fn what_is_plain_at_the_beginning_prunes_the_walk() {
        let rows = [("src/a/*.rs", "src/a"), ("*.rs", ""), ("src/**/x", "src"), ("{a,b}/c/d", ""), ("a/b", "a")];
        for (pattern, want) in rows {
            assert_eq!(Pattern::parse(pattern, Path::new("/w")).unwrap().prefix, Path::new(want), "{pattern}");
        }
    }
}
