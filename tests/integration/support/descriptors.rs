//! Which files a process has open, as the kernel tells.

use std::path::{Path, PathBuf};

/// Every file that a process has open, with the number of its descriptor.
pub fn open_files(pid: u32) -> Vec<(PathBuf, String)> {
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let file = |descriptor: std::fs::DirEntry| {
        Some((std::fs::read_link(descriptor.path()).ok()?, descriptor.file_name().into_string().ok()?))
    };
    descriptors.filter_map(file).collect()
}

/// How far a process has read a file; `None` when it has not opened it.
pub fn read_position(pid: u32, path: &Path) -> Option<u64> {
    let on_file = open_files(pid).into_iter().filter(|(file, _)| file == path);
    let positions = on_file.filter_map(|(_, descriptor)| {
        let info = std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{descriptor}")).ok()?;
        info.lines().find_map(|line| line.strip_prefix("pos:")?.trim().parse().ok())
    });
    positions.max()
}
