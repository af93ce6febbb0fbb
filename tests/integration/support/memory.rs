//! The memory of a process, in KiB, as the kernel tells.

/// The most it has ever used.
pub fn peak(pid: u32) -> u64 {
    status(pid, "VmHWM")
}

/// What it uses now.
pub fn resident(pid: u32) -> u64 {
    status(pid, "VmRSS")
}

fn status(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
