//! Fifty calls at once, each of which only sleeps.

use std::path::Path;
use std::time::{Duration, Instant};

use super::row;
use crate::driver::Connection;
use crate::floor;
use crate::options::{Options, Subject};
use crate::samples::Samples;
use crate::table::{Figure, Row, Target};

const TEXT: &str = "sleep 0.2";
const CALLS: usize = 50;
const ROUNDS: usize = 5;
const NAME: &str = "50 × `sleep 0.2` at once / 50 bash -c";
const PROMISED_MILLIS: Target = Target::ValueAtMost(500.0);

pub fn measure(options: &Options, scratch: &Path) -> Vec<Row> {
    let mut floor = Samples::default();
    let mut runs: Vec<anyhow::Result<Samples>> = options.servers.iter().map(|_| Ok(Samples::default())).collect();
    for _ in 0..ROUNDS {
        floor.add(floor::parallel_bash(TEXT, CALLS).expect("bash runs"));
        for (subject, run) in options.servers.iter().zip(&mut runs) {
            if let Ok(samples) = run {
                match once(subject, scratch) {
                    Ok(time) => samples.add(time),
                    Err(error) => *run = Err(error),
                }
            }
        }
    }
    let figures = runs.into_iter().map(|run| Ok(Figure::over(run?.median(), floor.median(), "ms")));
    let pairs = options.servers.iter().zip(figures);
    pairs.map(|(subject, figure)| row(subject, NAME, figure, Some(PROMISED_MILLIS))).collect()
}

fn once(subject: &Subject, scratch: &Path) -> anyhow::Result<Duration> {
    let mut connection = Connection::open(subject, scratch)?;
    connection.call("true")?;
    let begun = Instant::now();
    let sent = (0..CALLS).map(|_| connection.send_call(TEXT)).collect::<Result<Vec<_>, _>>()?;
    let mut longest = Duration::ZERO;
    for (id, at) in sent {
        longest = longest.max(connection.wait_call(id, at)? + (at - begun));
    }
    Ok(longest)
}
