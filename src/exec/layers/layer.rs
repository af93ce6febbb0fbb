use std::fs::{DirBuilder, DirEntry, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{FlockOperation, flock};

use super::super::remove_tree::remove_tree;
use super::super::tree_size::TreeSize;
use crate::sandbox::home::{UPPER, USE, WORK};

/// All layers of one kind that this user has.
#[derive(Clone, Debug)]
pub struct ProjectLayers {
    directory: PathBuf,
}

/// The layer of one project.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ProjectLayer {
    directory: PathBuf,
}

const PROJECT: &str = "project";
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(10);

impl ProjectLayers {
    /// Over the home directory.
    pub fn of_homes(state_dir: &Path) -> Self {
        Self { directory: state_dir.join("homes") }
    }

    /// Over the project itself. They are kept and shared in the same way.
    pub fn of_drafts(state_dir: &Path) -> Self {
        Self { directory: state_dir.join("drafts") }
    }

    /// The layer of a project, which is created if there is none.
    pub fn of(&self, project: &Path) -> io::Result<ProjectLayer> {
        let layer = self.find(project);
        let directory = |path: &Path| DirBuilder::new().recursive(true).mode(0o700).create(path);
        directory(&layer.directory)?;
        layer.parts().iter().try_for_each(|part| directory(part))?;
        let named = layer.directory.join(PROJECT);
        if !named.exists() {
            // Another server that starts now must not read half of the name and take the layer for another project's.
            let new = layer.directory.join(format!("{PROJECT}-{}", std::process::id()));
            std::fs::write(&new, project.as_os_str().as_encoded_bytes())?;
            std::fs::rename(new, named)?;
        }
        Ok(layer)
    }

    /// The layer of a project, whether or not it exists.
    pub fn find(&self, project: &Path) -> ProjectLayer {
        let name = project.file_name().map_or("root".into(), |name| name.to_string_lossy());
        let name: String = name.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).take(40).collect();
        // Two projects may have the same number, so the path in the layer decides.
        let number = fnv(project.as_os_str().as_encoded_bytes());
        let candidates = (0_u64..).map(|more| format!("{name}-{:016x}", number.wrapping_add(more)));
        let mut candidates = candidates.map(|name| ProjectLayer { directory: self.directory.join(name) });
        let free = |layer: &ProjectLayer| layer.project().is_none_or(|owner| owner == project);
        candidates.find(free).unwrap_or_else(|| ProjectLayer { directory: self.directory.join("full") })
    }

    /// The layer that is mounted over a directory or over one above it.
    pub fn covering(&self, directory: &Path) -> Option<ProjectLayer> {
        let layers = directory.ancestors().map(|project| self.find(project));
        layers.into_iter().find(|layer| layer.directory.is_dir() && layer.is_in_use())
    }

    /// Every layer that exists, by project.
    pub fn all(&self) -> Vec<ProjectLayer> {
        let entries = std::fs::read_dir(&self.directory).into_iter().flatten().flatten();
        let layers = entries.map(|entry| ProjectLayer { directory: entry.path() });
        let mut layers: Vec<ProjectLayer> = layers.filter(|layer| layer.project().is_some()).collect();
        layers.sort_by_key(ProjectLayer::project);
        layers
    }
}

impl ProjectLayer {
    /// A layer that belongs to no project and is removed with its directory.
    pub fn temporary(directory: PathBuf) -> io::Result<Self> {
        let layer = Self { directory };
        layer.parts().iter().try_for_each(|part| DirBuilder::new().recursive(true).mode(0o700).create(part))?;
        Ok(layer)
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    pub fn project(&self) -> Option<PathBuf> {
        use std::os::unix::ffi::OsStringExt;
        let bytes = std::fs::read(self.directory.join(PROJECT)).ok()?;
        Some(PathBuf::from(std::ffi::OsString::from_vec(bytes)))
    }

    fn parts(&self) -> [PathBuf; 2] {
        [UPPER, WORK].map(|part| self.directory.join(part))
    }

    pub fn upper(&self) -> PathBuf {
        self.directory.join(UPPER)
    }

    pub fn size(&self) -> TreeSize {
        TreeSize::of(&self.upper())
    }

    /// What lies at its top, with sizes, largest first. What commands deleted from the person's home has no size.
    pub fn entries(&self) -> Vec<(String, Option<TreeSize>)> {
        let entries = std::fs::read_dir(self.upper()).into_iter().flatten().flatten();
        let size = |entry: &DirEntry| {
            let deleted = entry.file_type().is_ok_and(|kind| kind.is_char_device());
            (!deleted).then(|| TreeSize::of(&entry.path()))
        };
        let sized = entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), size(&entry)));
        let mut sized: Vec<(String, Option<TreeSize>)> = sized.collect();
        sized.sort_by(|(a, x), (b, y)| y.map(|y| y.bytes).cmp(&x.map(|x| x.bytes)).then(a.cmp(b)));
        sized
    }

    /// When a command last changed something at its top.
    pub fn changed(&self) -> Option<SystemTime> {
        self.upper().metadata().and_then(|metadata| metadata.modified()).ok()
    }

    /// Whether a session has it mounted.
    pub fn is_in_use(&self) -> bool {
        self.lock_file(USE).is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_err())
    }

    /// Removes everything in it. Returns `false`, and removes nothing, while a session has it mounted.
    pub fn reset(&self) -> io::Result<bool> {
        let turn = self.lock_file("turn")?;
        flock(&turn, FlockOperation::LockExclusive)?;
        let usage = self.lock_file(USE)?;
        // A session that has just ended takes a moment to go.
        let deadline = Instant::now() + PATIENCE;
        while flock(&usage, FlockOperation::NonBlockingLockExclusive).is_err() {
            if Instant::now() > deadline {
                return Ok(false);
            }
            std::thread::sleep(PAUSE);
        }
        remove_tree(&self.directory);
        if self.directory.exists() {
            return Err(io::Error::other("some of it belongs to another user"));
        }
        Ok(true)
    }

    pub(super) fn lock_file(&self, name: &str) -> io::Result<File> {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false).mode(0o600).open(self.directory.join(name))
    }

    pub(super) fn holders(&self) -> PathBuf {
        self.directory.join("holders")
    }
}

/// Tells the names of most projects apart.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_project_has_a_layer_that_can_be_listed_and_removed() {
        let world = tempfile::tempdir().unwrap();
        let layers = ProjectLayers::of_homes(world.path());
        let one = layers.of(Path::new("/w/a b")).unwrap();
        let two = layers.of(Path::new("/x/a b")).unwrap();
        assert_ne!(one, two);
        assert_eq!(layers.of(Path::new("/w/a b")).unwrap(), one);
        std::fs::create_dir(one.upper().join("d")).unwrap();
        std::fs::write(one.upper().join("d/f"), vec![1; 10_000]).unwrap();
        assert_eq!((one.entries()[0].0.as_str(), one.entries()[0].1.unwrap().files), ("d", 2));
        assert!(one.size().bytes >= 10_000);
        assert_eq!(layers.all(), [one.clone(), two.clone()]);
        let usage = one.lock_file(USE).unwrap();
        flock(&usage, FlockOperation::LockShared).unwrap();
        assert!(one.is_in_use() && !one.reset().unwrap());
        drop(usage);
        assert!(!one.is_in_use() && one.reset().unwrap());
        assert_eq!(layers.all(), [two]);
    }

    #[test]
    fn a_name_that_is_taken_by_another_project_is_not_shared() {
        let world = tempfile::tempdir().unwrap();
        let layers = ProjectLayers::of_homes(world.path());
        let one = layers.of(Path::new("/w/a")).unwrap();
        std::fs::write(one.directory().join(PROJECT), "/another").unwrap();
        assert_ne!(layers.of(Path::new("/w/a")).unwrap(), one);
    }
}
