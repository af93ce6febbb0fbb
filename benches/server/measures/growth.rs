//! How the cost grows with the work: parallel commands, sessions, bytes of output, files, stored outputs. Each step has ten times
//! (or a few times) the work of the step before it.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::files::LINE;
use super::row;
use crate::driver::Connection;
use crate::http_client::{HttpServer, HttpSession};
use crate::options::Options;
use crate::plot::{Line, Plot};
use crate::samples::Samples;
use crate::subject::Subject;
use crate::table::{Figure, Row, Target};
use crate::{floor, machine, memory};

/// Timer and cache effects aside: ten times the work may cost ten times as much.
const LINEAR: Target = Target::RatioAtMost(1.2);

pub fn measure(options: &Options, scratch: &Path) -> (Vec<Row>, Vec<Plot>) {
    let Some(ours) = options.ours() else { return (Vec::new(), Vec::new()) };
    let series = [
        ("200 commands at once", machine::at_ordinary_priority(|| parallel(ours, scratch))),
        ("1,000 sessions held open, memory", machine::at_ordinary_priority(|| sessions(ours, scratch))),
        ("3 GB of output", machine::at_ordinary_priority(|| output(ours, scratch))),
        ("500,000 files", files(ours, scratch)),
        ("10,000 stored outputs", stored(ours, scratch)),
    ];
    let (mut rows, mut plots) = (Vec::new(), Vec::new());
    for (name, plot) in series {
        let name = format!("{name} / in proportion to the step before");
        match plot {
            Ok(plot) => {
                rows.push(row(ours, &name, Ok(against_linear(&plot.lines[0])), Some(LINEAR)));
                plots.push(plot);
            }
            Err(error) => rows.push(row(ours, &name, Err(error), Some(LINEAR))),
        }
    }
    (rows, plots)
}

/// The last point beside what it would be if the cost had grown like the work since the point before it.
fn against_linear(line: &Line) -> Figure {
    let [.., (less, cheaper), (most, dearest)] = line.points[..] else { return Figure::alone(f64::NAN, "") };
    Figure::over(dearest, cheaper * (most / less), "")
}

fn parallel(ours: &Subject, scratch: &Path) -> anyhow::Result<Plot> {
    let (mut server, mut bare) = (Vec::new(), Vec::new());
    let mut connection = Connection::open(ours, scratch)?;
    for count in [1, 2, 5, 10, 20, 50, 100, 200] {
        let at_once = |connection: &mut Connection<'_>| -> anyhow::Result<Duration> {
            let begun = Instant::now();
            let sent = (0..count).map(|_| connection.send_call("true")).collect::<Result<Vec<_>, _>>()?;
            sent.into_iter().try_for_each(|(id, at)| connection.wait_call(id, at).map(drop))?;
            Ok(begun.elapsed())
        };
        server.push((number(count), median(5, || at_once(&mut connection))?));
        bare.push((number(count), median(5, || floor::parallel_bash("true", count))?));
    }
    let lines = vec![line("testudo", server), line("bash -c true", bare)];
    Ok(Plot {
        file: "growth-parallel",
        title: "Commands at once",
        across: "commands",
        up: "ms until all have ended",
        lines,
    })
}

fn sessions(ours: &Subject, scratch: &Path) -> anyhow::Result<Plot> {
    let config = scratch.join("sessions.toml");
    let text = "[http]\nmax_sessions = 2000\nmax_connections = 4000\n[sandbox.limits]\ntotal_processes = 40000\n";
    std::fs::write(&config, text)?;
    let project = scratch.join("sessions-project");
    std::fs::create_dir_all(&project)?;
    let subject = ours.with_flags(&ours.name, &["--config", &config.display().to_string()]);
    let server = HttpServer::start(&subject, &project)?;
    let (mut memory_used, mut waits, mut held) = (Vec::new(), Vec::new(), Vec::new());
    let start = memory::resident(server.pid())?;
    for count in [1, 10, 100, 300, 1000] {
        while held.len() < count {
            let mut session = HttpSession::open(&server.address)?;
            session.call("bash", &json!({ "command": "true" }))?;
            held.push(session);
        }
        let first = &mut held[0];
        let wait = median(20, || {
            let begun = Instant::now();
            first.call("bash", &json!({ "command": "true" }))?;
            Ok(begun.elapsed())
        })?;
        waits.push((number(count), wait));
        memory_used.push((number(count), memory::resident(server.pid())? - start));
    }
    let lines =
        vec![line("MiB of server memory for them", memory_used), line("ms for a command in one of them", waits)];
    Ok(Plot { file: "growth-sessions", title: "HTTP sessions held open", across: "sessions", up: "MiB, ms", lines })
}

fn output(ours: &Subject, scratch: &Path) -> anyhow::Result<Plot> {
    let (mut server, mut bare) = (Vec::new(), Vec::new());
    let mut connection = Connection::open(ours, scratch)?;
    for bytes in [1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 3_000_000_000] {
        let text = format!("head -c {bytes} /dev/zero | tr '\\0' x");
        let rounds = if bytes > 100_000_000 { 1 } else { 3 };
        server.push((number(bytes), median(rounds, || connection.call(&text))?));
        bare.push((number(bytes), median(rounds, || floor::read_by_one(&text))?));
    }
    let lines = vec![line("testudo", server), line("one reader of the pipe", bare)];
    Ok(Plot { file: "growth-output", title: "Output of a command", across: "bytes", up: "ms", lines })
}

fn files(ours: &Subject, scratch: &Path) -> anyhow::Result<Plot> {
    let project = scratch.join("many");
    let mut made = 0;
    let [mut find, mut names, mut grep, mut rg] = [const { Vec::new() }; 4];
    for count in [1, 10, 100, 1_000, 10_000, 100_000, 500_000] {
        while made < count {
            let directory = project.join(format!("d{}", made / 1000));
            std::fs::create_dir_all(&directory)?;
            std::fs::write(directory.join(format!("{made}.txt")), LINE)?;
            made += 1;
        }
        let rounds = if count > 10_000 { 1 } else { 3 };
        let mut connection = Connection::open(ours, &project)?;
        let (pattern, words) = (json!({ "pattern": "*77.txt" }), json!({ "pattern": "needle[0-9]+x" }));
        let x = number(count);
        // The first search of a server runs beside its look at the whole project. It has a measure of its own.
        connection.call_tool("find", &pattern)?;
        names.push((
            x,
            median(rounds, || floor::run("sh", &["-c", "rg --no-config --files -g '*77.txt' || :"], &project))?,
        ));
        find.push((x, median(rounds, || connection.call_tool("find", &pattern))?));
        rg.push((x, median(rounds, || floor::run("sh", &["-c", "rg --no-config 'needle[0-9]+x' || :"], &project))?));
        grep.push((x, median(rounds, || connection.call_tool("grep", &words))?));
    }
    std::fs::remove_dir_all(&project)?;
    let lines = vec![line("find", find), line("rg --files", names), line("grep", grep), line("rg", rg)];
    Ok(Plot { file: "growth-files", title: "Searches", across: "files", up: "ms", lines })
}

/// Commands whose output is stored on disk, all of which can still be read.
fn stored(ours: &Subject, scratch: &Path) -> anyhow::Result<Plot> {
    let (mut printing, mut silent, mut made) = (Vec::new(), Vec::new(), 0);
    let mut connection = Connection::open(ours, scratch)?;
    for count in [1, 10, 100, 1_000, 10_000_usize] {
        let mut times = Samples::default();
        while made < count {
            let time = connection.call("printf %70000s x")?;
            made += 1;
            // The last few are those beside so many stored outputs.
            if count - made < 20 {
                times.add(time);
            }
        }
        printing.push((number(count), times.median()));
        silent.push((number(count), median(20, || connection.call("true"))?));
    }
    let lines = vec![line("a command that prints 70 KB", printing), line("`true`", silent)];
    Ok(Plot { file: "growth-stored", title: "Stored outputs", across: "outputs stored before it", up: "ms", lines })
}

fn median(rounds: usize, mut once: impl FnMut() -> anyhow::Result<Duration>) -> anyhow::Result<f64> {
    let mut samples = Samples::default();
    (0..rounds).try_for_each(|_| once().map(|time| samples.add(time)))?;
    Ok(samples.median())
}

fn line(name: &str, points: Vec<(f64, f64)>) -> Line {
    Line { name: name.to_owned(), points }
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn number(count: usize) -> f64 {
    count as f64
}
