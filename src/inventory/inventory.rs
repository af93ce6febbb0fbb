use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::entry::{Content, Entry, Stamp};
use super::git::ObjectId;
use super::git::refs::{Which, tips};
use super::git::repository::Repository;
use super::git::{ObjectFormat, index};
use super::item::{Care, Item, Kind};
use super::report::{Report, Undone};
use super::root::Root;
use super::suspects::Suspects;
use super::tree::Tree;
use super::window::Window;
use crate::base::mounts;
use crate::base::protected_names::Names;

/// Everything protected below one directory of the scope, as it was last accepted.
#[derive(Debug)]
pub struct Inventory {
    pub(super) root: Root,
    pub(super) names: Arc<Names>,
    pub(super) home: Option<PathBuf>,
    /// Whether commands find the names that are not tracked mounted read-only.
    pub(super) mounted: bool,
    pub(super) tree: Tree,
    pub(super) items: BTreeMap<PathBuf, Item>,
    /// Directories that are looked at after every command.
    pub(super) near: BTreeSet<PathBuf>,
    /// Paths that git's configuration names, relative to the root.
    pub(super) hooks: HashSet<PathBuf>,
    pub(super) programs: HashSet<PathBuf>,
    pub(super) configs: HashSet<PathBuf>,
    /// The protected files that git tracked when they were first seen.
    pub(super) tracked: HashSet<PathBuf>,
    /// The repositories that existed when the inventory was begun, by their common directories, and what their references
    /// named then.
    pub(super) histories: HashMap<PathBuf, (ObjectFormat, Vec<ObjectId>)>,
    /// Content that the person trusts under a name, wherever the name stands.
    pub(super) trusted: HashSet<(PathBuf, Content)>,
    /// What was moved aside last, to keep one copy of it only.
    pub(super) moved: HashMap<PathBuf, Content>,
    pub(super) suspects: Suspects,
    /// What is new and has not been accepted yet: a look was patient, or could not undo it.
    pub(super) waiting: HashMap<PathBuf, Kind>,
    /// How long the search through histories may take in the look under way.
    pub(super) patience: Instant,
    /// Items that the walk under way has still to compare.
    open_items: Vec<PathBuf>,
    /// Directories that it has still to look at.
    open: Vec<PathBuf>,
}

const MOST_NEAR_ITEMS: usize = 256;
/// What a look at the near directories may spend on directories that have just come.
const NEW_DIRECTORIES: usize = 2_000;
const LONGEST_NEAR: Duration = Duration::from_millis(250);
const LONGEST_SEARCH: Duration = Duration::from_secs(5);

impl Inventory {
    /// Begins with everything that exists, which is taken to be the person's own, except for what has come while a command
    /// was at work. The walk goes on later if it is not finished `until` then.
    pub fn begin(
        root: &Path,
        names: Arc<Names>,
        home: Option<PathBuf>,
        mounted: bool,
        window: &Window,
        until: Instant,
    ) -> io::Result<(Self, Report)> {
        let mut inventory = Self {
            root: Root::open(root)?,
            names,
            home,
            mounted,
            tree: Tree::default(),
            items: BTreeMap::new(),
            near: BTreeSet::from([PathBuf::new()]),
            hooks: HashSet::new(),
            programs: HashSet::new(),
            configs: HashSet::new(),
            tracked: HashSet::new(),
            histories: HashMap::new(),
            trusted: HashSet::new(),
            moved: HashMap::new(),
            suspects: Suspects::default(),
            waiting: HashMap::new(),
            patience: until,
            open_items: Vec::new(),
            open: vec![PathBuf::new()],
        };
        if let Some(repository) = Repository::around(root).filter(|_| window.is_idle()) {
            inventory.remember(&repository);
            inventory.note_tracked(&repository);
        }
        let report = inventory.walk(window, until);
        Ok((inventory, report))
    }

    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// The paths that commands may not write, for the mounts of a keeper: what is the person's own and not tracked by git.
    pub fn locked(&self) -> Vec<PathBuf> {
        self.items.keys().flat_map(|path| self.locked_in(path)).collect()
    }

    /// Whether everything near at hand is as it was, as far as a few system calls can tell. Asked before and after every
    /// command.
    pub fn is_same_near(&self) -> bool {
        let is_same =
            |(path, item): (&PathBuf, &Item)| item.is_same(&self.root, path, self.care_for(path, Care::Stamps));
        self.waiting.is_empty()
            && self.near.iter().all(|path| self.tree.is_same(&self.root, path) || !self.root.answers(path))
            && self.items.iter().filter(|(path, _)| self.is_near(path)).all(is_same)
    }

    /// Whether an item is compared after every command: all of them, unless there are very many.
    fn is_near(&self, item: &Path) -> bool {
        self.items.len() <= MOST_NEAR_ITEMS || item.parent().is_none_or(|parent| self.near.contains(parent))
    }

    /// Takes everything near at hand to be the person's own. Returns what has to become read-only.
    pub fn accept_near(&mut self) -> Report {
        self.look_near(&Window::default())
    }

    /// Looks at the near directories and judges what has changed since a command may have been at work.
    pub fn look_near(&mut self, window: &Window) -> Report {
        self.patience = Instant::now() + LONGEST_SEARCH;
        let mut report = Report::default();
        let end = Instant::now() + LONGEST_NEAR;
        if !window.patient {
            self.suspects.clear();
        }
        if !window.is_idle() {
            self.check_waiting(window, &mut report);
        }
        // The shallow ones come first.
        let mut new = VecDeque::new();
        for path in self.near.iter().cloned().collect::<Vec<_>>() {
            new.extend(self.visit(&path, window, &mut report));
        }
        let mut visited = 0;
        while let Some(path) = new.pop_front().filter(|_| visited < NEW_DIRECTORIES && Instant::now() < end) {
            visited += 1;
            new.extend(self.visit(&path, window, &mut report));
        }
        let items: Vec<PathBuf> = self.items.keys().filter(|path| self.is_near(path)).cloned().collect();
        for path in items {
            self.check_item(&path, Care::Stamps, window, &mut report);
        }
        report
    }

    /// Walks on through the whole tree. Whether the walk is finished tells [`Inventory::walk_is_finished`].
    pub fn walk(&mut self, window: &Window, until: Instant) -> Report {
        self.patience = Instant::now() + LONGEST_SEARCH;
        let mut report = Report::default();
        loop {
            if let Some(path) = self.open_items.pop() {
                self.check_item(&path, Care::Contents, window, &mut report);
            } else if let Some(path) = self.open.pop() {
                self.visit(&path, window, &mut report);
                let below = self.tree.children(&path).into_iter().map(|name| path.join(name));
                self.open.extend(below);
            } else {
                return report;
            }
            if Instant::now() > until {
                return report;
            }
        }
    }

    pub fn walk_is_finished(&self) -> bool {
        self.open_items.is_empty() && self.open.is_empty()
    }

    /// Begins a new walk, which compares every item thoroughly first.
    pub fn begin_walk(&mut self, window: &Window) -> Report {
        self.patience = Instant::now() + LONGEST_SEARCH;
        let mut report = Report::default();
        self.check_waiting(window, &mut report);
        self.open_items = self.items.keys().rev().cloned().collect();
        self.open = vec![PathBuf::new()];
        report
    }

    /// Whether a patient look has left something for the next one.
    pub fn has_suspects(&self) -> bool {
        !self.suspects.is_empty()
    }

    /// A file was written with the person's permission: it is accepted as it is.
    pub fn written(&mut self, path: &Path) -> Report {
        let mut report = Report::default();
        let Ok(relative) = path.strip_prefix(self.root.path()) else { return report };
        let above: Vec<PathBuf> = relative.ancestors().skip(1).map(Path::to_owned).collect();
        let known = above.iter().chain([&relative.to_owned()]).find(|path| self.items.contains_key(*path)).cloned();
        if let Some(known) = known {
            let entry = self.root.entry(relative).map(|entry| Entry { own: true, ..entry });
            self.trust(relative, entry.as_ref());
            if let Some(item) = self.items.get_mut(&known) {
                item.accept(relative, entry);
            }
            report.protect.extend(self.locked_in(&known));
            return report;
        }
        self.visit_only(relative, &Window::default(), &mut report);
        report
    }

    /// The person wants what was undone.
    pub fn take_over(&mut self, undone: &Undone) -> io::Result<Report> {
        match (&undone.aside, &undone.found[..]) {
            (aside, [(path, entry)]) if !entry.is_directory() => {
                self.root.replace(path, entry, false)?;
                if let Some(aside) = aside {
                    let _ = self.root.remove_file(aside);
                }
            }
            (Some(aside), _) => self.root.move_back(aside, &undone.relative)?,
            (None, _) => return Err(io::ErrorKind::NotFound.into()),
        }
        let mut report = Report::default();
        for (path, entry) in &undone.found {
            self.trust(path, Some(entry));
        }
        self.moved.remove(&undone.relative);
        // Found again, it is compared with what the person was shown: the same content is trusted now, other is not.
        let window = &Window::since(SystemTime::UNIX_EPOCH);
        match self.items.keys().find(|path| undone.relative.starts_with(path)).cloned() {
            Some(item) => self.check_item(&item, Care::Contents, window, &mut report),
            None => self.visit_only(&undone.relative, window, &mut report),
        }
        for (path, _) in &undone.found {
            if let Some(entry) = self.items.values_mut().find_map(|item| item.entries.get_mut(path)) {
                entry.own = true;
            }
        }
        Ok(report)
    }

    /// The window goes back to when the items were found.
    fn check_waiting(&mut self, window: &Window, report: &mut Report) {
        for (path, kind) in std::mem::take(&mut self.waiting) {
            if !self.items.contains_key(&path) {
                self.check_new(&path, kind, window, report);
            }
        }
    }

    /// No command has run yet, so what the repositories hold by now is the person's own too.
    pub fn first_command_starts(&mut self) {
        let known: Vec<PathBuf> = std::mem::take(&mut self.histories).into_keys().collect();
        for common in known {
            self.remember(&Repository { top: common.clone(), git: common.clone(), common });
        }
    }

    /// Remembers what the references of a repository name now.
    pub(super) fn remember(&mut self, repository: &Repository) {
        if !self.histories.contains_key(&repository.common) {
            let format = repository.format();
            let found = tips(&repository.common, format, Which::All);
            self.histories.insert(repository.common.clone(), (format, found));
        }
    }

    /// Notes which protected files git tracks.
    pub(super) fn note_tracked(&mut self, repository: &Repository) {
        let Self { root, names, hooks, programs, configs, tracked, .. } = self;
        index::read(&repository.git, repository.format(), |entry| {
            let path = repository.top.join(OsStr::from_bytes(entry.path));
            let Ok(path) = path.strip_prefix(root.path()) else { return };
            let named = || path.ancestors().any(|above| hooks.contains(above));
            if names.protecting(path).is_some() || programs.contains(path) || configs.contains(path) || named() {
                tracked.insert(path.to_owned());
            }
        });
    }

    /// The parts of an item that commands find read-only: the largest ones in which git tracks nothing.
    pub(super) fn locked_in(&self, path: &Path) -> Vec<PathBuf> {
        let Some(item) = self.items.get(path) else { return Vec::new() };
        if !matches!(item.kind, Kind::Name | Kind::Hooks) {
            return Vec::new();
        }
        let open = |path: &Path| {
            item.entries.iter().any(|(entry, known)| {
                entry.starts_with(path) && (self.tracked.contains(entry) || !known.own && !known.is_directory())
            })
        };
        let mut locked: Vec<PathBuf> = Vec::new();
        for entry in item.entries.keys().filter(|entry| !open(entry)) {
            if !locked.iter().any(|outer| entry.starts_with(outer)) {
                locked.push(entry.clone());
            }
        }
        locked.into_iter().map(|path| self.root.path().join(path)).collect()
    }

    /// How closely an item has to be compared after a command.
    pub(super) fn care_for(&self, path: &Path, care: Care) -> Care {
        let locked = self.mounted && self.items.get(path).is_some_and(|item| item.locked);
        if locked && care == Care::Stamps { Care::Identity } else { care }
    }

    /// Notes whether an item is mounted as a whole.
    pub(super) fn note_locked(&mut self, path: &Path) {
        let locked = self.locked_in(path) == [self.root.path().join(path)];
        if let Some(item) = self.items.get_mut(path) {
            item.locked = locked;
        }
    }

    /// Whether a command can have made a change. `replaced` says that the path names another file than before.
    pub(super) fn is_covered(&self, path: &Path, now: Option<&Stamp>, replaced: bool, window: &Window) -> bool {
        // The clock of another machine may be ahead of ours.
        let exact = now.filter(|_| !mounts::may_hang(self.root.path()));
        let earliest = exact.map_or(SystemTime::UNIX_EPOCH, Stamp::changed_after);
        window.covers(earliest, self.arrived(path, now, replaced))
    }

    /// When something can have come to a path, at the latest. `replaced` says that the path names another file than before.
    fn arrived(&self, path: &Path, now: Option<&Stamp>, replaced: bool) -> SystemTime {
        let parent = path.parent().unwrap_or(Path::new(""));
        let mut latest = self.tree.arrived(parent).max(now.map_or(SystemTime::UNIX_EPOCH, Stamp::changed));
        if replaced || now.is_none() {
            // Inside an item the tree knows no directories, so all of them count.
            for directory in parent.ancestors() {
                let stamp = self.root.stamp(directory);
                latest = latest.max(stamp.map_or(SystemTime::UNIX_EPOCH, |stamp| stamp.changed()));
                if stamp.is_some() && self.tree.knows(directory) {
                    break;
                }
            }
        }
        latest
    }
}
