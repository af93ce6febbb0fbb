//! Judges every difference between the inventory and what exists, and undoes what may not stay.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::entry::{Content, Entry};
use super::git::repository::{Repository, path_of, target};
use super::git::{config, harmless};
use super::inventory::Inventory;
use super::item::{Care, Change, Item, Kind};
use super::report::Report;
use super::trust::Holder;
use super::window::Window;
use crate::base::lexical;

enum Verdict {
    Accept {
        own: bool,
    },
    /// It was checked out of the commits of a repository that is new itself.
    CheckedOut {
        top: PathBuf,
    },
    Reject {
        because: String,
    },
}

const OWN: Verdict = Verdict::Accept { own: true };
const ACCEPT: Verdict = Verdict::Accept { own: false };

fn reject(because: impl Into<String>) -> Verdict {
    Verdict::Reject { because: because.into() }
}

impl Inventory {
    /// Judges something protected that the inventory does not know.
    pub(super) fn check_new(&mut self, path: &Path, kind: Kind, window: &Window, report: &mut Report) {
        let mut item = Item::read(&self.root, path, kind);
        let mut rejected: BTreeMap<PathBuf, (Entry, String)> = BTreeMap::new();
        let (mut accepted, mut own) = (0, false);
        for (path, entry) in &mut item.entries {
            if entry.is_directory() {
                continue;
            }
            let change = Change { path: path.clone(), before: None, after: Some(entry.clone()) };
            match self.judge(kind, &change, window) {
                Verdict::Accept { own } => entry.own = own,
                Verdict::CheckedOut { top } => report.checked_out.entry(top).or_default().push(path.clone()),
                Verdict::Reject { because } => {
                    rejected.insert(path.clone(), (entry.clone(), because));
                    continue;
                }
            }
            accepted += 1;
            own |= entry.own;
        }
        if !rejected.is_empty() && self.waits(path, item.entries.get(path), window) {
            self.waiting.insert(path.to_owned(), kind);
            return;
        }
        self.suspects.remove(path);
        if accepted == 0 && !rejected.is_empty() && kind == Kind::Name && item.entries.len() > 1 {
            let because = rejected.into_values().next().map(|(_, because)| because).unwrap_or_default();
            let found = item.entries.into_iter().collect();
            let (undone, _) = self.undo(path, kind, because, found, None);
            if undone.failed.is_some() {
                self.waiting.insert(path.to_owned(), kind);
            }
            return report.undone.push(undone);
        }
        // A directory is the person's if a file in it is, or if it came while no command ran.
        let own_directories = own
            || accepted == 0
                && rejected.is_empty()
                && !self.is_covered(path, item.entries.get(path).map(|entry| &entry.stamp), true, window);
        for (path, entry) in &mut item.entries {
            entry.own |= own_directories && entry.is_directory();
            if entry.own {
                self.trust(path, Some(entry));
            }
        }
        item.entries.retain(|path, _| !rejected.contains_key(path));
        for (path, (entry, because)) in rejected {
            let (undone, version) = self.undo(&path, kind, because, vec![(path.clone(), entry)], None);
            item.entries.extend(version.map(|version| (path, version)));
            report.undone.push(undone);
        }
        if !item.entries.is_empty() {
            self.items.insert(path.to_owned(), item);
            self.note_locked(path);
            if own {
                report.protect.extend(self.locked_in(path));
            }
        }
    }

    /// Compares something that the inventory knows, and judges what has changed.
    pub(super) fn check_item(&mut self, path: &Path, care: Care, window: &Window, report: &mut Report) {
        let care = self.care_for(path, care);
        let Some(item) = self.items.get_mut(path) else { return };
        let (kind, changes) = (item.kind, item.changes(&self.root, path, care));
        if changes.is_empty() {
            return;
        }
        let mut unmounted = false;
        for change in changes {
            let verdict = self.judge(kind, &change, window);
            let before = change.before.as_ref();
            // What is gone while a command runs may come back, with a directory that the command is replacing.
            let undecided = matches!(verdict, Verdict::Reject { .. })
                || change.after.is_none() && matches!(verdict, Verdict::Accept { own: false });
            if undecided && self.waits(&change.path, change.after.as_ref(), window) {
                if let Some(item) = self.items.get_mut(path) {
                    item.look_again(&change.path);
                }
                continue;
            }
            self.suspects.remove(&change.path);
            let entry = match verdict {
                Verdict::Accept { own } => {
                    let after = change.after.map(|after| Entry {
                        own: own && !after.is_directory() || before.is_some_and(|before| before.own && own),
                        ..after
                    });
                    let same = |after: &Entry| before.is_some_and(|before| before.stamp.is_same_file(&after.stamp));
                    unmounted |= after.as_ref().is_some_and(|after| after.own && !same(after));
                    if own {
                        self.trust(&change.path, after.as_ref());
                    }
                    after
                }
                Verdict::CheckedOut { top } => {
                    report.checked_out.entry(top).or_default().push(change.path.clone());
                    change.after
                }
                Verdict::Reject { because } => {
                    let found = change.after.map(|after| (change.path.clone(), after)).into_iter().collect();
                    let (undone, version) = self.undo(&change.path, kind, because, found, before);
                    report.undone.push(undone);
                    unmounted = true;
                    version
                }
            };
            if let Some(item) = self.items.get_mut(path) {
                item.accept(&change.path, entry);
            }
        }
        if self.items.get(path).is_some_and(|item| item.entries.is_empty()) {
            self.items.remove(path);
            return;
        }
        self.note_locked(path);
        if unmounted {
            report.protect.extend(self.locked_in(path));
        }
    }

    fn judge(&mut self, kind: Kind, change: &Change, window: &Window) -> Verdict {
        let Change { path, before, after } = change;
        let same_file =
            before.as_ref().zip(after.as_ref()).is_some_and(|(before, after)| before.stamp.is_same_file(&after.stamp));
        if !self.is_covered(path, after.as_ref().map(|after| &after.stamp), !same_file, window) {
            return OWN;
        }
        let Some(after) = after else { return self.judge_removal(path, before.as_ref()) };
        if let Some(before) = before
            && (before.content == after.content || has_lost_permission(before, after))
        {
            return Verdict::Accept { own: before.own };
        }
        if before.is_none()
            && let Some(Holder::Clone { top }) = self.holder(path, after)
        {
            return Verdict::CheckedOut { top };
        }
        if self.trusted.contains(&(self.tail(path), after.content.clone())) {
            return Verdict::Accept { own: before.as_ref().is_some_and(|before| before.own) };
        }
        let replaceable = before.as_ref().is_none_or(|before| !before.own) || self.tracked.contains(path);
        match kind {
            Kind::Config => match self.judge_config(path, before.as_ref(), after) {
                Verdict::Reject { .. } if replaceable && self.is_held(path, after) => ACCEPT,
                verdict => verdict,
            },
            Kind::Pointer => self.judge_pointer(path, after),
            Kind::Name | Kind::Hooks => {
                if before.is_none()
                    && (after.is_directory() || is_aside(path) || kind == Kind::Hooks && is_sample(path))
                {
                    return ACCEPT;
                }
                match self.holder(path, after).filter(|_| replaceable) {
                    Some(Holder::Known) => ACCEPT,
                    Some(Holder::Clone { top }) => Verdict::CheckedOut { top },
                    None if before.is_some() && self.tracked.contains(path) => {
                        reject("a command changed it, and the repository held no such version when the session began")
                    }
                    None if before.is_some() => reject("a command may not write it (sandbox.protect)"),
                    None if kind == Kind::Hooks => {
                        reject("it appeared while a command ran, and git would run it as a hook")
                    }
                    None => reject(
                        "it appeared while a command ran, and programs outside the sandbox trust such a file (sandbox.protect)",
                    ),
                }
            }
        }
    }

    fn judge_removal(&self, path: &Path, before: Option<&Entry>) -> Verdict {
        let tracked = self.tracked.contains(path);
        let wanted = before.is_some_and(|before| (before.own || tracked) && !before.is_directory());
        // git removes a tracked file with its entry in the index: the commit that it checks out does not have the file.
        let by_git = || tracked && self.index_entry(path).is_none();
        // What is mounted cannot be removed, so it was moved with a directory above it.
        let moved = || self.mounted && self.place_of(path).is_none_or(|place| self.root.stamp(&place).is_none());
        if !wanted || by_git() || moved() { ACCEPT } else { reject("a command may not remove it (sandbox.protect)") }
    }

    fn judge_config(&self, path: &Path, before: Option<&Entry>, after: &Entry) -> Verdict {
        let Some(bytes) = after.bytes() else {
            let what = match &after.content {
                Content::Unknown(why) => why,
                _ => "is not a regular file",
            };
            return reject(format!("git's configuration {what}"));
        };
        let settings = match config::parse(bytes) {
            Ok(settings) => settings,
            Err(error) => return reject(format!("git cannot read line {} of what a command wrote", error.line)),
        };
        let known = before.and_then(Entry::bytes).and_then(|bytes| config::parse(bytes).ok()).unwrap_or_default();
        let gained = harmless::gained(&known, &settings, &|value| self.is_worktree(path, value));
        if gained.is_empty() {
            return Verdict::Accept { own: before.is_some_and(|before| before.own) };
        }
        reject(format!("a command may not set {}", gained.join(", ")))
    }

    /// Whether `core.worktree` in this configuration names a working tree in the scope that names this repository, as in a
    /// submodule.
    pub(super) fn is_worktree(&self, config: &Path, value: &[u8]) -> bool {
        let Some(git) = config.parent().map(|git| self.root.path().join(git)) else { return false };
        let top = lexical::normal(&git.join(path_of(value)));
        top.starts_with(self.root.path()) && Repository::at(&top).is_some_and(|repository| repository.git == git)
    }

    fn judge_pointer(&self, path: &Path, after: &Entry) -> Verdict {
        let directory = path.parent().unwrap_or(Path::new(""));
        let inside = |target: &Path| {
            let target = target.strip_prefix(self.root.path()).ok();
            target.is_some_and(|target| self.root.entry(target).is_none_or(|entry| entry.is_directory()))
        };
        let full = self.root.path().join(directory);
        let fine = match &after.content {
            Content::File { bytes, .. } if path.ends_with("commondir") => {
                path_of(bytes) == Path::new("../..")
                    && directory.parent().is_some_and(|above| above.ends_with("worktrees"))
            }
            Content::File { bytes, .. } => target(&full, bytes).is_none_or(|target| inside(&target)),
            Content::Link(target) => inside(&lexical::normal(&full.join(target))),
            Content::Directory | Content::Unknown(_) => false,
        };
        if fine { ACCEPT } else { reject("a command may not make git use a directory that is not watched") }
    }
}

/// The file is no longer executable, and otherwise the same.
fn has_lost_permission(before: &Entry, after: &Entry) -> bool {
    let executable = matches!(after.content, Content::File { executable: true, .. });
    !executable && before.bytes().is_some() && before.bytes() == after.bytes()
}

/// git installs samples of hooks, and runs none of them.
fn is_sample(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "sample")
}

/// What was moved aside in a directory that is protected as a whole.
fn is_aside(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let random = |rest: &str| {
        rest.is_empty()
            || rest.strip_prefix('-').is_some_and(|hex| hex.len() == 8 && hex.chars().all(|c| c.is_ascii_hexdigit()))
    };
    name.rsplit_once(".untrusted").is_some_and(|(_, rest)| random(rest))
}
