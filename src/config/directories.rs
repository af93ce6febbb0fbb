use std::path::{Path, PathBuf};

/// Where work happens: absolute, existing directories.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Directories {
    pub launch_dir: PathBuf,
    pub project_dir: Option<PathBuf>,
    pub workspace_dir: Option<PathBuf>,
    /// The operator's ceiling; empty when there is none.
    pub allow_dirs: Vec<PathBuf>,
}

impl Directories {
    pub fn project_dir(&self) -> &Path {
        self.project_dir.as_ref().unwrap_or(&self.launch_dir)
    }

    /// What file tools may touch: project and workspace, or what of them lies beneath the ceiling. Where nothing does, the
    /// ceiling itself is what the operator can have meant.
    pub fn scope(&self) -> Vec<PathBuf> {
        let wanted = [Some(self.project_dir().to_owned()), self.workspace_dir.clone()];
        let wanted: Vec<PathBuf> = wanted.into_iter().flatten().collect();
        if self.allow_dirs.is_empty() {
            return wanted;
        }
        let both = |a: &PathBuf, b: &PathBuf| match (a.starts_with(b), b.starts_with(a)) {
            (true, _) => Some(a.clone()),
            (_, true) => Some(b.clone()),
            _ => None,
        };
        let inside: Vec<PathBuf> = wanted
            .iter()
            .flat_map(|dir| self.allow_dirs.iter().filter_map(move |allowed| both(dir, allowed)))
            .collect();
        if inside.is_empty() { self.allow_dirs.clone() } else { inside }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ceiling_bounds_the_scope() {
        let rows = [
            ("/w", None, "", "/w"),
            ("/w", Some("/x"), "", "/w /x"),
            ("/w/a", Some("/x"), "/w", "/w/a"),
            ("/w", None, "/w/a /w/b", "/w/a /w/b"),
            ("/w", None, "/x", "/x"),
            ("/w2", None, "/w", "/w"),
        ];
        let paths = |text: &str| text.split_whitespace().map(PathBuf::from).collect::<Vec<_>>();
        for (launch, workspace, allowed, want) in rows {
            let directories = Directories {
                launch_dir: launch.into(),
                project_dir: None,
                workspace_dir: workspace.map(PathBuf::from),
                allow_dirs: paths(allowed),
            };
            assert_eq!(directories.scope(), paths(want), "{launch} {allowed}");
        }
    }
}
