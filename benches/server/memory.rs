//! The memory of processes, as the kernel counts it.

use anyhow::Context;

/// The resident memory in MiB, including pages shared with other processes.
pub fn resident(pid: u32) -> anyhow::Result<f64> {
    field(pid, "status", "VmRSS:")
}

/// The peak of the resident memory since the start or [`forget_peak`].
pub fn peak(pid: u32) -> anyhow::Result<f64> {
    field(pid, "status", "VmHWM:")
}

pub fn forget_peak(pid: u32) -> anyhow::Result<()> {
    std::fs::write(format!("/proc/{pid}/clear_refs"), "5").context("failed to reset the peak")
}

/// The resident memory with each shared page divided by the number of its users, so that figures can be summed.
pub fn proportional(pid: u32) -> anyhow::Result<f64> {
    field(pid, "smaps_rollup", "Pss:")
}

/// All descendants of a process.
pub fn descendants(root: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let parents: Vec<(u32, u32)> = pids.filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(of) = found.get(next).copied() {
        found.extend(parents.iter().filter(|(_, parent)| *parent == of).map(|(pid, _)| *pid));
        next += 1;
    }
    found.split_off(1)
}

fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

fn field(pid: u32, file: &str, name: &str) -> anyhow::Result<f64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/{file}")).context("the server has gone")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)).with_context(|| format!("no {name}"))?;
    let kibibytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kibibytes / 1024.0)
}
