//! What the figures were measured on.

use std::process::Command;

/// The load of the last minute.
pub fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("?").to_owned()
}

/// Measures with the ordinary priority, also in a run with real-time priority (`BENCH_RUNNER`). Hundreds of processes with
/// real-time priority, each of which keeps its processor until it waits, would measure only how they keep each other out, and
/// nobody could use the machine meanwhile.
pub fn at_ordinary_priority<T>(measure: impl FnOnce() -> T) -> T {
    let own = std::process::id().to_string();
    let chrt = |words: &[&str]| Command::new("chrt").args(words).arg(&own).output();
    let said = chrt(&["-p"]).map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let priority = said.lines().find_map(|line| line.split_once("scheduling priority: ")).map(|(_, priority)| priority);
    let Some(priority) = priority.filter(|_| said.contains("SCHED_FIFO")) else { return measure() };
    let _ = chrt(&["-o", "-p", "0"]);
    let measured = measure();
    let _ = chrt(&["-f", "-p", priority]);
    measured
}

/// One sentence about the machine and the time.
pub fn conditions(load_before: &str) -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let information = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = information.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("an unknown processor", |(_, model)| model.trim());
    let said = |program: &str, words: &[&str]| {
        let output = Command::new(program).args(words).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let [date, kernel, commit] = [
        said("date", &["-u", "+%Y-%m-%d"]),
        said("uname", &["-r"]),
        said("git", &["-C", env!("CARGO_MANIFEST_DIR"), "rev-parse", "--short", "HEAD"]),
    ]
    .map(|text| text.filter(|text| !text.is_empty()).unwrap_or_else(|| "?".to_owned()));
    format!(
        "Measured on {date} at commit {commit}: {cores} cores of {model}, Linux {kernel}, load {load_before} at the start and {} \
         at the end.",
        load()
    )
}
