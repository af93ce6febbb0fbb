//! The mounts of this process, and where else they show a directory. A second mount of a directory, such as a bind mount,
//! shows the same files by other paths.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::base::identity::Identity;

#[derive(Debug, Default)]
pub struct MountTable {
    mounts: Vec<Mount>,
}

#[derive(Debug)]
struct Mount {
    /// The file system, as the kernel numbers it.
    device: String,
    /// The directory of the file system that is mounted.
    root: PathBuf,
    at: PathBuf,
}

impl MountTable {
    /// Empty if `/proc` cannot be read.
    pub fn read() -> Self {
        Self::parse(&std::fs::read("/proc/self/mountinfo").unwrap_or_default())
    }

    fn parse(table: &[u8]) -> Self {
        let mount = |line: &[u8]| {
            let mut fields = line.split(|byte| *byte == b' ');
            let device = String::from_utf8(fields.nth(2)?.to_vec()).ok()?;
            Some(Mount { device, root: unescape(fields.next()?), at: unescape(fields.next()?) })
        };
        Self { mounts: table.split(|byte| *byte == b'\n').filter_map(mount).collect() }
    }

    /// The mount that a path lies in, and the path inside its file system.
    fn place(&self, path: &Path) -> Option<(&Mount, PathBuf)> {
        // A later mount at the same place covers the earlier one.
        let holding = self.mounts.iter().filter(|mount| path.starts_with(&mount.at));
        let mount = holding.max_by_key(|mount| mount.at.components().count())?;
        Some((mount, mount.root.join(path.strip_prefix(&mount.at).ok()?)))
    }

    /// Other paths that lead to what is at this path.
    pub fn aliases(&self, path: &Path) -> Vec<PathBuf> {
        if path.symlink_metadata().is_err() {
            return Vec::new();
        }
        let Some((own, inside)) = self.place(path) else { return Vec::new() };
        let others = self.mounts.iter().filter(|mount| mount.device == own.device && mount.at != own.at);
        let paths = others.filter_map(|mount| Some(mount.at.join(inside.strip_prefix(&mount.root).ok()?)));
        let mut paths: Vec<PathBuf> = paths.filter(|alias| alias != path && same(alias, path)).collect();
        paths.sort();
        paths.dedup();
        paths
    }

    /// Mounts that show a directory below this path: where, and which directory relative to the path.
    pub fn showing_parts(&self, path: &Path) -> Vec<(PathBuf, PathBuf)> {
        let Some((own, inside)) = self.place(path) else { return Vec::new() };
        let others = self.mounts.iter().filter(|mount| mount.device == own.device && mount.at != own.at);
        let part = |mount: &Mount| Some((mount.at.clone(), mount.root.strip_prefix(&inside).ok()?.to_owned()));
        others.filter_map(part).filter(|(at, part)| part != Path::new("") && same(at, &path.join(part))).collect()
    }

    /// The mount points below a path, without those below another of them.
    pub fn below(&self, path: &Path) -> Vec<PathBuf> {
        let mut inside: Vec<PathBuf> = self
            .mounts
            .iter()
            .map(|mount| &mount.at)
            .filter(|at| *at != path && at.starts_with(path))
            .cloned()
            .collect();
        inside.sort();
        inside.dedup_by(|inner, outer| inner.starts_with(outer));
        inside
    }
}

fn same(one: &Path, other: &Path) -> bool {
    Identity::of(one).is_some_and(|identity| Identity::of(other) == Some(identity))
}

/// The kernel writes a space, a tab, a newline and a backslash as `\` and three octal digits.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, tail)) = rest.split_first() {
        let code = (*first == b'\\').then(|| tail.get(..3)).flatten();
        let value = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 8).ok());
        bytes.push(value.unwrap_or(*first));
        rest = if value.is_some() { &tail[3..] } else { tail };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_lies_in_the_innermost_mount() {
        let table = MountTable::parse(
            b"1 0 8:1 / / rw - ext4 a rw\n2 1 8:2 /u /home\\040x rw - ext4 b rw\n3 2 8:2 /u/me/.ssh /mnt/keys rw - ext4 b rw\n",
        );
        let (mount, inside) = table.place(Path::new("/home x/me/.ssh/id")).unwrap();
        assert_eq!((mount.device.as_str(), inside), ("8:2", PathBuf::from("/u/me/.ssh/id")));
        assert_eq!(table.place(Path::new("/etc")).unwrap().1, Path::new("/etc"));
        assert_eq!(table.below(Path::new("/mnt")), [PathBuf::from("/mnt/keys")]);
    }
}
