//! The floors: how long the machine needs for the same work without a server. `Command` uses `posix_spawn` here,
//! because nothing is set that would need a fork.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

/// `/bin/true`, from start to exit status.
pub fn spawn_true() -> anyhow::Result<Duration> {
    timed(&mut Command::new("/bin/true"))
}

/// `bash -c TEXT`, from start to exit status.
pub fn spawn_bash(text: &str) -> anyhow::Result<Duration> {
    timed(bash().arg(text))
}

/// Lets `cat` carry a command's output through a pipe into a file. The server too reads a pipe and writes a file.
pub fn into_file(text: &str, scratch: &Path) -> anyhow::Result<Duration> {
    let file = scratch.join("floor");
    let time = timed(bash().arg(format!("{{ {text}; }} | cat > \"$0\"")).arg(&file))?;
    std::fs::remove_file(file)?;
    Ok(time)
}

/// Runs a program in a directory and discards its output.
pub fn run(program: &str, words: &[&str], directory: &Path) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    let mut command = Command::new(program);
    let output = command.args(words).current_dir(directory).stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("failed to start {program}, the floor"))?;
    let time = begun.elapsed();
    ensure!(output.status.success(), "{program}, the floor, failed");
    Ok(time)
}

/// Starts `count` shells at once and waits until all have ended.
pub fn parallel_bash(text: &str, count: usize) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    let mut children = (0..count).map(|_| bash().arg(text).spawn()).collect::<Result<Vec<Child>, _>>()?;
    for child in &mut children {
        ensure!(child.wait()?.success(), "the floor's command failed");
    }
    Ok(begun.elapsed())
}

fn bash() -> Command {
    let mut command = Command::new("/bin/bash");
    command.arg("-c");
    command
}

fn timed(command: &mut Command) -> anyhow::Result<Duration> {
    command.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
    let begun = Instant::now();
    let status = command.status()?;
    let time = begun.elapsed();
    ensure!(status.success(), "the floor's command failed");
    Ok(time)
}
