//! Looks after protected names when a command has ended: what stood before is as it was, what a command planted is moved
//! aside, what git may be made to run through its configuration is put back.
//!
//! At level `full` the names that stand are read-only mounts, and only new ones have to be looked for. Without mounts
//! their content is remembered and put back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::beneath::Place;
use super::git_config;
use super::snapshot::{Snapshot, Stamp, stamp};
use super::walk::{self, Found};
use crate::base::protected_names::Names;

#[derive(Debug)]
pub struct Sentry {
    names: Arc<Names>,
    roots: Vec<PathBuf>,
    /// Protected names that stand, with their content where no mount protects them.
    known: BTreeMap<PathBuf, Option<Snapshot>>,
    /// git's configuration files.
    configs: BTreeMap<PathBuf, Config>,
    repositories: BTreeSet<PathBuf>,
    mounted: bool,
}

/// A configuration file as it was last accepted.
#[derive(Clone, Debug, Default)]
struct Config {
    text: Option<Vec<u8>>,
    stamp: Option<Stamp>,
}

/// What came of a look.
#[derive(Debug, Default, Eq, PartialEq)]
pub struct Report {
    /// For the agent: what was put back or moved, and why.
    pub notes: Vec<String>,
    /// Names that stand now and shall not be written from now on.
    pub protect: Vec<PathBuf>,
}

/// How far to look.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reach {
    /// The roots themselves and every repository that is known.
    Near,
    /// Everything below the roots.
    Everywhere,
}

/// A tree that takes longer is looked through in part, and the rest with the next sweep.
const LONGEST_WALK: Duration = Duration::from_secs(5);
/// Files of a repository that hold configuration.
const CONFIGS: [&str; 2] = ["config", "config.worktree"];

/// What a walk through every root has found; any number of sentries can use it.
pub type Walked = Vec<(PathBuf, Found)>;

pub fn walk_through(roots: &[PathBuf], names: &Names) -> Walked {
    let until = Instant::now() + LONGEST_WALK;
    roots.iter().map(|root| (root.clone(), walk::walk(root, names, until))).collect()
}

impl Sentry {
    /// What was found is the person's own.
    pub fn new(names: Arc<Names>, roots: Vec<PathBuf>, mounted: bool, walked: &Walked) -> Self {
        let (known, configs, repositories) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        let mut sentry = Self { names, roots, known, configs, repositories, mounted };
        sentry.accept_all(walked);
        sentry
    }

    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// Names that shall be read-only from the start.
    pub fn protected(&self) -> Vec<PathBuf> {
        self.known.keys().cloned().collect()
    }

    /// After a command; `since` is when the first one that is not accounted for began.
    pub fn check(&mut self, since: SystemTime, reach: Reach) -> Report {
        let looked = self.look(reach);
        self.check_walked(since, &looked)
    }

    /// The same, by what a walk found that began after the command.
    pub fn check_walked(&mut self, since: SystemTime, walked: &Walked) -> Report {
        let mut report = Report::default();
        self.check_configs(&mut report);
        self.check_contents(&mut report);
        for (root, found) in walked {
            for git in &found.repositories {
                self.meet_repository(root, git.clone(), since, &mut report);
            }
            // Another session's sentry may have moved it aside meanwhile.
            let stands = |path: &&PathBuf| path.symlink_metadata().is_ok();
            for path in found.protected.iter().filter(stands) {
                if !self.known.contains_key(path) {
                    self.meet(root, path.clone(), since, &mut report);
                }
            }
        }
        self.known.retain(|path, _| path.symlink_metadata().is_ok());
        report
    }

    /// What stands now is as it should be, wherever it came from.
    pub fn accept(&mut self, reach: Reach) {
        let looked = self.look(reach);
        self.accept_all(&looked);
    }

    fn accept_all(&mut self, walked: &Walked) {
        for (_, found) in walked {
            found.protected.iter().for_each(|path| self.trust(path.clone()));
            found.repositories.iter().for_each(|git| self.add_repository(git.clone()));
        }
    }

    fn trust(&mut self, path: PathBuf) {
        // A link cannot be covered by a mount, so it is remembered in any case.
        let content = (!self.mounted || path.is_symlink()).then(|| Snapshot::of(&path));
        self.known.insert(path, content);
    }

    /// A file that somebody was allowed to write, by its real path; the names that have to be made read-only for it.
    pub fn written(&mut self, path: &Path) -> Vec<PathBuf> {
        let root = self.root_of(path);
        if let Some(config) = self.configs.get_mut(path) {
            *config = Config { stamp: stamp_of(path), text: read(&root, path) };
        }
        let name = path.strip_prefix(&root).ok().and_then(|relative| self.names.standing(relative));
        let Some(name) = name.map(|name| root.join(name)) else { return Vec::new() };
        // A mount over a file goes with the file when another takes its place.
        let open = !self.known.contains_key(&name) || !name.is_dir();
        self.trust(name.clone());
        if open { vec![name] } else { Vec::new() }
    }

    fn look(&self, reach: Reach) -> Walked {
        if reach == Reach::Everywhere {
            return walk_through(&self.roots, &self.names);
        }
        let mut all = Vec::new();
        for root in &self.roots {
            let trees = self.repositories.iter().filter_map(|git| git.parent()).filter(|tree| tree.starts_with(root));
            let places: BTreeSet<&Path> = trees.chain([root.as_path()]).collect();
            all.extend(places.into_iter().map(|place| (root.clone(), walk::look_at(place, &self.names))));
        }
        all
    }

    /// A protected name that was not there before.
    fn meet(&mut self, root: &Path, path: PathBuf, since: SystemTime, report: &mut Report) {
        if path.ends_with("hooks") {
            // git makes the directory itself, with samples in it.
            for hook in planted_hooks(&path, since) {
                move_aside(root, &hook, "a command may not plant a git hook", report);
            }
        } else if born(&path) >= since {
            move_aside(root, &path, "a command may not plant what runs outside later (sandbox.protect)", report);
            return;
        }
        self.trust(path.clone());
        report.protect.push(path);
    }

    fn meet_repository(&mut self, root: &Path, git: PathBuf, since: SystemTime, report: &mut Report) {
        let commondir = git.join("commondir");
        // It would send git to another directory for hooks and configuration.
        if commondir.symlink_metadata().is_ok() && born(&commondir) >= since {
            move_aside(root, &commondir, "a command may not redirect a repository", report);
        }
        if self.repositories.contains(&git) {
            return;
        }
        for path in CONFIGS.map(|name| git.join(name)) {
            let Some(text) = read(root, &path) else { continue };
            let written = String::from_utf8_lossy(&text);
            if !matches!(git_config::gained("", &written), Ok(gained) if gained.is_empty()) && born(&path) >= since {
                put_back(root, &path, git_config::harmless(&written).as_bytes(), report, "taken out of");
            }
        }
        self.add_repository(git);
    }

    fn add_repository(&mut self, git: PathBuf) {
        let root = self.root_of(&git);
        for path in CONFIGS.map(|name| git.join(name)) {
            let config = Config { stamp: stamp_of(&path), text: read(&root, &path) };
            self.configs.insert(path, config);
        }
        self.repositories.insert(git);
    }

    /// git writes these in ordinary work; only what makes it run something is put back.
    fn check_configs(&mut self, report: &mut Report) {
        let changed = |(path, config): (&PathBuf, &Config)| (stamp_of(path) != config.stamp).then(|| path.clone());
        for path in self.configs.iter().filter_map(changed).collect::<Vec<_>>() {
            let root = self.root_of(&path);
            let stamp = stamp_of(&path);
            let Some(now) = read(&root, &path) else { continue };
            let before = self.configs.get(&path).and_then(|config| config.text.clone()).unwrap_or_default();
            let refused = match git_config::gained(&String::from_utf8_lossy(&before), &String::from_utf8_lossy(&now)) {
                Ok(gained) if gained.is_empty() => None,
                Ok(gained) => Some(gained.iter().map(|setting| setting.name.clone()).collect::<Vec<_>>().join(", ")),
                Err(line) => Some(format!("line {line}, which git cannot read,")),
            };
            match refused {
                None => drop(self.configs.insert(path, Config { text: Some(now), stamp })),
                Some(names) => {
                    let what = format!("a command may not set {names}; what it did to the file was undone in");
                    put_back(&root, &path, &before, report, &what);
                    let stamp = stamp_of(&path);
                    self.configs.insert(path, Config { text: Some(before), stamp });
                }
            }
        }
    }

    fn check_contents(&mut self, report: &mut Report) {
        for (path, content) in &self.known {
            let Some(content) = content else { continue };
            let root = self.roots.iter().find(|root| path.starts_with(root)).cloned().unwrap_or_default();
            report.notes.extend(content.restore(&root, path));
        }
    }

    fn root_of(&self, path: &Path) -> PathBuf {
        self.roots.iter().find(|root| path.starts_with(root)).cloned().unwrap_or_default()
    }
}

fn stamp_of(path: &Path) -> Option<Stamp> {
    path.symlink_metadata().ok().map(|metadata| stamp(&metadata))
}

fn read(root: &Path, path: &Path) -> Option<Vec<u8>> {
    Place::find(root, path).and_then(|place| place.read()).ok()
}

fn put_back(root: &Path, path: &Path, content: &[u8], report: &mut Report, what: &str) {
    let done = Place::find(root, path).and_then(|place| place.replace(content, 0o644));
    let shown = path.strip_prefix(root).unwrap_or(path).display();
    report.notes.push(match done {
        Ok(()) if what == "taken out of" => format!("what makes git run something was taken out of {shown}"),
        Ok(()) => format!("{what} {shown}"),
        Err(error) => format!("{what} {shown}, but it could not be put back: {error}"),
    });
}

fn move_aside(root: &Path, path: &Path, why: &str, report: &mut Report) {
    let shown = path.strip_prefix(root).unwrap_or(path).display();
    report.notes.push(match Place::find(root, path).and_then(|place| place.move_aside()) {
        Ok(name) => format!("{shown} was moved to {}: {why}", name.display()),
        Err(error) => format!("{shown} could not be moved aside ({error}): {why}"),
    });
}

fn planted_hooks(hooks: &Path, since: SystemTime) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(hooks) else { return Vec::new() };
    let planted = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        !name.ends_with(".sample") && !name.contains(".untrusted") && born(path) >= since
    };
    entries.flatten().map(|entry| entry.path()).filter(planted).collect()
}

/// When a file came to be under its name, as well as the file system knows; a rename counts.
fn born(path: &Path) -> SystemTime {
    use std::os::unix::fs::MetadataExt;
    let Ok(metadata) = path.symlink_metadata() else { return SystemTime::UNIX_EPOCH };
    let changed =
        Duration::new(metadata.ctime().try_into().unwrap_or(0), metadata.ctime_nsec().try_into().unwrap_or(0));
    // One tick of the kernel's coarse clock in favour of caution.
    SystemTime::UNIX_EPOCH + changed + Duration::from_millis(20)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Scene {
        _world: tempfile::TempDir,
        root: PathBuf,
    }

    impl Scene {
        fn new(files: &[(&str, &str)]) -> Self {
            let world = tempfile::tempdir().unwrap();
            let root = world.path().canonicalize().unwrap();
            let scene = Self { _world: world, root };
            files.iter().for_each(|(name, text)| scene.write(name, text));
            scene
        }

        fn write(&self, name: &str, text: &str) {
            std::fs::create_dir_all(self.root.join(name).parent().unwrap()).unwrap();
            std::fs::write(self.root.join(name), text).unwrap();
        }

        fn read(&self, name: &str) -> Option<String> {
            std::fs::read_to_string(self.root.join(name)).ok()
        }

        fn sentry(&self, mounted: bool) -> (Sentry, SystemTime) {
            let names = Names::new(&[".git/hooks", ".envrc", ".claude", ".vscode/tasks.json"].map(str::to_owned));
            let (names, roots) = (Arc::new(names), vec![self.root.clone()]);
            let walked = walk_through(&roots, &names);
            let sentry = Sentry::new(names, roots, mounted, &walked);
            std::thread::sleep(Duration::from_millis(50));
            (sentry, SystemTime::now())
        }
    }

    #[test]
    fn what_a_command_plants_is_moved_aside_near_and_far() {
        let scene = Scene::new(&[("far/away/f", "")]);
        let (mut sentry, since) = scene.sentry(true);
        scene.write(".envrc", "evil");
        scene.write(".vscode/tasks.json", "evil");
        scene.write("far/away/.claude/settings.json", "evil");
        let near = sentry.check(since, Reach::Near);
        assert_eq!(near.notes.len(), 2, "{near:?}");
        assert_eq!((scene.read(".envrc"), scene.read(".envrc.untrusted")), (None, Some("evil".to_owned())));
        assert_eq!(scene.read(".vscode/tasks.json"), None);
        let far = sentry.check(since, Reach::Everywhere);
        assert_eq!(far.notes.len(), 1, "{far:?}");
        assert_eq!(scene.read("far/away/.claude.untrusted/settings.json"), Some("evil".to_owned()));
    }

    #[test]
    fn what_a_person_adds_between_commands_is_protected_from_then_on() {
        let scene = Scene::new(&[]);
        let (mut sentry, _) = scene.sentry(true);
        scene.write(".envrc", "mine");
        std::thread::sleep(Duration::from_millis(50));
        let report = sentry.check(SystemTime::now(), Reach::Near);
        assert_eq!(report, Report { notes: vec![], protect: vec![scene.root.join(".envrc")] });
        assert_eq!(scene.read(".envrc"), Some("mine".to_owned()));
    }

    #[test]
    fn a_new_repository_is_protected_with_its_samples_and_without_its_tricks() {
        let scene = Scene::new(&[]);
        let (mut sentry, since) = scene.sentry(true);
        scene.write("sub/.git/hooks/pre-commit.sample", "sample");
        scene.write("sub/.git/hooks/pre-commit", "evil");
        scene.write("sub/.git/config", "[core]\n\tbare = false\n\tfsmonitor = evil\n");
        scene.write("sub/.git/commondir", "../evil");
        let report = sentry.check(since, Reach::Everywhere);
        assert_eq!(report.protect, [scene.root.join("sub/.git/hooks")]);
        assert_eq!(scene.read("sub/.git/hooks/pre-commit"), None);
        assert_eq!(scene.read("sub/.git/hooks/pre-commit.sample"), Some("sample".to_owned()));
        assert_eq!(scene.read("sub/.git/config"), Some("[core]\n\tbare = false\n".to_owned()));
        assert_eq!(scene.read("sub/.git/commondir"), None);
        assert_eq!(report.notes.len(), 3, "{:?}", report.notes);
    }

    #[test]
    fn gits_configuration_may_change_but_not_learn_to_run_things() {
        let before = "[core]\n\tbare = false\n";
        let scene = Scene::new(&[(".git/config", before), (".git/hooks/x.sample", "")]);
        let (mut sentry, since) = scene.sentry(true);
        let ordinary = format!("{before}[branch \"m\"]\n\tremote = o\n");
        scene.write(".git/config", &ordinary);
        assert_eq!(sentry.check(since, Reach::Near), Report::default());
        scene.write(".git/config", &format!("{ordinary}[alias]\n\tst = !evil\n"));
        let report = sentry.check(since, Reach::Near);
        assert!(report.notes[0].contains("alias.st") && report.notes[0].contains(".git/config"), "{report:?}");
        assert_eq!(scene.read(".git/config"), Some(ordinary.clone()));
        scene.write(".git/config", "[broken");
        assert_eq!(sentry.check(since, Reach::Near).notes.len(), 1);
        assert_eq!(scene.read(".git/config"), Some(ordinary));
    }

    #[test]
    fn without_mounts_the_content_is_put_back() {
        let scene = Scene::new(&[(".git/hooks/pre-commit", "mine"), (".git/config", ""), (".envrc", "mine")]);
        let (mut sentry, since) = scene.sentry(false);
        scene.write(".git/hooks/pre-commit", "evil");
        scene.write(".git/hooks/post-commit", "evil");
        std::fs::remove_file(scene.root.join(".envrc")).unwrap();
        let report = sentry.check(since, Reach::Near);
        assert_eq!(scene.read(".git/hooks/pre-commit"), Some("mine".to_owned()));
        assert_eq!(scene.read(".git/hooks/post-commit"), None);
        assert_eq!(scene.read(".envrc"), Some("mine".to_owned()));
        assert_eq!(report.notes.len(), 3, "{report:?}");
    }
}
