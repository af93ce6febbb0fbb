//! Which files a command may write without being asked about: those of the project and the temporary directories, except
//! for names that other programs later run or trust. The sandbox enforces the same limits on writes that the policy
//! cannot see in the text.

use std::path::{Path, PathBuf};

use super::{ProgramLookup, Scene};
use crate::base::lexical;
use crate::base::protected_names::Names;

/// Why a command may not write a file unasked; `None` if it may.
pub fn objection(target: &Path, cwds: Option<&[PathBuf]>, scene: &Scene, lookup: &dyn ProgramLookup) -> Option<String> {
    if is_sink(target) {
        return None;
    }
    let candidates: Vec<PathBuf> = if target.is_absolute() {
        vec![target.to_owned()]
    } else {
        match cwds {
            Some(cwds) => cwds.iter().map(|cwd| cwd.join(target)).collect(),
            None => return Some("the directory it is relative to is not known".to_owned()),
        }
    };
    candidates.iter().find_map(|path| {
        // The path is checked as written and with its links resolved. A link must neither lead out of the project nor
        // give a protected file an innocent name.
        [lexical::normal(path), lookup.real(path)].iter().find_map(|path| path_objection(path, scene, lookup))
    })
}

/// Why a directory is not inside the project; `None` if it is.
pub fn outside(
    directory: &Path,
    cwds: Option<&[PathBuf]>,
    scene: &Scene,
    lookup: &dyn ProgramLookup,
) -> Option<String> {
    let within = |path: PathBuf| scene.writable.iter().any(|root| lookup.real(&path).starts_with(root));
    let inside = cwds.is_some_and(|cwds| cwds.iter().all(|cwd| within(cwd.join(directory))));
    (!inside).then(|| format!("{} is outside the project", directory.display()))
}

fn path_objection(path: &Path, scene: &Scene, lookup: &dyn ProgramLookup) -> Option<String> {
    let Some((root, below)) = scene.writable.iter().find_map(|root| Some((root, path.strip_prefix(root).ok()?))) else {
        return Some("it is outside the project".to_owned());
    };
    if let Some(name) = scene.protected.protecting(below) {
        return Some(format!("{name} is a protected name (sandbox.protect)"));
    }
    // `cp tasks.json .vscode` writes `.vscode/tasks.json`.
    if let Some(name) = scene.protected.protecting_inside(below) {
        return Some(format!("{name} is a protected name (sandbox.protect), and this directory contains it"));
    }
    if let Some(name) = repositories().protecting(below) {
        return Some(format!("files in {name} can make the version control system run programs"));
    }
    let home = scene.home.as_deref().map(|home| lookup.real(home)).filter(|home| home.starts_with(root));
    home.is_some_and(|home| is_hidden_in(&home, path))
        .then(|| "hidden files in the home directory configure programs outside the project".to_owned())
}

/// Directories in which only a version control system writes in ordinary work. Their files can make it run programs
/// (`.git/config`, `.git/worktrees/*/commondir`, `.hg/hgrc`). They are not in `sandbox.protect`, because git and hg run in
/// the sandbox and must be able to write them.
fn repositories() -> Names {
    Names::new(&[".git", ".hg"].map(str::to_owned))
}

/// Whether a path is `~/.bashrc`, `~/.ssh/…` or the like. Shells and other programs read such files outside the sandbox.
/// This only matters where a writable directory contains the home directory.
fn is_hidden_in(home: &Path, path: &Path) -> bool {
    let first = path.strip_prefix(home).ok().and_then(|below| below.iter().next());
    first.is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

/// Devices that discard what is written, or show it. `-` stands for standard output.
fn is_sink(target: &Path) -> bool {
    let sinks = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/full", "-"];
    sinks.iter().any(|sink| target == Path::new(sink))
}

#[cfg(test)]
mod tests {
    use super::super::program_lookup::UnknownMachine;
    use super::*;

    /// `sandbox.protect` as it is by default, and one name that a person has added.
    fn protected() -> Names {
        #[derive(serde::Deserialize)]
        struct Defaults {
            sandbox: Sandbox,
        }
        #[derive(serde::Deserialize)]
        struct Sandbox {
            protect: Vec<String>,
        }
        let defaults: Defaults = toml::from_str(include_str!("../config/defaults.toml")).unwrap();
        Names::new(&[defaults.sandbox.protect, vec!["deploy/*.key".to_owned()]].concat())
    }

    #[track_caller]
    fn check(scene: &Scene, rows: &[(&str, bool)]) {
        for (target, free) in rows {
            let objection = objection(Path::new(target), Some(&[PathBuf::from("/p")]), scene, &UnknownMachine);
            assert_eq!(objection.is_none(), *free, "{target}: {objection:?}");
        }
    }

    #[test]
    fn the_project_is_free_but_for_protected_names() {
        let scene = Scene { protected: protected().into(), ..Scene::in_project(Path::new("/p")) };
        check(
            &scene,
            &[
                ("out.txt", true),
                ("a/b/../c", true),
                ("/tmp/x", true),
                ("/dev/null", true),
                ("../x", false),
                ("/etc/cron.d/x", false),
                ("/p-evil/x", false),
                (".git/hooks/pre-commit", false),
                ("vendor/sub/.git/hooks/x", false),
                (".MCP.json", false),
                (".g\u{200b}it/config", false),
                (".git/worktrees/w/commondir", false),
                (".git", false),
                (".gitignore", true),
                (".hg/hgrc", false),
                (".vscode/settings.json", false),
                (".vscode", false),
                (".vscode/words.txt", true),
                (".zed/settings.json", false),
                ("sub/.windsurf/x", false),
                (".cursorrules", false),
                (".devcontainer/x", false),
                ("deploy/server.key", false),
                ("deploy/server.pem", true),
                ("/tmp/.claude/x", false),
                ("/dev/tcp/h/80", false),
            ],
        );
    }

    #[test]
    fn hidden_files_of_a_home_inside_the_project_are_not_free() {
        let at_home = |home: &str| Scene { home: Some(home.into()), ..Scene::in_project(Path::new("/p")) };
        check(&at_home("/p"), &[(".bashrc", false), (".ssh/authorized_keys", false), ("notes.txt", true)]);
        check(&at_home("/p/me"), &[("me/.profile", false), (".profile", true), ("me/x", true)]);
        check(&at_home("/home/me"), &[(".profile", true)]);
        let below_home = Scene { home: Some("/".into()), ..Scene::in_project(Path::new("/p")) };
        check(&below_home, &[(".env", true)]);
    }
}
