use std::path::{Path, PathBuf};

/// The directories that the operator named. All of them are absolute and exist.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Directories {
    pub launch_dir: PathBuf,
    /// Whether `--workdir` named the launch directory. Otherwise it is where the server was started.
    pub launch_dir_is_explicit: bool,
    pub project_dir: Option<PathBuf>,
    pub workspace_dir: Option<PathBuf>,
    /// `--allow-dir`: in scope as a whole without roots, and the ceiling for roots. Empty means that none was given.
    pub allow_dirs: Vec<PathBuf>,
    pub home: Option<PathBuf>,
    /// Over HTTP, roots choose among the directories that the operator named. Over stdio the client is the person's own
    /// program, and its roots may name any directory, unless there is an `--allow-dir`.
    pub roots_stay_within: bool,
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
    /// Roots that do not count, with the reason.
    pub ignored: Vec<(PathBuf, &'static str)>,
}

const TOO_WIDE: &str = "it is /, the home directory or a directory above it; --project-dir or --allow-dir can name it";
const OUTSIDE_ALLOWED: &str = "it is outside --allow-dir";
const OUTSIDE_NAMED: &str =
    "over http, roots only choose within the directories of the server; --allow-dir can name more";

impl Directories {
    /// The project directory of a client that offers no roots.
    pub fn project_dir(&self) -> PathBuf {
        self.place(&[]).project_dir
    }

    /// Whether the server was started in `/` or in the home directory and no directory was named. Neither is likely to be
    /// meant as a project.
    pub fn has_no_project(&self) -> bool {
        let too_wide = self.launch_dir == Path::new("/") || self.home.as_ref() == Some(&self.launch_dir);
        let named = self.project_dir.is_some() || self.workspace_dir.is_some() || !self.allow_dirs.is_empty();
        too_wide && !named && !self.launch_dir_is_explicit
    }

    /// The directories that roots must lie in. `None` means that roots may name any directory.
    pub fn ceiling(&self) -> Option<Vec<PathBuf>> {
        if !self.allow_dirs.is_empty() {
            return Some(self.allow_dirs.clone());
        }
        let launch = self.launch_dir_is_explicit || !self.is_too_wide(&self.launch_dir);
        let named = self.project_dir.iter().chain(&self.workspace_dir).chain(launch.then_some(&self.launch_dir));
        self.roots_stay_within.then(|| named.cloned().collect())
    }

    pub fn place(&self, roots: &[OfferedRoot]) -> Placed {
        let (mut inside, mut ignored) = (Vec::new(), Vec::new());
        for root in roots {
            match self.reason_to_ignore(&root.real) {
                None => inside.push(root),
                Some(reason) => ignored.push((root.named.clone(), reason)),
            }
        }
        let (project_dir, mut directories): (PathBuf, Vec<PathBuf>) = match inside.first() {
            Some(first) => {
                (first.named.clone(), inside.iter().flat_map(|root| [&root.named, &root.real]).cloned().collect())
            }
            None if self.has_no_project() => (self.home.clone().unwrap_or_else(|| self.launch_dir.clone()), Vec::new()),
            None => self.named_by_operator(),
        };
        directories.sort();
        directories.dedup();
        let stays = self.launch_dir_is_explicit && is_in(&self.launch_dir, &directories);
        let start = if stays { self.launch_dir.clone() } else { project_dir.clone() };
        Placed { project_dir, start, directories, ignored }
    }

    fn reason_to_ignore(&self, root: &Path) -> Option<&'static str> {
        let named = self.allow_dirs.iter().chain(&self.project_dir).any(|dir| dir == root);
        if self.is_too_wide(root) && !named {
            return Some(TOO_WIDE);
        }
        let outside = self.ceiling().is_some_and(|ceiling| !is_in(root, &ceiling));
        outside.then_some(if self.allow_dirs.is_empty() { OUTSIDE_NAMED } else { OUTSIDE_ALLOWED })
    }

    /// Clients that were started in such a directory offer it as their root. Nobody means to open the whole home to an
    /// agent that way, so the operator has to name it.
    fn is_too_wide(&self, path: &Path) -> bool {
        path == Path::new("/") || self.home.as_ref().is_some_and(|home| home.starts_with(path))
    }

    /// The project directory and the scope without roots.
    fn named_by_operator(&self) -> (PathBuf, Vec<PathBuf>) {
        let project = self.project_dir.as_ref().unwrap_or(&self.launch_dir);
        match self.allow_dirs.first() {
            None => {
                (project.clone(), [Some(project), self.workspace_dir.as_ref()].into_iter().flatten().cloned().collect())
            }
            Some(_) if is_in(project, &self.allow_dirs) => (project.clone(), self.allow_dirs.clone()),
            Some(first) => (first.clone(), self.allow_dirs.clone()),
        }
    }
}

fn is_in(path: &Path, directories: &[PathBuf]) -> bool {
    directories.iter().any(|directory| path.starts_with(directory))
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
        let http = |stdio: Directories| Directories { roots_stay_within: true, ..stdio };
        let rows = [
            // flags, roots → project dir, start, scope, ignored
            (launch("/w"), "", "/w", "/w", "/w", ""),
            (project("/p"), "", "/p", "/p", "/p", ""),
            (workspace("/x", launch("/w")), "", "/w", "/w", "/w /x", ""),
            (project("/p"), "/r /s", "/r", "/r", "/r /s", ""),
            (workspace("/x", launch("/w")), "/r", "/r", "/r", "/r", ""),
            (explicit("/r/sub"), "/r", "/r", "/r/sub", "/r", ""),
            (explicit("/elsewhere"), "/r", "/r", "/r", "/r", ""),
            (ceiling("/w", launch("/w/a")), "", "/w/a", "/w/a", "/w", ""),
            (ceiling("/w/a /w/b", launch("/w")), "", "/w/a", "/w/a", "/w/a /w/b", ""),
            (ceiling("/x", launch("/w")), "", "/x", "/x", "/x", ""),
            (ceiling("/w", launch("/w2")), "", "/w", "/w", "/w", ""),
            (ceiling("/w", launch("/w")), "/o /w/in", "/w/in", "/w/in", "/w/in", "/o"),
            (ceiling("/w", launch("/w")), "/o", "/w", "/w", "/w", "/o"),
            (ceiling("/w /v", project("/w/p")), "", "/w/p", "/w/p", "/v /w", ""),
            (ceiling("/w", project("/p")), "", "/w", "/w", "/w", ""),
            (ceiling("/w", workspace("/x", launch("/l"))), "", "/w", "/w", "/w", ""),
            (ceiling("/w", explicit("/w/a")), "", "/w/a", "/w/a", "/w", ""),
            (launch("/"), "", "/home/u", "/home/u", "", ""),
            (launch("/home/u"), "", "/home/u", "/home/u", "", ""),
            (launch("/home/u"), "/home/u/p", "/home/u/p", "/home/u/p", "/home/u/p", ""),
            (explicit("/home/u"), "", "/home/u", "/home/u", "/home/u", ""),
            // Roots that say nothing.
            (launch("/home/u"), "/home/u", "/home/u", "/home/u", "", "/home/u"),
            (launch("/"), "/", "/home/u", "/home/u", "", "/"),
            (launch("/"), "/home", "/home/u", "/home/u", "", "/home"),
            (launch("/w"), "/home/u /", "/w", "/w", "/w", "/home/u /"),
            (launch("/w"), "/ /r", "/r", "/r", "/r", "/"),
            (project("/p"), "/home/u", "/p", "/p", "/p", "/home/u"),
            (project("/home/u"), "/home/u", "/home/u", "/home/u", "/home/u", ""),
            (ceiling("/home/u", launch("/home/u")), "/home/u", "/home/u", "/home/u", "/home/u", ""),
            (ceiling("/", launch("/w")), "/ /home/u", "/", "/", "/", "/home/u"),
            (ceiling("/", launch("/w")), "/r", "/r", "/r", "/r", ""),
            (explicit("/home/u"), "/home/u", "/home/u", "/home/u", "/home/u", "/home/u"),
            // Over HTTP, roots choose within what the operator named.
            (http(launch("/w")), "/r", "/w", "/w", "/w", "/r"),
            (http(launch("/w")), "/r /w/a", "/w/a", "/w/a", "/w/a", "/r"),
            (http(workspace("/x", project("/p"))), "/x/a /p /l/b", "/x/a", "/x/a", "/l/b /p /x/a", ""),
            (http(ceiling("/v", launch("/w"))), "/w /v/a", "/v/a", "/v/a", "/v/a", "/w"),
            (http(launch("/home/u")), "/home/u/p", "/home/u", "/home/u", "", "/home/u/p"),
            (http(launch("/")), "/etc", "/home/u", "/home/u", "", "/etc"),
            (http(Directories { launch_dir: "/".into(), ..project("/p") }), "/etc", "/p", "/p", "/p", "/etc"),
            (http(explicit("/home/u")), "/home/u/p", "/home/u/p", "/home/u/p", "/home/u/p", ""),
        ];
        for (flags, roots, project, start, scope, ignored) in rows {
            let offered: Vec<OfferedRoot> =
                paths(roots).into_iter().map(|root| OfferedRoot { named: root.clone(), real: root }).collect();
            let want = Placed {
                project_dir: project.into(),
                start: start.into(),
                directories: paths(scope),
                ignored: Vec::new(),
            };
            let mut placed = flags.place(&offered);
            let left_out: Vec<PathBuf> =
                std::mem::take(&mut placed.ignored).into_iter().map(|(root, _)| root).collect();
            assert_eq!((placed, left_out), (want, paths(ignored)), "{flags:?} {roots}");
        }
    }

    #[test]
    fn a_root_behind_a_link_is_in_scope_by_both_names_and_judged_by_the_real_one() {
        let root = OfferedRoot { named: "/w/link".into(), real: "/o/real".into() };
        let free = Directories { launch_dir: "/l".into(), ..Directories::default() };
        assert_eq!(free.place(std::slice::from_ref(&root)).directories, paths("/o/real /w/link"));
        let bounded = Directories { allow_dirs: paths("/w"), ..free };
        assert_eq!(bounded.place(&[root]).ignored, [(PathBuf::from("/w/link"), OUTSIDE_ALLOWED)]);
        let home = Directories { launch_dir: "/l".into(), home: Some("/home/u".into()), ..Directories::default() };
        let linked = OfferedRoot { named: "/w/home".into(), real: "/home/u".into() };
        assert_eq!(home.place(&[linked]).ignored, [(PathBuf::from("/w/home"), TOO_WIDE)]);
    }
}
