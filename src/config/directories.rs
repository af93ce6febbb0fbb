use std::path::{Path, PathBuf};

/// The directories that the operator named. All of them are absolute and exist.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Directories {
    pub launch_dir: PathBuf,
    /// Whether `--workdir` named the launch directory. Otherwise it is where the server was started.
    pub launch_dir_is_explicit: bool,
    pub project_dir: Option<PathBuf>,
    pub workspace_dir: Option<PathBuf>,
    /// `--allow-dir`: nothing outside these directories comes into scope. Empty means no limit.
    pub allow_dirs: Vec<PathBuf>,
    pub home: Option<PathBuf>,
}

/// A root that the client offers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OfferedRoot {
    /// The path that the client uses.
    pub named: PathBuf,
    /// The same directory with all symlinks resolved.
    pub real: PathBuf,
}

/// Where a client works, given the operator's directories and the client's roots.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Placed {
    pub project_dir: PathBuf,
    /// The first working directory of a session.
    pub start: PathBuf,
    /// The scope, without the session's temporary directory.
    pub directories: Vec<PathBuf>,
    /// Roots that `--allow-dir` excludes.
    pub ignored: Vec<PathBuf>,
}

impl Directories {
    /// The project directory of a client that offers no roots.
    pub fn project_dir(&self) -> &Path {
        self.project_dir.as_ref().unwrap_or(&self.launch_dir)
    }

    /// Whether the server was started in `/` or in the home directory and no directory was named. Neither is likely to be
    /// meant as a project.
    pub fn has_no_project(&self) -> bool {
        let too_wide = self.launch_dir == Path::new("/") || self.home.as_ref() == Some(&self.launch_dir);
        let named = self.project_dir.is_some() || self.workspace_dir.is_some() || !self.allow_dirs.is_empty();
        too_wide && !named && !self.launch_dir_is_explicit
    }

    pub fn place(&self, roots: &[OfferedRoot]) -> Placed {
        let (inside, outside): (Vec<_>, Vec<_>) = roots.iter().partition(|root| self.is_allowed(&root.real));
        let ignored = outside.into_iter().map(|root| root.named.clone()).collect();
        let (project_dir, mut directories): (PathBuf, Vec<PathBuf>) = match inside.first() {
            Some(first) => {
                (first.named.clone(), inside.iter().flat_map(|root| [&root.named, &root.real]).cloned().collect())
            }
            None if self.has_no_project() => (self.home.clone().unwrap_or_else(|| self.launch_dir.clone()), Vec::new()),
            None => self.named_by_operator(),
        };
        directories.sort();
        directories.dedup();
        let stays = self.launch_dir_is_explicit && directories.iter().any(|dir| self.launch_dir.starts_with(dir));
        let start = if stays { self.launch_dir.clone() } else { project_dir.clone() };
        Placed { project_dir, start, directories, ignored }
    }

    fn is_allowed(&self, path: &Path) -> bool {
        self.allow_dirs.is_empty() || self.allow_dirs.iter().any(|allowed| path.starts_with(allowed))
    }

    /// The project directory and the scope without roots: project and workspace, as far as `--allow-dir` permits. If it
    /// permits neither of them, the scope is all of `--allow-dir`: the operator named it, so it is meant.
    fn named_by_operator(&self) -> (PathBuf, Vec<PathBuf>) {
        let project = self.project_dir().to_owned();
        let wanted: Vec<PathBuf> = [Some(project.clone()), self.workspace_dir.clone()].into_iter().flatten().collect();
        if self.allow_dirs.is_empty() {
            return (project, wanted);
        }
        let overlap = |a: &PathBuf, b: &PathBuf| match (a.starts_with(b), b.starts_with(a)) {
            (true, _) => Some(a.clone()),
            (_, true) => Some(b.clone()),
            _ => None,
        };
        let permitted = |dir| self.allow_dirs.iter().filter_map(move |allowed| overlap(dir, allowed));
        let mut inside: Vec<PathBuf> = wanted.iter().flat_map(permitted).collect();
        if inside.is_empty() {
            inside.clone_from(&self.allow_dirs);
        }
        let project = if self.is_allowed(&project) { project } else { inside[0].clone() };
        (project, inside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<PathBuf> {
        text.split_whitespace().map(PathBuf::from).collect()
    }

    /// The table of `docs/directories.md`: who chooses the project, what is in scope, what is excluded.
    #[test]
    fn flags_and_roots_decide_project_and_scope() {
        let launch =
            |dir: &str| Directories { launch_dir: dir.into(), home: Some("/home/u".into()), ..Directories::default() };
        let explicit = |dir: &str| Directories { launch_dir_is_explicit: true, ..launch(dir) };
        let project = |dir: &str| Directories { project_dir: Some(dir.into()), ..launch("/l") };
        let ceiling = |dirs: &str, launch: Directories| Directories { allow_dirs: paths(dirs), ..launch };
        let workspace = |dir: &str, launch: Directories| Directories { workspace_dir: Some(dir.into()), ..launch };
        let rows = [
            // flags, roots → project dir, start, scope, ignored
            (launch("/w"), "", "/w", "/w", "/w", ""),
            (project("/p"), "", "/p", "/p", "/p", ""),
            (workspace("/x", launch("/w")), "", "/w", "/w", "/w /x", ""),
            (project("/p"), "/r /s", "/r", "/r", "/r /s", ""),
            (workspace("/x", launch("/w")), "/r", "/r", "/r", "/r", ""),
            (explicit("/r/sub"), "/r", "/r", "/r/sub", "/r", ""),
            (explicit("/elsewhere"), "/r", "/r", "/r", "/r", ""),
            (ceiling("/w", launch("/w/a")), "", "/w/a", "/w/a", "/w/a", ""),
            (ceiling("/w/a /w/b", launch("/w")), "", "/w/a", "/w/a", "/w/a /w/b", ""),
            (ceiling("/x", launch("/w")), "", "/x", "/x", "/x", ""),
            (ceiling("/w", launch("/w2")), "", "/w", "/w", "/w", ""),
            (ceiling("/w", launch("/w")), "/o /w/in", "/w/in", "/w/in", "/w/in", "/o"),
            (ceiling("/w", launch("/w")), "/o", "/w", "/w", "/w", "/o"),
            (launch("/"), "", "/home/u", "/home/u", "", ""),
            (launch("/home/u"), "", "/home/u", "/home/u", "", ""),
            (launch("/home/u"), "/home/u/p", "/home/u/p", "/home/u/p", "/home/u/p", ""),
            (explicit("/home/u"), "", "/home/u", "/home/u", "/home/u", ""),
        ];
        for (flags, roots, project, start, scope, ignored) in rows {
            let offered: Vec<OfferedRoot> =
                paths(roots).into_iter().map(|root| OfferedRoot { named: root.clone(), real: root }).collect();
            let want = Placed {
                project_dir: project.into(),
                start: start.into(),
                directories: paths(scope),
                ignored: paths(ignored),
            };
            assert_eq!(flags.place(&offered), want, "{flags:?} {roots}");
        }
    }

    #[test]
    fn a_root_behind_a_link_is_in_scope_by_both_names_and_judged_by_the_real_one() {
        let root = OfferedRoot { named: "/w/link".into(), real: "/o/real".into() };
        let free = Directories { launch_dir: "/l".into(), ..Directories::default() };
        assert_eq!(free.place(std::slice::from_ref(&root)).directories, paths("/o/real /w/link"));
        let bounded = Directories { allow_dirs: paths("/w"), ..free };
        assert_eq!(bounded.place(&[root]).ignored, paths("/w/link"));
    }
}
