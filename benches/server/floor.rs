//! The floors: how long the machine needs for the same work without a server. `Command` uses `posix_spawn` here,
//! because nothing is set that would need a fork.

use std::fs::File;
use std::io::{Read, Write};
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

/// Reads a command's output from a pipe and drops it.
pub fn read_by_one(text: &str) -> anyhow::Result<Duration> {
    take_output(text, &mut std::io::sink())
}

/// Reads a command's output from a pipe and writes it to a file.
pub fn store_by_one(text: &str, file: &Path) -> anyhow::Result<Duration> {
    let time = take_output(text, &mut File::create(file)?)?;
    std::fs::remove_file(file)?;
    Ok(time)
}

fn take_output(text: &str, into: &mut impl Write) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    let mut child = bash().arg(text).stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut output = child.stdout.take().context("no stdout")?;
    let mut piece = vec![0; 1 << 18];
    while let count @ 1.. = output.read(&mut piece)? {
        into.write_all(&piece[..count])?;
    }
    ensure!(child.wait()?.success(), "the floor's command failed");
    Ok(begun.elapsed())
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

/// How many of these shells all cores together start and finish in a second, when each core does one after the other.
pub fn shells_per_second(text: &str, count: usize) -> anyhow::Result<f64> {
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let one = || (0..count / cores).try_for_each(|_| spawn_bash(text).map(drop));
        let running: Vec<_> = (0..cores).map(|_| scope.spawn(one)).collect();
        running.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
    })?;
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    Ok((count / cores * cores) as f64 / begun.elapsed().as_secs_f64())
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
