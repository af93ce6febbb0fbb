//! Where a command may write without being asked about: the project and the temporary directory, except for names that
//! somebody else later runs or trusts. The sandbox holds the same line for what is not visible here.

use std::path::{Path, PathBuf};

use super::{Programs, Scene};
use crate::base::lexical;

/// Names that are executed or trusted outside the sandbox, at any depth and in any letter case.
const PROTECTED: &[&str] = &[
    ".git",
    ".hg",
    ".mcp.json",
    ".claude",
    ".cursor",
    ".codex",
    ".gemini",
    ".vscode",
    ".idea",
    ".envrc",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".inputrc",
    ".gitconfig",
    ".gitmodules",
    ".ssh",
    ".gnupg",
    ".npmrc",
    ".netrc",
    ".pypirc",
    ".vimrc",
    ".exrc",
];

/// Why a target is not free to write, if it is not.
pub fn objection(target: &Path, cwds: Option<&[PathBuf]>, scene: &Scene, programs: &dyn Programs) -> Option<String> {
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
        // Before links are resolved and after: neither may lead out, nor hide a protected name.
        [lexical::normal(path), programs.real(path)].iter().find_map(|path| refused(path, scene))
    })
}

/// Why a directory is not one of the project's, if it is not.
pub fn outside(directory: &Path, cwds: Option<&[PathBuf]>, scene: &Scene, programs: &dyn Programs) -> Option<String> {
    let within = |path: PathBuf| scene.writable.iter().any(|root| programs.real(&path).starts_with(root));
    let inside = cwds.is_some_and(|cwds| cwds.iter().all(|cwd| within(cwd.join(directory))));
    (!inside).then(|| format!("{} is outside the project", directory.display()))
}

fn refused(path: &Path, scene: &Scene) -> Option<String> {
    let Some(root) = scene.writable.iter().find(|root| path.starts_with(root)) else {
        return Some("it is outside the project".to_owned());
    };
    let below = path.strip_prefix(root).unwrap_or(path);
    let protected = below.components().find_map(|component| {
        let name = component.as_os_str().to_string_lossy();
        let plain: String = name.chars().filter(char::is_ascii).collect::<String>().to_ascii_lowercase();
        PROTECTED.iter().find(|protected| **protected == plain)
    });
    protected.map(|name| format!("{name} is protected"))
}

/// Devices that swallow or show what is written.
fn is_sink(target: &Path) -> bool {
    let sinks = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero", "/dev/full", "-"];
    sinks.iter().any(|sink| target == Path::new(sink))
}

#[cfg(test)]
mod tests {
    use super::super::programs::Unknown;
    use super::*;

    #[test]
    fn the_project_is_free_but_for_protected_names() {
        let scene = Scene::in_project(Path::new("/p"));
        let rows = [
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
            (".vscode/settings.json", false),
            ("/dev/tcp/h/80", false),
        ];
        for (target, free) in rows {
            let objection = objection(Path::new(target), Some(&[PathBuf::from("/p")]), &scene, &Unknown);
            assert_eq!(objection.is_none(), free, "{target}: {objection:?}");
        }
    }
}
