use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use super::facts::Facts;
use super::{baseline, transfer};
use crate::exec::{LayerLease, ProjectLayer, ProjectLayers, TreeSize};

/// All drafts of this user.
#[derive(Clone, Debug)]
pub struct Drafts(ProjectLayers);

/// The draft of one directory.
#[derive(Clone, Debug)]
pub struct Draft {
    layer: ProjectLayer,
    project: PathBuf,
}

impl Drafts {
    pub fn below(state_dir: &Path) -> Self {
        Self(ProjectLayers::of_drafts(state_dir))
    }

    /// The draft of a directory, which is made if there is none. The path has no symbolic links.
    pub fn of(&self, project: &Path) -> io::Result<Draft> {
        let layer = self.0.of(project)?;
        let draft = Draft { layer, project: project.to_owned() };
        if !draft.layer.directory().join(baseline::FILE).exists() {
            // The overlay shows the root of the upper layer in the place of the project's.
            let (from, to) = (transfer::open_directory(project)?, transfer::open_directory(&draft.upper())?);
            transfer::copy_attributes(&from, &to, &Facts::of_descriptor(&from)?)?;
            baseline::begin(draft.layer.directory())?;
        }
        Ok(draft)
    }

    /// Every draft, by project.
    pub fn all(&self) -> Vec<Draft> {
        let known = |layer: ProjectLayer| Some(Draft { project: layer.project()?, layer });
        self.0.all().into_iter().filter_map(known).collect()
    }

    /// The drafts of a directory, of those above it, and of those in it: the ones that a person in that directory means.
    pub fn about(&self, directory: &Path) -> Vec<Draft> {
        let all = self.all();
        let above = all.iter().filter(|draft| directory.starts_with(&draft.project));
        match above.max_by_key(|draft| draft.project.components().count()) {
            Some(draft) => vec![draft.clone()],
            None => all.into_iter().filter(|draft| draft.project.starts_with(directory)).collect(),
        }
    }
}

impl Draft {
    pub fn project(&self) -> &Path {
        &self.project
    }

    pub fn directory(&self) -> &Path {
        self.layer.directory()
    }

    pub fn upper(&self) -> PathBuf {
        self.layer.upper()
    }

    pub fn size(&self) -> TreeSize {
        self.layer.size()
    }

    /// When something at its top was last changed.
    pub fn changed(&self) -> Option<SystemTime> {
        self.layer.changed()
    }

    /// Whether a server has it mounted.
    pub fn is_in_use(&self) -> bool {
        self.layer.is_in_use()
    }

    /// Whether nothing was ever written to it, or all of it was applied or discarded.
    pub fn is_empty(&self) -> bool {
        std::fs::read_dir(self.upper()).is_ok_and(|mut entries| entries.next().is_none())
            && self.upper().metadata().map(|found| found.mode()).ok()
                == self.project.metadata().map(|found| found.mode()).ok()
    }

    /// The right to mount it, or to use the mount of another server. `None` if that cannot be shared.
    pub fn lease(&self) -> io::Result<Option<LayerLease>> {
        LayerLease::take(&self.layer, 0)
    }

    /// Tells it from the other drafts of this user.
    pub fn key(&self) -> String {
        self.directory().file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
    }

    /// Removes it with all that is in it. Returns `false`, and removes nothing, while a server has it mounted.
    pub fn remove(&self) -> io::Result<bool> {
        self.layer.reset()
    }
}

/// The part of a draft that a person named. Everything if nothing was named.
#[derive(Clone, Debug, Default)]
pub struct Selection(Vec<PathBuf>);

impl Selection {
    /// From paths as they were typed in `current`. Says which one is not in the project.
    pub fn new(project: &Path, current: &Path, typed: &[PathBuf]) -> Result<Self, PathBuf> {
        let base = if current.starts_with(project) { current } else { project };
        let inside = |path: &PathBuf| {
            let whole = lexical(&base.join(path));
            // The name itself may be a link, or gone. What is above it may be reached through one.
            let real = whole.parent().and_then(|parent| parent.canonicalize().ok());
            let real = real.zip(whole.file_name()).map(|(parent, name)| parent.join(name));
            let relative = |path: &Path| path.strip_prefix(project).map(Path::to_owned).ok();
            relative(&whole).or_else(|| relative(&real?)).ok_or_else(|| path.clone())
        };
        typed.iter().map(inside).collect::<Result<_, _>>().map(Self)
    }

    /// From paths as they are in the project.
    pub fn of(paths: Vec<PathBuf>) -> Self {
        Self(paths)
    }

    pub fn is_everything(&self) -> bool {
        self.0.is_empty() || self.0.iter().any(|path| path.as_os_str().is_empty())
    }

    pub fn has(&self, path: &Path) -> bool {
        self.0.is_empty() || self.0.iter().any(|named| path.starts_with(named))
    }

    /// Whether something was named that is this path or lies below it.
    pub fn names_inside(&self, path: &Path) -> bool {
        self.0.iter().any(|named| named.starts_with(path))
    }
}

fn lexical(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                whole.pop();
            }
            Component::CurDir => {}
            other => whole.push(other),
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_from_the_directory_in_which_they_were_typed() {
        let project = Path::new("/nowhere/p");
        let rows = [
            ("/nowhere/p", "a", Some("a")),
            ("/nowhere/p/d", "a", Some("d/a")),
            ("/nowhere/p/d", "../b/", Some("b")),
            ("/elsewhere", "a", Some("a")),
            ("/elsewhere", "/nowhere/p/x", Some("x")),
            ("/nowhere/p", "../q", None),
            ("/nowhere/p", "/nowhere/pp", None),
        ];
        for (current, typed, wanted) in rows {
            let found = Selection::new(project, Path::new(current), &[typed.into()]);
            assert_eq!(found.ok().map(|found| found.0[0].clone()), wanted.map(PathBuf::from), "{current} {typed}");
        }
    }
}
