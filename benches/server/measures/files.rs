//! The file tools: a window in a large file, an edit in a medium-sized file, searches over many small files. Only
//! testudo is measured, because the file tools of other servers do something else.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};

use super::row;
use crate::driver::Connection;
use crate::options::{Options, Subject};
use crate::samples::Samples;
use crate::table::{Figure, Row, Target};
use crate::{floor, memory};

const ROUNDS: usize = 9;
const FILES: usize = 20_000;
const LARGE: usize = 200_000_000;
const MIDDLING: usize = 10_000_000;

/// One measurement: a call, the floor it is compared with, and the promised ratio.
struct Case {
    name: &'static str,
    call: fn(round: usize) -> (&'static str, Value),
    floor: fn(&Path) -> anyhow::Result<Duration>,
    target: Option<Target>,
}

const CASES: [Case; 4] = [
    Case {
        name: "100 lines in the middle of 200 MB / sed -n",
        call: |_| ("view", json!({ "path": "large", "view_range": [1_000_000, 1_000_099] })),
        floor: |at| floor::run("sed", &["-n", "1000000,1000099p;1000099q", "large"], at),
        target: Some(Target::RatioAtMost(1.5)),
    },
    Case {
        name: "str_replace in 10 MB / read, write, fsync",
        call: |round| {
            let (old, new) = if round.is_multiple_of(2) { ("needle", "NEEDLE") } else { ("NEEDLE", "needle") };
            ("str_replace", json!({ "path": "middling", "old_str": old, "new_str": new }))
        },
        floor: rewrite,
        target: None,
    },
    Case {
        name: "grep over 20,000 files / rg",
        call: |_| ("grep", json!({ "pattern": "needle[0-9]+x", "mode": "content" })),
        floor: |at| floor::run("rg", &["--no-config", "-n", "needle[0-9]+x"], at),
        target: Some(Target::RatioAtMost(1.2)),
    },
    Case {
        name: "find over 20,000 files / rg --files",
        call: |_| ("find", json!({ "pattern": "*7.txt" })),
        floor: |at| floor::run("rg", &["--no-config", "--files", "-g", "*7.txt"], at),
        target: None,
    },
];

pub fn measure(options: &Options, scratch: &Path) -> Vec<Row> {
    let project = scratch.join("files");
    prepare(&project).expect("the scratch directory takes files");
    let ours = options.servers.iter().filter(|subject| subject.ours);
    ours.flat_map(|subject| CASES.iter().flat_map(|case| rows(subject, case, &project))).collect()
}

fn rows(subject: &Subject, case: &Case, project: &Path) -> Vec<Row> {
    match once(subject, case, project) {
        Ok((time, growth)) => vec![
            row(subject, case.name, Ok(time), case.target),
            row(subject, "  its memory growth", Ok(growth), Some(Target::ValueAtMost(64.0))),
        ],
        Err(error) => vec![row(subject, case.name, Err(error), case.target)],
    }
}

/// Samples server and floor in turn, after one round that warms the page cache for both.
fn once(subject: &Subject, case: &Case, project: &Path) -> anyhow::Result<(Figure, Figure)> {
    let mut connection = Connection::open(subject, project)?;
    connection.list_tools()?;
    let before = memory::resident(connection.pid())?;
    memory::forget_peak(connection.pid())?;
    let (mut times, mut floors) = (Samples::default(), Samples::default());
    for round in 0..=ROUNDS {
        let (tool, arguments) = (case.call)(round);
        let time = connection.call_tool(tool, &arguments)?;
        let floor = (case.floor)(project)?;
        if round > 0 {
            times.add(time);
            floors.add(floor);
        }
    }
    let growth = memory::peak(connection.pid())? - before;
    Ok((Figure::over(times.median(), floors.median(), "ms"), Figure::alone(growth, "MiB")))
}

fn prepare(project: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(project)?;
    let line =
        "a line of text as programs have it, a hundred characters long with its end, and nothing special in it\n";
    std::fs::write(project.join("large"), line.repeat(LARGE / line.len()))?;
    let middle = line.repeat(MIDDLING / line.len() / 2);
    std::fs::write(project.join("middling"), format!("{middle}needle\n{middle}"))?;
    // Ignored by searches, as build products are.
    std::fs::write(project.join(".gitignore"), "large\nmiddling\n")?;
    std::fs::create_dir(project.join(".git"))?;
    for number in 0..FILES {
        let directory = project.join(format!("d{}/e{}", number % 50, number % 7));
        std::fs::create_dir_all(&directory)?;
        let special = if number.is_multiple_of(1000) { format!("needle{number}x\n") } else { String::new() };
        std::fs::write(directory.join(format!("{number}.txt")), line.repeat(30) + &special)?;
    }
    Ok(())
}

/// The steps that every edit of a file needs.
fn rewrite(project: &Path) -> anyhow::Result<Duration> {
    let begun = Instant::now();
    let content = std::fs::read(project.join("middling"))?;
    let mut file = std::fs::File::create(project.join("floor")).context("failed to write the floor's file")?;
    file.write_all(&content)?;
    file.sync_all()?;
    std::fs::rename(project.join("floor"), project.join("floor.done"))?;
    let time = begun.elapsed();
    std::fs::remove_file(project.join("floor.done"))?;
    Ok(time)
}
