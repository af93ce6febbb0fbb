//! Commands that print a lot: a hundred megabytes, three gigabytes, and a million short lines whose progress is reported. Each is
//! compared with the same command whose pipe is read by one reader that drops what it reads. The first is also compared with one
//! reader that keeps it in a file, as testudo does.

use std::path::Path;
use std::time::Duration;

use super::{in_turn, row};
use crate::driver::Connection;
use crate::options::Options;
use crate::samples::Samples;
use crate::subject::Subject;
use crate::table::{Figure, Row, Target};
use crate::{floor, machine, memory};

const TEXT: &str = "head -c 100000000 /dev/zero | tr '\\0' x";
const LARGE: &str = "head -c 3000000000 /dev/zero | tr '\\0' x";
const LINES: &str = "seq 1000000";
const ROUNDS: usize = 5;
const ROUNDS_OF_LARGE: usize = 3;
/// A new server writes the beginning of its log right after its first call. That takes 3 ms once, and is not what is measured.
const SETTLED: Duration = Duration::from_millis(100);
const PROMISED_SPEED: Target = Target::RatioAtLeast(0.9);
const PROMISED_GROWTH_MEBIBYTES: Target = Target::ValueAtMost(16.0);

#[derive(Default)]
struct Run {
    times: Samples,
    growth: f64,
}

type Call = fn(&mut Connection<'_>, &str) -> anyhow::Result<Duration>;

pub fn measure(options: &Options, scratch: &Path) -> Vec<Row> {
    let ours = options.testudos();
    // A server without a shell cannot run a pipe.
    let shells: Vec<&Subject> = options.shells().into_iter().filter(|subject| !subject.takes_words()).collect();
    let call: Call = |connection, text| connection.call(text);
    let with_progress: Call = |connection, text| connection.call_with_progress(text);
    // With real-time priority, a command and its server keep both processors from the kernel's threads, which write to the disk.
    machine::at_ordinary_priority(|| {
        [
            rows(&shells, scratch, ROUNDS, ("100 MB of output", 100.0, TEXT), call),
            rows(&ours, scratch, ROUNDS_OF_LARGE, ("3 GB of output", 3000.0, LARGE), call),
            rows(&ours, scratch, ROUNDS, ("a million lines, progress on", 6.888_896, LINES), with_progress),
        ]
        .into_iter()
        .flatten()
        .collect()
    })
}

fn rows(
    subjects: &[&Subject],
    scratch: &Path,
    rounds: usize,
    (name, megabytes, text): (&str, f64, &str),
    call: Call,
) -> Vec<Row> {
    let (mut floor, mut storing) = (Samples::default(), Samples::default());
    let add_floors = || {
        floor.add(floor::read_by_one(text).expect("the pipe runs"));
        if text == TEXT {
            storing.add(floor::store_by_one(text, &scratch.join("stored")).expect("the scratch directory takes files"));
        }
    };
    let runs = in_turn(subjects, rounds, add_floors, |subject, run: &mut Run| {
        let (time, growth) = once(subject, scratch, text, call)?;
        run.times.add(time);
        run.growth = run.growth.max(growth);
        Ok(())
    });
    let speed = |samples: &Samples| megabytes / (samples.median() / 1e3);
    let rows = runs.into_iter().flat_map(|(subject, run)| match run {
        Ok(run) => {
            let through = |floor| Ok(Figure::over(speed(&run.times), speed(floor), "MB/s"));
            let growth = Figure::alone(run.growth, "MiB");
            let kept = format!("{name} / one reader that keeps it in a file");
            let kept = (text == TEXT).then(|| row(subject, &kept, through(&storing), None));
            let rows = [
                Some(row(subject, &format!("{name} / one reader of the pipe"), through(&floor), Some(PROMISED_SPEED))),
                kept,
                Some(row(subject, &format!("{name}, memory growth"), Ok(growth), Some(PROMISED_GROWTH_MEBIBYTES))),
            ];
            rows.into_iter().flatten().collect()
        }
        Err(error) => vec![row(subject, &format!("{name} / one reader of the pipe"), Err(error), Some(PROMISED_SPEED))],
    });
    rows.collect()
}

/// Measures a new server each time: one that still holds its last output would show no growth.
fn once(subject: &Subject, scratch: &Path, text: &str, call: Call) -> anyhow::Result<(Duration, f64)> {
    let mut connection = Connection::open(subject, scratch)?;
    connection.call("true")?;
    std::thread::sleep(SETTLED);
    let before = memory::resident(connection.pid())?;
    memory::forget_peak(connection.pid())?;
    let time = call(&mut connection, text)?;
    Ok((time, memory::peak(connection.pid())? - before))
}
