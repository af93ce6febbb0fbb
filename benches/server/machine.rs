//! What the figures were measured on.

use std::process::Command;

/// The load of the last minute.
pub fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("?").to_owned()
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
