//! Checks the protected names after a command. A file that existed before keeps its content; a file that the command
//! planted is moved aside; a git configuration that would make git run a program is put back.
//!
//! At level `full` the protected names that exist are read-only mounts, so the sentry looks for new ones only. Without
//! mounts it remembers their content and puts that back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::beneath::Place;
use super::git_config;
use super::repair::{Rewrite, move_aside};
use super::snapshot::{Snapshot, Stamp, stamp};
use super::walk::{self, Found};
use crate::base::mounts;
use crate::base::protected_names::Names;

#[derive(Debug)]
pub struct Sentry {
    names: Arc<Names>,
    roots: Vec<PathBuf>,
    /// The protected names that exist, with their content if no mount protects them.
    known: BTreeMap<PathBuf, Option<Snapshot>>,
    /// The configuration files of all repositories.
    configs: BTreeMap<PathBuf, Config>,
    repositories: BTreeSet<PathBuf>,
    mounted: bool,
}

/// A git configuration file, as the sentry last accepted it.
#[derive(Clone, Debug, Default)]
struct Config {
    text: Option<Vec<u8>>,
    stamp: Option<Stamp>,
}

/// The result of a check.
#[derive(Debug, Default, Eq, PartialEq)]
pub struct Report {
    /// For the agent: which files were put back or moved, and why.
    pub notes: Vec<String>,
    /// Protected names that are new, and have to become read-only.
    pub protect: Vec<PathBuf>,
}

/// Where to look for new protected names.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reach {
    /// In the roots themselves and in every known repository.
    Near,
    /// In every directory below the roots.
    Everywhere,
}

/// A walk that takes longer stops, and sees only a part of the tree.
const LONGEST_WALK: Duration = Duration::from_secs(5);
/// The configuration files of a repository.
const CONFIGS: [&str; 2] = ["config", "config.worktree"];

/// For each root, what a walk through it found. Several sentries can share it.
pub type Walked = Vec<(PathBuf, Found)>;

pub fn walk_through(roots: &[PathBuf], names: &Names) -> Walked {
    let until = Instant::now() + LONGEST_WALK;
    roots.iter().map(|root| (root.clone(), walk::walk(root, names, until))).collect()
}

impl Sentry {
    /// Takes everything that the walk found to be the person's own.
    pub fn new(names: Arc<Names>, roots: Vec<PathBuf>, mounted: bool, walked: &Walked) -> Self {
        let (known, configs, repositories) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        let mut sentry = Self { names, roots, known, configs, repositories, mounted };
        sentry.accept_all(walked);
        sentry
    }

    pub fn roots(&self) -> &[PathBuf] {
        &self.roots
    }

    /// The protected names that exist. A new keeper makes them read-only.
    pub fn protected(&self) -> Vec<PathBuf> {
        self.known.keys().cloned().collect()
    }

    /// Checks after a command. `since` is when the first command started that no check has covered yet.
    pub fn check(&mut self, since: SystemTime, reach: Reach) -> Report {
        let looked = self.look(reach);
        self.check_walked(since, &looked)
    }

    /// As [`Sentry::check`], with the result of a walk that began after the command.
    pub fn check_walked(&mut self, since: SystemTime, walked: &Walked) -> Report {
        let mut report = Report::default();
        self.check_configs(&mut report);
        self.check_contents(&mut report);
        for (root, found) in walked {
            for git in &found.repositories {
                self.check_repository(root, git.clone(), since, &mut report);
            }
            // The sentry of another session may have moved the file aside since the walk.
            let exists = |path: &&PathBuf| path.symlink_metadata().is_ok();
            for path in found.protected.iter().filter(exists) {
                if !self.known.contains_key(path) {
                    self.check_new(root, path.clone(), since, &mut report);
                }
            }
        }
        self.known.retain(|path, _| !mounts::answers(path) || path.symlink_metadata().is_ok());
        report
    }

    /// Takes everything that exists now to be the person's own.
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
        // A symbolic link cannot be a mount point, so the sentry remembers it at every level.
        let content = (!self.mounted || path.is_symlink()).then(|| Snapshot::of(&path));
        self.known.insert(path, content);
    }

    /// Accepts a file, given by its real path, that was written with permission. Returns the protected names that now have
    /// to become read-only.
    pub fn written(&mut self, path: &Path) -> Vec<PathBuf> {
        let root = self.root_of(path);
        if let Some(config) = self.configs.get_mut(path) {
            *config = Config { stamp: stamp_of(path), text: read(&root, path) };
        }
        let name = path.strip_prefix(&root).ok().and_then(|relative| self.names.standing(relative));
        let Some(name) = name.map(|name| root.join(name)) else { return Vec::new() };
        // Replacing a file by a rename removes the mount over it, so a file has to be mounted again.
        let unmounted = !self.known.contains_key(&name) || !name.is_dir();
        self.trust(name.clone());
        if unmounted { vec![name] } else { Vec::new() }
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

    /// Checks a protected name that did not exist before.
    fn check_new(&mut self, root: &Path, path: PathBuf, since: SystemTime, report: &mut Report) {
        if path.ends_with("hooks") {
            // git itself creates this directory, with samples in it, so only other files in it are suspect.
            for hook in planted_hooks(&path, since) {
                report.notes.push(move_aside(root, &hook, "a command may not create a git hook"));
            }
        } else if born(&path) >= since {
            let because = "a command may not create a file that programs outside the sandbox trust (sandbox.protect)";
            return report.notes.push(move_aside(root, &path, because));
        }
        self.trust(path.clone());
        report.protect.push(path);
    }

    fn check_repository(&mut self, root: &Path, git: PathBuf, since: SystemTime, report: &mut Report) {
        let commondir = git.join("commondir");
        // This file makes git take hooks and configuration from another directory.
        if commondir.symlink_metadata().is_ok() && born(&commondir) >= since {
            let because = "a command may not make git use the hooks and configuration of another directory";
            report.notes.push(move_aside(root, &commondir, because));
        }
        if self.repositories.contains(&git) {
            return;
        }
        for path in CONFIGS.map(|name| git.join(name)) {
            let Some(text) = read(root, &path) else { continue };
            let written = String::from_utf8_lossy(&text);
            if !matches!(git_config::gained("", &written), Ok(gained) if gained.is_empty()) && born(&path) >= since {
                let stripped = git_config::harmless(&written);
                report.notes.push(Rewrite::Strip.apply(root, &path, stripped.as_bytes()));
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

    /// git writes these files in ordinary work, so only a change that makes git run a program is undone.
    fn check_configs(&mut self, report: &mut Report) {
        let changed = |(path, config): (&PathBuf, &Config)| (stamp_of(path) != config.stamp).then(|| path.clone());
        let answering = self.configs.iter().filter(|(path, _)| mounts::answers(path));
        for path in answering.filter_map(changed).collect::<Vec<_>>() {
            let root = self.root_of(&path);
            let stamp = stamp_of(&path);
            let Some(now) = read(&root, &path) else { continue };
            let before = self.configs.get(&path).and_then(|config| config.text.clone()).unwrap_or_default();
            let because = match git_config::gained(&String::from_utf8_lossy(&before), &String::from_utf8_lossy(&now)) {
                Ok(gained) if gained.is_empty() => None,
                Ok(gained) => {
                    let names: Vec<&str> = gained.iter().map(|setting| setting.name.as_str()).collect();
                    Some(format!("a command may not set {}", names.join(", ")))
                }
                Err(line) => Some(format!("git cannot read line {line} of what a command wrote")),
            };
            match because {
                None => drop(self.configs.insert(path, Config { text: Some(now), stamp })),
                Some(because) => {
                    report.notes.push(Rewrite::Undo { because: &because }.apply(&root, &path, &before));
                    let stamp = stamp_of(&path);
                    self.configs.insert(path, Config { text: Some(before), stamp });
                }
            }
        }
    }

    fn check_contents(&mut self, report: &mut Report) {
        for (path, content) in self.known.iter().filter(|(path, _)| mounts::answers(path)) {
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

fn planted_hooks(hooks: &Path, since: SystemTime) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(hooks) else { return Vec::new() };
    let planted = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        !name.ends_with(".sample") && !name.contains(".untrusted") && born(path) >= since
    };
    entries.flatten().map(|entry| entry.path()).filter(planted).collect()
}

/// When a file got its name, as far as the file system knows: its last change, which includes a rename.
fn born(path: &Path) -> SystemTime {
    use std::os::unix::fs::MetadataExt;
    let Ok(metadata) = path.symlink_metadata() else { return SystemTime::UNIX_EPOCH };
    let changed =
        Duration::new(metadata.ctime().try_into().unwrap_or(0), metadata.ctime_nsec().try_into().unwrap_or(0));
    // The kernel stamps files with a clock that lags by up to one tick, so a file could seem older than the command that
    // created it.
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

        /// Writes until the file's stamp has changed: two writes within one tick of the kernel's clock look the same.
        fn write(&self, name: &str, text: &str) {
            let path = self.root.join(name);
            let before = stamp_of(&path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            while stamp_of(&path) == before {
                std::fs::write(&path, text).unwrap();
            }
        }

        fn read(&self, name: &str) -> Option<String> {
            std::fs::read_to_string(self.root.join(name)).ok()
        }

        /// A sentry that has seen the scene, and the time at which a command starts now.
        fn sentry(&self, mounted: bool) -> (Sentry, SystemTime) {
            let names = Names::new(&[".git/hooks", ".envrc", ".claude", ".vscode/tasks.json"].map(str::to_owned));
            let (names, roots) = (Arc::new(names), vec![self.root.clone()]);
            let walked = walk_through(&roots, &names);
            (Sentry::new(names, roots, mounted, &walked), SystemTime::now())
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
        let path = scene.root.join(".envrc");
        let next_command = born(&path) + Duration::from_nanos(1);
        let report = sentry.check(next_command, Reach::Near);
        assert_eq!(report, Report { notes: vec![], protect: vec![path] });
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
