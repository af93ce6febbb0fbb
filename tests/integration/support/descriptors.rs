//! Which files a process has open, as the kernel tells.

use std::path::Path;

/// How far a process has read a file; `None` when it has not opened it.
pub fn read_position(pid: u32, path: &Path) -> Option<u64> {
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let on_file = descriptors.filter(|descriptor| std::fs::read_link(descriptor.path()).is_ok_and(|to| to == path));
    let positions = on_file.filter_map(|descriptor| {
        let number = descriptor.file_name().into_string().ok()?;
        let info = std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{number}")).ok()?;
        info.lines().find_map(|line| line.strip_prefix("pos:")?.trim().parse().ok())
    });
    positions.max()
}
