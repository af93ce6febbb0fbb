//! The file tools: an edit in a medium-sized file and a search for names, beside other servers; and what only testudo is asked:
//! a window in a large file, a text that is almost in a file, a search for content, a picture.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};

use super::row;
use crate::driver::Connection;
use crate::options::Options;
use crate::samples::Samples;
use crate::subject::Subject;
use crate::table::{Figure, Row, Target};
use crate::{floor, memory};

const ROUNDS: usize = 9;
/// What a server does after its answer, such as freeing the old file, must not count in the next sample.
const APART: Duration = Duration::from_millis(20);
pub const FILES: usize = 20_000;
const LARGE: usize = 200_000_000;
const MIDDLING: usize = 10_000_000;
pub const LINE: &str =
    "a line of text as programs have it, a hundred characters long with its end, and nothing special in it\n";

/// One measurement: a call, the floor it is compared with, and the promises.
struct Case {
    name: &'static str,
    /// `None` if the server has no such tool.
    call: fn(&Subject, &Path, round: usize) -> Option<(&'static str, Value)>,
    floor: fn(&Path) -> anyhow::Result<Duration>,
    target: Target,
    most_mebibytes: f64,
}

const CASES: [Case; 5] = [
    Case {
        name: "an edit in 10 MB / read, write, fsync",
        call: |subject, at, round| {
            let (old, new) = if round.is_multiple_of(2) { ("needle", "NEEDLE") } else { ("NEEDLE", "needle") };
            Some((subject.files?.edit)(&at.join("middling"), old, new))
        },
        floor: rewrite,
        target: Target::RatioAtMost(1.5),
        most_mebibytes: 20.0,
    },
    Case {
        name: "find over 20,000 files / rg --files",
        call: |subject, at, _| Some((subject.files?.find?)(at, "*7.txt")),
        floor: |at| floor::run("rg", &["--no-config", "--files"], at),
        target: Target::RatioAtMost(1.1),
        most_mebibytes: 64.0,
    },
    Case {
        name: "find over 20,000 files / rg --files -g",
        call: |subject, at, _| Some((subject.files?.find?)(at, "*7.txt")).filter(|_| subject.ours),
        floor: |at| floor::run("rg", &["--no-config", "--files", "-g", "*7.txt"], at),
        target: Target::RatioAtMost(1.1),
        most_mebibytes: 64.0,
    },
    Case {
        name: "grep over 20,000 files / rg",
        call: |subject, _, _| subject.ours.then(|| ("grep", json!({ "pattern": "needle[0-9]+x", "mode": "content" }))),
        floor: |at| floor::run("rg", &["--no-config", "-n", "needle[0-9]+x"], at),
        target: Target::RatioAtMost(1.2),
        most_mebibytes: 64.0,
    },
    Case {
        name: "100 lines in the middle of 200 MB / sed -n",
        call: |subject, _, _| {
            subject.ours.then(|| ("view", json!({ "path": "large", "view_range": [1_000_000, 1_000_099] })))
        },
        floor: |at| floor::run("sed", &["-n", "1000000,1000099p;1000099q", "large"], at),
        target: Target::RatioAtMost(1.5),
        most_mebibytes: 64.0,
    },
];

pub fn measure(options: &Options, scratch: &Path) -> Vec<Row> {
    let project = scratch.join("files");
    prepare(&project).expect("the scratch directory takes files");
    let mut rows: Vec<Row> = CASES.iter().flat_map(|case| of_case(options, case, &project)).collect();
    if let Some(ours) = options.ours() {
        let first = "first grep of a server, 20,000 files / rg";
        rows.push(row(ours, first, first_grep(ours, &project), Some(Target::RatioAtMost(2.0))));
        let near = "5 MB that are not in 10 MB, explained";
        rows.push(row(ours, near, near_miss(ours, &project), Some(Target::ValueAtMost(1000.0))));
        rows.push(row(ours, "view of a photo of 12 megapixels", photo(ours, &project), None));
    }
    rows
}

/// Samples servers and floor in turn, after one round that warms the page cache for all.
fn of_case(options: &Options, case: &Case, project: &Path) -> Vec<Row> {
    let able = options.servers.iter().filter(|subject| (case.call)(subject, project, 0).is_some());
    let open = |subject| {
        let mut connection = Connection::open(subject, project)?;
        connection.list_tools()?;
        let before = memory::resident(connection.pid())?;
        memory::forget_peak(connection.pid())?;
        anyhow::Ok((connection, before, Samples::default()))
    };
    let mut runs: Vec<_> = able.map(|subject| (subject, open(subject))).collect();
    let mut floors = Samples::default();
    for round in 0..=ROUNDS {
        std::thread::sleep(APART);
        let time = (case.floor)(project).expect("the floor runs");
        if round > 0 {
            floors.add(time);
        }
        // Each server finds the file as the one before it did.
        for (subject, run) in &mut runs {
            let Ok((connection, _, samples)) = run else { continue };
            let (tool, arguments) = (case.call)(subject, project, 0).expect("it has the tool");
            let (back, undo) = (case.call)(subject, project, 1).expect("it has the tool");
            std::thread::sleep(APART);
            let twice = connection.call_tool(tool, &arguments).and_then(|time| {
                if undo != arguments {
                    connection.call_tool(back, &undo)?;
                }
                Ok(time)
            });
            match twice {
                Ok(time) if round > 0 => samples.add(time),
                Ok(_) => {}
                Err(error) => {
                    *run = Err(error);
                    prepare_middling(project).expect("the scratch directory takes files");
                }
            }
        }
    }
    let rows = runs.into_iter().flat_map(|(subject, run)| match run {
        Ok((connection, before, samples)) => {
            let figure = Figure::over(samples.median(), floors.median(), "ms").with_p95(samples.p95());
            let growth = memory::peak(connection.pid()).map(|peak| Figure::alone(peak - before, "MiB"));
            let (what, _) = case.name.split_once(" / ").unwrap_or((case.name, ""));
            let bound = Some(Target::ValueAtMost(case.most_mebibytes));
            let memory = row(subject, &format!("{what}, memory growth"), growth, bound);
            vec![row(subject, case.name, Ok(figure), Some(case.target)), memory]
        }
        Err(error) => vec![row(subject, case.name, Err(error), Some(case.target))],
    });
    rows.collect()
}

/// The walk and the threads of a search are new, the files are in the page cache.
fn first_grep(ours: &Subject, project: &Path) -> anyhow::Result<Figure> {
    let (mut times, mut floors) = (Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        floors.add(floor::run("rg", &["--no-config", "-n", "needle[0-9]+x"], project)?);
        let mut connection = Connection::open(ours, project)?;
        connection.list_tools()?;
        times.add(connection.call_tool("grep", &json!({ "pattern": "needle[0-9]+x", "mode": "content" }))?);
    }
    Ok(Figure::over(times.median(), floors.median(), "ms").with_p95(times.p95()))
}

/// The worst of several texts that are almost in the file, or not at all.
fn near_miss(ours: &Subject, project: &Path) -> anyhow::Result<Figure> {
    let numbered = |count: usize| (0..count).map(|n| format!("line {n} of the text\n")).collect::<Vec<_>>().concat();
    let texts = [
        (numbered(440_000), numbered(220_000) + "something else"),
        ("x\n".repeat(5_000_000), "x\n".repeat(2_500_000) + "y"),
        ("x".repeat(10_000_000), "x".repeat(5_000_000) + "y"),
        ("\tsay “a”\r\n".repeat(700_000), "    say \"a\"\n".repeat(350_000) + "no"),
    ];
    let mut worst = Duration::ZERO;
    let mut connection = Connection::open(ours, project)?;
    for (file, old) in texts {
        std::fs::write(project.join("near"), file)?;
        let arguments = json!({ "path": "near", "old_str": old, "new_str": "z" });
        worst = worst.max(connection.refused("str_replace", &arguments)?);
    }
    std::fs::remove_file(project.join("near"))?;
    Ok(Figure::alone(worst.as_secs_f64() * 1e3, "ms"))
}

fn photo(ours: &Subject, project: &Path) -> anyhow::Result<Figure> {
    let picture = image::RgbImage::from_fn(4000, 3000, |x, y| {
        let low = |number: u32| number.to_le_bytes()[0];
        image::Rgb([low(x / 16), low(y / 12), low((x * 7919) ^ (y * 104_729)) / 4 + 64])
    });
    picture.save(project.join("photo.jpg"))?;
    let mut connection = Connection::open(ours, project)?;
    let mut times = Samples::default();
    for _ in 0..5 {
        times.add(connection.call_tool("view", &json!({ "path": "photo.jpg" }))?);
    }
    std::fs::remove_file(project.join("photo.jpg"))?;
    Ok(Figure::alone(times.median(), "ms").with_p95(times.p95()))
}

fn prepare(project: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(project)?;
    std::fs::write(project.join("large"), LINE.repeat(LARGE / LINE.len()))?;
    prepare_middling(project)?;
    // Ignored by searches, as build products are.
    std::fs::write(project.join(".gitignore"), "large\nmiddling\n")?;
    std::fs::create_dir_all(project.join(".git"))?;
    for number in 0..FILES {
        let directory = project.join(format!("d{}/e{}", number % 50, number % 7));
        std::fs::create_dir_all(&directory)?;
        let special = if number.is_multiple_of(1000) { format!("needle{number}x\n") } else { String::new() };
        std::fs::write(directory.join(format!("{number}.txt")), LINE.repeat(30) + &special)?;
    }
    Ok(())
}

fn prepare_middling(project: &Path) -> anyhow::Result<()> {
    let middle = LINE.repeat(MIDDLING / LINE.len() / 2);
    Ok(std::fs::write(project.join("middling"), format!("{middle}needle\n{middle}"))?)
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
