use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::entry::TICK;
use super::git::tests::Repository;
use super::{Inventory, Report, Undone, Window};
use crate::base::protected_names::Names;

/// A project, and the inventory of it.
struct Scene {
    repository: Repository,
    inventory: Inventory,
    since: SystemTime,
}

impl Scene {
    /// The inventory begins after `prepare`. A command starts right after that.
    fn new(mounted: bool, prepare: impl FnOnce(&Repository)) -> Self {
        let repository = Repository::new();
        prepare(&repository);
        let names = [".git/hooks", ".envrc", ".claude", ".vscode/tasks.json"].map(str::to_owned);
        let root = repository.path().canonicalize().unwrap();
        let until = Instant::now() + Duration::from_mins(1);
        let begun = Inventory::begin(&root, Arc::new(Names::new(&names)), None, mounted, &Window::default(), until);
        let (inventory, report) = begun.unwrap();
        assert!(report.undone.is_empty() && inventory.walk_is_finished());
        Self { repository, inventory, since: SystemTime::now() }
    }

    fn window(&self) -> Window {
        Window::since(self.since)
    }

    fn near(&mut self) -> Vec<String> {
        let window = self.window();
        said(&self.inventory.look_near(&window))
    }

    fn everywhere(&mut self) -> Vec<String> {
        let window = self.window();
        self.walk(&window)
    }

    fn walk(&mut self, window: &Window) -> Vec<String> {
        let mut report = self.inventory.begin_walk(window);
        // In steps as small as possible: a walk goes on where it stopped.
        while !self.inventory.walk_is_finished() {
            report.add(self.inventory.walk(window, Instant::now()));
        }
        said(&report)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.repository.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        self.repository.write(name, text);
    }

    fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path(name)).ok()
    }
}

fn said(report: &Report) -> Vec<String> {
    let undone = report.undone.iter().map(Undone::note);
    report.notes().into_iter().chain(undone).collect()
}

#[test]
fn what_is_planted_is_moved_aside_near_and_far() {
    let mut scene = Scene::new(true, |repository| repository.write("far/away/f", ""));
    scene.write(".envrc", "evil");
    scene.write(".vscode/tasks.json", "evil");
    assert_eq!(scene.near().len(), 2);
    assert_eq!((scene.read(".envrc"), scene.read(".envrc.untrusted")), (None, Some("evil".to_owned())));
    assert_eq!(scene.read(".vscode/tasks.json"), None);
    scene.write("far/away/.claude/settings.json", "evil");
    assert_eq!(scene.near(), Vec::<String>::new());
    assert_eq!(scene.everywhere().len(), 1);
    assert_eq!(scene.read("far/away/.claude.untrusted/settings.json"), Some("evil".to_owned()));
    assert_eq!(scene.everywhere(), Vec::<String>::new());
}

#[test]
fn what_comes_between_commands_is_the_persons_own_and_locked_from_then_on() {
    let mut scene = Scene::new(true, |_| {});
    scene.write(".envrc", "mine");
    scene.write(".git/config", "[alias]\n\tx = !mine\n");
    let report = scene.inventory.accept_near();
    assert_eq!(report.protect, [scene.path(".envrc").canonicalize().unwrap()]);
    scene.since = SystemTime::now();
    assert_eq!(scene.everywhere(), Vec::<String>::new());
    // Far away it is recognised by its age.
    let mut scene = Scene::new(true, |repository| repository.write("far/f", ""));
    scene.write("far/.envrc", "mine");
    while SystemTime::now() < scene.path("far").metadata().unwrap().modified().unwrap() + 2 * TICK {
        std::thread::yield_now();
    }
    scene.since = SystemTime::now();
    scene.write("unrelated", "");
    assert_eq!(scene.everywhere(), Vec::<String>::new());
    assert_eq!(scene.read("far/.envrc"), Some("mine".to_owned()));
}

/// The age of a file is not the age of its place.
#[test]
fn an_old_directory_under_a_new_name_is_new() {
    let mut scene = Scene::new(true, |repository| {
        repository.write("old/tasks.json", "evil");
        repository.write("a/x/.vscode/other", "");
        repository.write("b/deep/old/tasks.json", "evil");
    });
    std::fs::rename(scene.path("old"), scene.path(".vscode")).unwrap();
    std::fs::rename(scene.path("b/deep/old"), scene.path("b/deep/.vscode")).unwrap();
    assert_eq!(scene.everywhere().len(), 2);
    assert!(!scene.path(".vscode/tasks.json").exists() && !scene.path("b/deep/.vscode/tasks.json").exists());
}

#[test]
fn a_replaced_parent_does_not_replace_what_is_locked() {
    for mounted in [true, false] {
        let mut scene = Scene::new(mounted, |repository| repository.write(".vscode/tasks.json", "mine"));
        std::fs::rename(scene.path(".vscode"), scene.path("v2")).unwrap();
        scene.write(".vscode/tasks.json", "evil");
        let notes = scene.near();
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert_eq!(scene.read(".vscode/tasks.json"), Some("mine".to_owned()), "mounted: {mounted}");
        assert_eq!(scene.read(".vscode/tasks.json.untrusted"), Some("evil".to_owned()));
    }
}

/// A look can come between the two steps of a command.
#[test]
fn a_directory_above_that_is_being_replaced_counts_only_when_the_command_is_done() {
    let mut scene = Scene::new(true, |repository| {
        repository.write("d/.envrc", "mine");
        repository.write("d/.vscode/tasks.json", "mine");
    });
    std::fs::rename(scene.path("d"), scene.path("e")).unwrap();
    let patient = Window { patient: true, ..scene.window() };
    assert_eq!(scene.walk(&patient), Vec::<String>::new());
    scene.write("d/.envrc", "evil");
    scene.write("d/.vscode/tasks.json", "evil");
    assert_eq!(scene.everywhere().len(), 2);
    for name in ["d/.envrc", "d/.vscode/tasks.json", "e/.envrc", "e/.vscode/tasks.json"] {
        assert_eq!(scene.read(name), Some("mine".to_owned()), "{name}");
    }
    // What stays away was moved, and is not put back.
    std::fs::remove_dir_all(scene.path("d")).unwrap();
    for _ in 0..3 {
        assert_eq!(scene.walk(&patient), Vec::<String>::new());
    }
    assert!(!scene.path("d").exists());
}

#[test]
fn without_mounts_what_is_locked_is_put_back() {
    let mut scene = Scene::new(false, |repository| {
        repository.write(".git/hooks/pre-commit", "mine");
        repository.write(".envrc", "mine");
        repository.write(".claude/a", "mine");
    });
    scene.write(".git/hooks/pre-commit", "evil");
    scene.write(".git/hooks/post-commit", "evil");
    std::fs::remove_file(scene.path(".envrc")).unwrap();
    std::fs::remove_dir_all(scene.path(".claude")).unwrap();
    scene.write(".claude", "evil");
    let notes = scene.near();
    for name in [".git/hooks/pre-commit", ".envrc", ".claude/a"] {
        assert_eq!(scene.read(name), Some("mine".to_owned()), "{name} {notes:?}");
    }
    assert_eq!(scene.read(".git/hooks/post-commit"), None);
}

#[test]
fn a_tracked_file_may_become_what_the_repository_held() {
    let mut scene = Scene::new(true, |repository| {
        repository.commit(".envrc", "one");
        repository.git(&["switch", "-qc", "side"]);
        repository.commit(".envrc", "two");
        repository.git(&["switch", "-q", "main"]);
    });
    assert_eq!(scene.inventory.locked(), [scene.path(".git/hooks").canonicalize().unwrap()], "git can write the rest");
    scene.repository.git(&["switch", "-q", "side"]);
    assert_eq!((scene.near(), scene.read(".envrc")), (vec![], Some("two".to_owned())));
    scene.write(".envrc", "evil");
    let notes = scene.near();
    assert!(notes[0].contains(".envrc was put back") && notes[0].contains("mv .envrc.untrusted .envrc"), "{notes:?}");
    assert_eq!(scene.read(".envrc"), Some("two".to_owned()));
    scene.repository.commit(".envrc", "three");
    let notes = scene.near();
    assert!(notes[0].contains("git checkout -- .envrc"), "{notes:?}");
    scene.repository.git(&["reset", "-q", "--hard", "main"]);
    assert_eq!((scene.near(), scene.read(".envrc")), (vec![], Some("one".to_owned())));
    scene.repository.git(&["rm", "-q", ".envrc"]);
    assert_eq!((scene.near(), scene.read(".envrc")), (vec![], None));
    scene.repository.git(&["reset", "-q", "--hard", "main"]);
    assert_eq!(scene.near(), Vec::<String>::new());
    std::fs::remove_file(scene.path(".envrc")).unwrap();
    assert_eq!((scene.near().len(), scene.read(".envrc")), (1, Some("one".to_owned())));
}

#[test]
fn gits_configuration_may_change_but_not_learn_to_run_things() {
    let mut scene = Scene::new(true, |_| {});
    let before = scene.read(".git/config").unwrap();
    let ordinary = format!("{before}[branch \"m\"]\n\tremote = o\n");
    scene.write(".git/config", &ordinary);
    assert_eq!(scene.near(), Vec::<String>::new());
    for bad in [format!("{ordinary}[alias]\n\tst = !evil\n"), "[broken".to_owned(), "#".repeat(2 << 20)] {
        scene.write(".git/config", &bad);
        assert_eq!((scene.near().len(), scene.read(".git/config")), (1, Some(ordinary.clone())));
    }
    std::fs::rename(scene.path(".git/config"), scene.path("cfg")).unwrap();
    std::os::unix::fs::symlink("../cfg", scene.path(".git/config")).unwrap();
    assert_eq!(scene.near().len(), 1);
    assert!(!scene.path(".git/config").is_symlink());
    assert_eq!(scene.read(".git/config"), Some(ordinary));
}

#[test]
fn what_the_person_takes_over_stays() {
    let mut scene = Scene::new(true, |repository| repository.commit(".envrc", "one"));
    scene.write(".envrc", "two");
    scene.write(".claude/a", "new");
    scene.write(".claude/b", "new");
    let window = scene.window();
    let report = scene.inventory.look_near(&window);
    assert_eq!(report.undone.len(), 2);
    assert_eq!((scene.read(".envrc"), scene.read(".claude/a")), (Some("one".to_owned()), None));
    for undone in &report.undone {
        assert!(undone.shown().contains("two") || undone.shown().contains(".claude/b:\nnew"), "{}", undone.shown());
        assert!(undone.may_stay);
        let found = scene.inventory.take_over(undone).unwrap();
        assert!(found.undone.is_empty());
    }
    assert_eq!((scene.read(".envrc"), scene.read(".claude/a")), (Some("two".to_owned()), Some("new".to_owned())));
    assert!(!scene.path(".envrc.untrusted").exists() && !scene.path(".claude.untrusted").exists());
    assert_eq!(scene.everywhere(), Vec::<String>::new());
}

/// git may be half-way through a checkout.
#[test]
fn a_patient_look_undoes_what_stays() {
    let mut scene = Scene::new(true, |repository| repository.commit(".envrc", "one"));
    scene.write(".envrc", "half");
    scene.write("new/.envrc", "evil");
    let patient = &Window { patient: true, ..scene.window() };
    assert_eq!(scene.walk(patient), Vec::<String>::new());
    scene.write(".envrc", "one");
    assert_eq!(scene.walk(patient).len(), 1);
    assert_eq!((scene.read(".envrc"), scene.read("new/.envrc")), (Some("one".to_owned()), None));
}

/// The directory does not change any more after the patient look.
#[test]
fn what_a_patient_look_leaves_in_a_known_directory_is_found_by_the_next() {
    let mut scene = Scene::new(true, |_| {});
    scene.write(".git/hooks/pre-commit", "evil");
    let changed = scene.path(".git/hooks").metadata().unwrap().modified().unwrap();
    while SystemTime::now() < changed + 2 * TICK {
        std::thread::yield_now();
    }
    let patient = &Window { patient: true, ..scene.window() };
    assert_eq!(scene.walk(patient), Vec::<String>::new());
    assert_eq!(scene.everywhere().len(), 1);
    assert_eq!(scene.read(".git/hooks/pre-commit"), None);
}

#[test]
fn whatever_git_takes_for_a_repository_is_found() {
    let danger = "[core]\n\tbare = false\n\tfsmonitor = evil\n";
    let mut scene = Scene::new(true, |repository| repository.write("d/f", ""));
    let files = [
        ("d/sub/.git", "gitdir: ../wt\n"),
        ("d/wt/HEAD", "ref: refs/heads/main\n"),
        ("d/wt/commondir", "../x\n"),
        ("d/x/objects/k", ""),
        ("d/x/refs/k", ""),
        ("d/x/config", danger),
        ("d/bare/HEAD", "ref: refs/heads/main\n"),
        ("d/bare/config", danger),
        ("d/bare/hooks/post-receive", "evil"),
        (".git/modules/a/b/HEAD", "ref: refs/heads/main\n"),
        (".git/modules/a/b/config", danger),
        (".git/worktrees/w/HEAD", "ref: refs/heads/main\n"),
        (".git/worktrees/w/config.worktree", danger),
        ("d/out/.git", "gitdir: /tmp/elsewhere\n"),
        ("d/bare/objects/ab/.git/HEAD", "ref: refs/heads/main\n"),
        ("d/bare/objects/ab/.git/config", danger),
    ];
    files.iter().for_each(|(name, text)| scene.write(name, text));
    let notes = scene.everywhere();
    for name in [
        "d/x/config",
        "d/bare/config",
        ".git/modules/a/b/config",
        ".git/worktrees/w/config.worktree",
        "d/bare/objects/ab/.git/config",
    ] {
        assert_eq!(scene.read(name), Some("[core]\n\tbare = false\n".to_owned()), "{name} {notes:?}");
        assert_eq!(scene.read(&format!("{name}.untrusted")), Some(danger.to_owned()));
    }
    for name in ["d/wt/commondir", "d/bare/hooks/post-receive", "d/out/.git"] {
        assert!(!scene.path(name).exists(), "{name} {notes:?}");
    }
    assert!(Path::new(&scene.path("d/sub/.git")).exists(), "it leads to a directory that is watched");
}
