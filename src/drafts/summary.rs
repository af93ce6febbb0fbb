//! Which changes are shown one by one, and which are summed up: build output that git ignores, and what git keeps in `.git`.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::changes::Sides;
use super::facts::{Facts, open_file};
use super::parents::{facts_of, parent_of};
use super::{Change, Selection};
use crate::base::protected_names::Names;

/// The changes as people want to see them.
#[derive(Debug, Default)]
pub struct Grouping<'a> {
    pub single: Vec<&'a Change>,
    /// Programs outside the sandbox run or trust these.
    pub protected: Vec<&'a Change>,
    /// By the path that is ignored as a whole.
    pub ignored: BTreeMap<PathBuf, Sum>,
    /// By the path of the repository's `.git`.
    pub git: BTreeMap<PathBuf, Sum>,
}

#[derive(Debug, Default)]
pub struct Sum {
    pub added: u64,
    pub changed: u64,
    pub deleted: u64,
    pub bytes: u64,
}

impl<'a> Grouping<'a> {
    pub fn new(changes: &'a [Change], sides: &Sides, names: &Names, selection: &Selection) -> Self {
        let (mut grouping, mut ignores) = (Self::default(), Ignores { sides, known: HashMap::new() });
        for change in changes.iter().filter(|change| selection.has(&change.path)) {
            let path = &change.path;
            let git = path.ancestors().find(|above| above.file_name().is_some_and(|name| name == ".git"));
            let is_config = git.is_some_and(|git| path.strip_prefix(git).is_ok_and(|rest| rest == Path::new("config")));
            if names.protecting(path).is_some() || is_config {
                grouping.protected.push(change);
            } else if let Some(git) = git.filter(|git| !selection.names_inside(git)) {
                grouping.git.entry(git.to_owned()).or_default().add(change);
            } else if let Some(ignored) = ignores.outermost(path).filter(|ignored| !selection.names_inside(ignored)) {
                grouping.ignored.entry(ignored).or_default().add(change);
            } else {
                grouping.single.push(change);
            }
        }
        grouping
    }
}

impl Sum {
    fn add(&mut self, change: &Change) {
        match (change.draft, change.original) {
            (Some(draft), None) if !draft.is_directory() => self.added += 1,
            (None, _) => self.deleted += 1,
            (Some(draft), Some(_)) if !draft.is_directory() => self.changed += 1,
            _ => {}
        }
        self.bytes += change.draft.filter(Facts::is_file).map_or(0, |draft| draft.size);
    }
}

/// The `.gitignore` files of the draft.
struct Ignores<'a> {
    sides: &'a Sides,
    known: HashMap<PathBuf, Option<Gitignore>>,
}

impl Ignores<'_> {
    /// The path itself or the outermost directory above it that git ignores.
    fn outermost(&mut self, path: &Path) -> Option<PathBuf> {
        let mut above: Vec<&Path> = path.ancestors().filter(|above| !above.as_os_str().is_empty()).collect();
        above.reverse();
        let last = above.len().checked_sub(1)?;
        for (index, inner) in above.iter().enumerate() {
            // The innermost file that says something decides.
            let mut verdict = None;
            for directory in inner.ancestors().skip(1) {
                let rules = self.known.entry(directory.to_owned()).or_insert_with(|| rules(self.sides, directory));
                let Some(rules) = rules else { continue };
                let within = inner.strip_prefix(directory).unwrap_or(inner);
                let matched = rules.matched(within, index < last || is_directory(self.sides, inner));
                if !matched.is_none() {
                    verdict = Some(matched.is_ignore());
                    break;
                }
            }
            if verdict == Some(true) {
                return Some(inner.to_path_buf());
            }
        }
        None
    }
}

fn is_directory(sides: &Sides, path: &Path) -> bool {
    let facts = facts_of(sides.upper.as_fd(), path).or_else(|| facts_of(sides.lower.as_fd(), path));
    facts.is_some_and(|facts| facts.is_directory())
}

fn rules(sides: &Sides, directory: &Path) -> Option<Gitignore> {
    const LARGEST: u64 = 1 << 20;
    let read = |root: &OwnedFd, path: &Path| {
        let (directory, name) = parent_of(root.as_fd(), path)?;
        let mut text = Vec::new();
        File::from(open_file(&directory, &name).ok()?).take(LARGEST).read_to_end(&mut text).ok()?;
        Some(String::from_utf8_lossy(&text).into_owned())
    };
    let file = directory.join(".gitignore");
    let mut text = read(&sides.upper, &file).or_else(|| read(&sides.lower, &file));
    if directory.as_os_str().is_empty() {
        let own = read(&sides.lower, Path::new(".git/info/exclude"));
        text = match (own, text) {
            (Some(own), Some(text)) => Some(own + "\n" + &text),
            (own, text) => own.or(text),
        };
    }
    let mut builder = GitignoreBuilder::new("");
    for line in text?.lines() {
        let _ = builder.add_line(None, line);
    }
    builder.build().ok()
}
