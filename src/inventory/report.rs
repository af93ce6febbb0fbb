//! What came of a look at the inventory, in words for the agent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::entry::Entry;

/// The result of a look.
#[derive(Debug, Default)]
pub struct Report {
    /// Protected names that came with a clone, by the top directory of the clone.
    pub checked_out: BTreeMap<PathBuf, Vec<PathBuf>>,
    /// Names that are new or have lost their mount, and have to become read-only. Absolute.
    pub protect: Vec<PathBuf>,
    /// What was undone, and the person may want after all.
    pub undone: Vec<Undone>,
}

/// A change that was undone. [`super::Inventory::take_over`] takes it back.
#[derive(Clone, Debug)]
pub struct Undone {
    /// Absolute.
    pub path: PathBuf,
    pub(super) relative: PathBuf,
    /// The protected name that it falls under.
    pub name: String,
    pub because: String,
    /// Whether the person may be asked about it. Commands never get to write what is locked, and a removal has no content to
    /// show.
    pub may_stay: bool,
    /// Where it was moved to, if it was.
    pub(super) aside: Option<PathBuf>,
    /// As it was found: the file, or everything in the directory.
    pub(super) found: Vec<(PathBuf, Entry)>,
    /// An older version was put back, or the harmless part of what was there.
    pub(super) put_back: bool,
    pub(super) is_new: bool,
    pub(super) remedy: Remedy,
    pub(super) failed: Option<String>,
}

/// More names of one clone are only counted.
const MOST_SHOWN: usize = 10;

impl Report {
    pub fn is_empty(&self) -> bool {
        self.checked_out.is_empty() && self.protect.is_empty() && self.undone.is_empty()
    }

    /// What the agent should know of what stays.
    pub fn notes(&self) -> Vec<String> {
        let note = |(top, paths): (&PathBuf, &Vec<PathBuf>)| {
            let shown: Vec<String> = paths.iter().take(MOST_SHOWN).map(|path| path.display().to_string()).collect();
            let more = if paths.len() > MOST_SHOWN {
                format!(" and {} more", paths.len() - MOST_SHOWN)
            } else {
                String::new()
            };
            format!(
                "the clone in {} has files that programs outside the sandbox run or trust: {}{more}. They stay, because they \
                 come from its own commits; the person should look at them before using that directory",
                top.display(),
                shown.join(", "),
            )
        };
        self.checked_out.iter().map(note).collect()
    }

    pub fn add(&mut self, other: Self) {
        for (top, paths) in other.checked_out {
            self.checked_out.entry(top).or_default().extend(paths);
        }
        self.protect.extend(other.protect);
        self.undone.extend(other.undone);
    }
}

/// How the person takes over what was undone.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Remedy {
    /// git has the version.
    Checkout,
    /// git has several versions, and a conflict between them.
    Conflict,
    /// The file was moved aside.
    Move,
}

impl Undone {
    /// What a person is shown who is asked about it.
    pub fn shown(&self) -> String {
        let files = self.found.iter().filter(|(_, entry)| !entry.is_directory());
        let shown: Vec<String> = files
            .map(|(path, entry)| match self.found.len() {
                1 => entry.shown(),
                _ => format!("{}:\n{}", path.display(), entry.shown()),
            })
            .collect();
        shown.join("\n")
    }

    /// The line for the agent when nobody took it over.
    pub fn note(&self) -> String {
        let path = self.relative.display();
        if let Some(error) = &self.failed {
            let done = if self.put_back { "put back" } else { "moved aside" };
            return format!("{path} could not be {done} ({error}): {}", self.because);
        }
        let aside = self.aside.as_ref();
        let name = aside.and_then(|aside| aside.file_name()).unwrap_or_default().to_string_lossy();
        if !self.put_back {
            let Some(aside) = aside else { return format!("{path} was removed: {}", self.because) };
            return format!(
                "{path} was moved to {name}: {}. It may have been written by a program of the person, who puts it back with: \
                 mv {} {}",
                self.because,
                quoted(aside),
                quoted(&self.relative),
            );
        }
        let quoted_path = quoted(&self.relative);
        let take_over = match (self.remedy, aside) {
            (Remedy::Checkout, _) => format!(
                ". git shows it as modified, so leave it out of commits; the person takes over git's version with: \
                 git checkout -- {quoted_path}"
            ),
            (Remedy::Conflict, _) => format!(
                ". git has a conflict in it; either of its two versions may stay: git checkout --ours (or --theirs) -- \
                 {quoted_path}"
            ),
            (Remedy::Move, Some(aside)) => {
                format!(
                    ". What was there is in {name}; the person takes it over with: mv {} {quoted_path}",
                    quoted(aside)
                )
            }
            (Remedy::Move, None) => String::new(),
        };
        let done = if self.is_new { "was written again without what is not harmless" } else { "was put back" };
        format!("{path} {done}: {}{take_over}", self.because)
    }
}

fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}
