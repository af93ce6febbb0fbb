//! Fifty calls at once, each of which only sleeps.

use std::path::Path;
use std::time::{Duration, Instant};

use super::{in_turn, row};
use crate::driver::Connection;
use crate::floor;
use crate::options::Options;
use crate::samples::Samples;
use crate::subject::Subject;
use crate::table::{Figure, Row, Target};

const TEXT: &str = "sleep 0.2";
const CALLS: usize = 50;
const ROUNDS: usize = 5;
const NAME: &str = "50 × `sleep 0.2` at once / 50 bash -c";
const PROMISED_MILLIS: Target = Target::ValueAtMost(500.0);

pub fn measure(options: &Options, scratch: &Path) -> Vec<Row> {
    let mut floor = Samples::default();
    let add_floor = || floor.add(floor::parallel_bash(TEXT, CALLS).expect("bash runs"));
    let runs = in_turn(&options.shells(), ROUNDS, add_floor, |subject, samples: &mut Samples| {
        samples.add(once(subject, scratch)?);
        Ok(())
    });
    let figure = |samples: &Samples| Figure::over(samples.median(), floor.median(), "ms").with_p95(samples.p95());
    runs.into_iter()
        .map(|(subject, run)| row(subject, NAME, run.map(|samples| figure(&samples)), Some(PROMISED_MILLIS)))
        .collect()
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
