//! A command that prints a hundred megabytes, compared with the same command piped into a file.

use std::path::Path;
use std::time::Duration;

use super::row;
use crate::driver::Connection;
use crate::options::{Options, Subject};
use crate::samples::Samples;
use crate::table::{Figure, Row, Target};
use crate::{floor, memory};

const TEXT: &str = r"head -c 100000000 /dev/zero | tr '\0' x";
const MEGABYTES: f64 = 100.0;
const ROUNDS: usize = 7;
const PROMISED_SPEED: Target = Target::RatioAtLeast(0.7);
const PROMISED_GROWTH_MEBIBYTES: Target = Target::ValueAtMost(16.0);

#[derive(Default)]
struct Run {
    times: Samples,
    growth: f64,
}

pub fn measure(options: &Options, scratch: &Path) -> Vec<Row> {
    let mut floor = Samples::default();
    let mut runs: Vec<anyhow::Result<Run>> = options.servers.iter().map(|_| Ok(Run::default())).collect();
    for _ in 0..ROUNDS {
        floor.add(floor::into_file(TEXT, scratch).expect("the pipe runs"));
        for (subject, run) in options.servers.iter().zip(&mut runs) {
            if let Ok(good) = run {
                match once(subject, scratch) {
                    Ok((time, growth)) => {
                        good.times.add(time);
                        good.growth = good.growth.max(growth);
                    }
                    Err(error) => *run = Err(error),
                }
            }
        }
    }
    let speed = |samples: &Samples| MEGABYTES / (samples.median() / 1e3);
    let rows = options.servers.iter().zip(runs).map(|(subject, run)| match run {
        Ok(run) => {
            let through = Figure::over(speed(&run.times), speed(&floor), "MB/s");
            let growth = Figure::alone(run.growth, "MiB");
            vec![
                row(subject, "100 MB of output / the pipe into a file", Ok(through), Some(PROMISED_SPEED)),
                row(subject, "100 MB of output, memory growth", Ok(growth), Some(PROMISED_GROWTH_MEBIBYTES)),
            ]
        }
        Err(error) => vec![row(subject, "100 MB of output", Err(error), Some(PROMISED_SPEED))],
    });
    rows.flatten().collect()
}

/// Measures a new server each time: one that still holds its last output would show no growth.
fn once(subject: &Subject, scratch: &Path) -> anyhow::Result<(Duration, f64)> {
    let mut connection = Connection::open(subject, scratch)?;
    connection.call("true")?;
    let before = memory::resident(connection.pid())?;
    memory::forget_peak(connection.pid())?;
    let time = connection.call(TEXT)?;
    Ok((time, memory::peak(connection.pid())? - before))
}
