//! A call that does nothing, compared with starting the same shell without a server: calls with a pause between them, as an
//! agent makes them, calls without a pause, and eight calls at once.

use std::path::Path;
use std::time::{Duration, Instant};

use super::row;
use crate::driver::Connection;
use crate::floor;
use crate::options::Options;
use crate::samples::Samples;
use crate::subject::Subject;
use crate::table::{Figure, Row, Target};

const TEXT: &str = "true";
/// After so many calls the keeper runs, the caches are warm and the threads exist.
const WARM_UP: usize = 10;
/// An agent thinks between two calls, and a server may use that time, for example to start the next shell.
const PAUSE: Duration = Duration::from_millis(20);
const IN_A_ROW: usize = 5;
const AT_ONCE: usize = 8;

/// One way of calling.
struct Way {
    name: &'static str,
    /// Takes one round of samples of a server, and of the floor.
    server: fn(&mut Connection<'_>, &mut Samples) -> anyhow::Result<()>,
    floor: fn(&mut Samples) -> anyhow::Result<()>,
    /// A round of several calls counts as several rounds.
    calls: usize,
    target: Target,
}

const WAYS: [Way; 3] = [
    Way {
        name: "`true`, calls 20 ms apart / spawn bash -c true",
        server: |connection, samples| {
            std::thread::sleep(PAUSE);
            samples.add(connection.call(TEXT)?);
            Ok(())
        },
        floor: |samples| {
            std::thread::sleep(PAUSE);
            samples.add(floor::spawn_bash(TEXT)?);
            Ok(())
        },
        calls: 1,
        target: Target::RatioAtMost(0.35),
    },
    Way {
        name: "`true`, back to back / spawn bash -c true",
        server: |connection, samples| {
            // The first one finds what was prepared in the pause before it.
            connection.call(TEXT)?;
            (0..IN_A_ROW).try_for_each(|_| connection.call(TEXT).map(|time| samples.add(time)))
        },
        floor: |samples| (0..IN_A_ROW).try_for_each(|_| floor::spawn_bash(TEXT).map(|time| samples.add(time))),
        calls: IN_A_ROW,
        target: Target::RatioAtMost(1.0),
    },
    Way {
        name: "8 × `true` at once / 8 bash -c true",
        server: |connection, samples| {
            let begun = Instant::now();
            let sent = (0..AT_ONCE).map(|_| connection.send_call(TEXT)).collect::<Result<Vec<_>, _>>()?;
            sent.into_iter().try_for_each(|(id, at)| connection.wait_call(id, at).map(drop))?;
            samples.add(begun.elapsed());
            Ok(())
        },
        floor: |samples| {
            samples.add(floor::parallel_bash(TEXT, AT_ONCE)?);
            Ok(())
        },
        calls: AT_ONCE,
        target: Target::RatioAtMost(1.0),
    },
];

pub fn measure(options: &Options, scratch: &Path) -> Vec<Row> {
    WAYS.iter().flat_map(|way| rows(options, scratch, way)).collect()
}

struct Run<'a> {
    subject: &'a Subject,
    /// Becomes the first error, and then stays so.
    calls: anyhow::Result<(Connection<'a>, Samples)>,
}

fn rows(options: &Options, scratch: &Path, way: &Way) -> Vec<Row> {
    let shells = options.shells();
    let mut runs: Vec<Run<'_>> = shells.iter().map(|subject| Run { subject, calls: warm(subject, scratch) }).collect();
    let mut floor = Samples::default();
    for _ in 0..options.rounds.div_ceil(way.calls) {
        (way.floor)(&mut floor).expect("bash runs");
        for run in &mut runs {
            if let Ok((connection, samples)) = &mut run.calls
                && let Err(error) = (way.server)(connection, samples)
            {
                run.calls = Err(error);
            }
        }
        // The server measured right after the floor finds other caches than the last one, so they take turns.
        runs.rotate_left(1);
    }
    runs.sort_by_key(|run| shells.iter().position(|subject| std::ptr::eq(*subject, run.subject)));
    runs.into_iter()
        .map(|run| {
            let over = |samples: &Samples| Figure::over(samples.median(), floor.median(), "ms").with_p95(samples.p95());
            row(run.subject, way.name, run.calls.map(|(_, samples)| over(&samples)), Some(way.target))
        })
        .collect()
}

fn warm<'a>(subject: &'a Subject, scratch: &Path) -> anyhow::Result<(Connection<'a>, Samples)> {
    let mut connection = Connection::open(subject, scratch)?;
    for _ in 0..WARM_UP {
        connection.call(TEXT)?;
    }
    Ok((connection, Samples::default()))
}
