//! What a look has found while a command runs and would undo. git may be half-way through a checkout, so it gets a little
//! time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::entry::{Content, Entry};
use super::git::repository::Repository;
use super::inventory::Inventory;
use super::window::Window;

#[derive(Debug, Default)]
pub struct Suspects {
    known: HashMap<PathBuf, Suspect>,
}

#[derive(Debug)]
struct Suspect {
    content: Content,
    /// In how many looks in a row it had this content.
    same: u32,
    /// In how many looks it was found, whatever it was.
    found: u32,
}

/// So often the same content has to be found.
const ENOUGH: u32 = 2;
/// So often something has to be found if it changes all the time, or while git holds the lock of its index.
const MOST: u32 = 5;

impl Suspects {
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    pub fn clear(&mut self) {
        self.known.clear();
    }

    pub fn remove(&mut self, path: &Path) {
        self.known.remove(path);
    }

    /// Notes that something was found. Returns whether it has been there long enough.
    fn is_enough(&mut self, path: &Path, content: Content, git_works: bool) -> bool {
        let new = || Suspect { content: content.clone(), same: 0, found: 0 };
        let suspect = self.known.entry(path.to_owned()).or_insert_with(new);
        suspect.found += 1;
        suspect.same = if suspect.content == content { suspect.same + 1 } else { 1 };
        suspect.content = content;
        suspect.found >= MOST || suspect.same >= ENOUGH && !git_works
    }
}

impl Inventory {
    /// Whether a patient look leaves it for the next one.
    pub(super) fn waits(&mut self, path: &Path, found: Option<&Entry>, window: &Window) -> bool {
        if !window.patient {
            return false;
        }
        let content = found.map_or(Content::Unknown("is gone"), |found| found.content.clone());
        let full = self.root.path().join(path);
        let repository = full.parent().and_then(Repository::around);
        let git_works = repository.is_some_and(|repository| repository.is_locked());
        !self.suspects.is_enough(path, content, git_works)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_or_changes_for_ever_is_undone() {
        let mut suspects = Suspects::default();
        let mut find =
            |text: &'static str, git_works: bool| suspects.is_enough(Path::new("f"), Content::Unknown(text), git_works);
        assert!(!find("a", false) && !find("b", false) && !find("a", false) && !find("b", false));
        assert!(find("a", false), "it changes all the time");
        suspects.clear();
        let mut find = |git_works: bool| suspects.is_enough(Path::new("f"), Content::Unknown("a"), git_works);
        assert!(!find(false) && !find(true) && find(false));
    }
}
