//! A control group, in which the kernel counts the processes and memory of a session. We can create one if a group was
//! delegated to us, as a systemd user session does, or if we are root and the groups are writable.
//!
//! With version 2 the new group may have to be a sibling of the group we are in: the kernel does not enable controllers below
//! a group that has processes of its own. With version 1 each controller has groups of its own, and a session gets one for
//! its processes only: root's are limited by nothing else, and its keeper counts memory.

use std::io;
use std::path::{Path, PathBuf};

use super::limits::Limits;

/// The control group of one session.
pub struct Cgroup {
    path: PathBuf,
}

/// Where version 2 is mounted: by itself, or beside version 1.
const MOUNTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
/// Where version 1 has the groups that count processes.
const MOUNT_OF_PIDS: &str = "/sys/fs/cgroup/pids";
const NAME: &str = "testudo-";

impl Cgroup {
    /// `None` if we may not create a group. The limits of single processes and the keeper's own count hold without it.
    pub fn make(limits: &Limits) -> Option<Self> {
        let membership = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        let name = format!("{NAME}{}", std::process::id());
        let parents = mount().map(|root| parents(root, &membership)).unwrap_or_default();
        let unified = parents.into_iter().find_map(|parent| Self::make_in(&parent, &name, limits).ok());
        let of_pids =
            || Self::make_of_pids(&parent_of_pids(Path::new(MOUNT_OF_PIDS), &membership)?, &name, limits).ok();
        unified.or_else(of_pids)
    }

    /// A group of version 1, which counts processes only.
    fn make_of_pids(parent: &Path, name: &str, limits: &Limits) -> io::Result<Self> {
        remove_abandoned(parent);
        let group = Self { path: parent.join(name) };
        std::fs::create_dir(&group.path)?;
        if let Err(error) = std::fs::write(group.path.join("pids.max"), limits.processes.to_string()) {
            group.remove();
            return Err(error);
        }
        Ok(group)
    }

    fn make_in(parent: &Path, name: &str, limits: &Limits) -> io::Result<Self> {
        let controllers = std::fs::read_to_string(parent.join("cgroup.subtree_control"))?;
        if !["memory", "pids"].iter().all(|wanted| controllers.split_whitespace().any(|has| has == *wanted)) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        remove_abandoned(parent);
        let group = Self { path: parent.join(name) };
        std::fs::create_dir(&group.path)?;
        let set = || -> io::Result<()> {
            std::fs::write(group.path.join("pids.max"), limits.processes.to_string())?;
            // A little above the limit, so that the keeper acts first: it can tell the agent the reason.
            std::fs::write(group.path.join("memory.max"), (limits.memory + limits.memory / 20).to_string())
        };
        if let Err(error) = set() {
            group.remove();
            return Err(error);
        }
        // Some kernels do not count swap, and this file is missing there.
        let _ = std::fs::write(group.path.join("memory.swap.max"), "0");
        Ok(group)
    }

    /// Moves the process into the group, with everything that it will start.
    pub fn add(&self, pid: i32) -> io::Result<()> {
        std::fs::write(self.path.join("cgroup.procs"), pid.to_string())
    }

    /// The group must have no processes left.
    pub fn remove(&self) {
        let _ = std::fs::remove_dir(&self.path);
    }
}

/// The number of the group that a process is in: the inode of the group's directory.
pub fn id_of(pid: i32) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    let membership = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    let path = membership.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let root = mount()?;
    Some(std::fs::metadata(root.join(path)).ok()?.ino())
}

fn mount() -> Option<&'static Path> {
    MOUNTS.iter().map(Path::new).find(|mount| mount.join("cgroup.controllers").exists())
}

/// Groups that may allow us to create a group with limits: our own group, and its parent.
fn parents(root: &Path, membership: &str) -> Vec<PathBuf> {
    let Some(own) = membership.lines().find_map(|line| line.strip_prefix("0::/")) else { return Vec::new() };
    let own = root.join(own);
    let above = own.parent().filter(|above| above.starts_with(root)).map(Path::to_owned);
    [own].into_iter().chain(above).collect()
}

/// Our own group of version 1 that counts processes. A container sees its own group as the root of the mount.
fn parent_of_pids(root: &Path, membership: &str) -> Option<PathBuf> {
    let lines = membership.lines().filter_map(|line| line.split_once(':')?.1.split_once(":/"));
    let (_, own) = lines.into_iter().find(|(controllers, _)| controllers.split(',').any(|has| has == "pids"))?;
    [root.join(own), root.to_owned()].into_iter().find(|parent| parent.join("cgroup.procs").exists())
}

/// Removes the groups of guards that were killed. The kernel refuses to remove a group that still has processes.
fn remove_abandoned(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(NAME)) {
        let _ = std::fs::remove_dir(entry.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_created_where_the_controllers_are_enabled() {
        let world = tempfile::tempdir().unwrap();
        let root = world.path();
        std::fs::create_dir_all(root.join("slice/scope")).unwrap();
        std::fs::write(root.join("slice/cgroup.subtree_control"), "cpu memory pids\n").unwrap();
        std::fs::write(root.join("slice/scope/cgroup.subtree_control"), "\n").unwrap();
        let limits = Limits { processes: 7, memory: 1000, ..Limits::default() };
        let parents = parents(root, "9:name=systemd:/x\n0::/slice/scope\n");
        assert_eq!(parents, [root.join("slice/scope"), root.join("slice")]);
        assert!(Cgroup::make_in(&parents[0], "testudo-1", &limits).is_err());
        let group = Cgroup::make_in(&parents[1], "testudo-1", &limits).unwrap();
        group.add(42).unwrap();
        let read = |name: &str| std::fs::read_to_string(root.join("slice/testudo-1").join(name)).unwrap();
        assert_eq!([read("pids.max"), read("memory.max"), read("cgroup.procs")], ["7", "1050", "42"]);
    }

    #[test]
    fn a_group_of_version_1_is_made_below_our_own() {
        let world = tempfile::tempdir().unwrap();
        let membership = "9:name=systemd:/x\n4:cpu,pids:/slice/scope\n0::/\n";
        assert_eq!(parent_of_pids(world.path(), membership), None);
        std::fs::write(world.path().join("cgroup.procs"), "").unwrap();
        assert_eq!(parent_of_pids(world.path(), membership).as_deref(), Some(world.path()));
        let own = world.path().join("slice/scope");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("cgroup.procs"), "").unwrap();
        assert_eq!(parent_of_pids(world.path(), membership), Some(own));
        assert_eq!(parent_of_pids(world.path(), "0::/\n"), None);
    }
}
