//! How long a client waits for a new server: until its tools are known, and until the first command has run.

use std::path::Path;
use std::time::{Duration, Instant};

use super::row;
use crate::driver::Connection;
use crate::floor;
use crate::options::{Options, Subject};
use crate::samples::Samples;
use crate::table::{Figure, Row, Target};

const ROUNDS: usize = 30;
const PROMISED_MILLIS: Target = Target::ValueAtMost(10.0);

pub fn measure(options: &Options, scratch: &Path) -> Vec<Row> {
    let mut floor = Samples::default();
    let mut runs: Vec<anyhow::Result<(Samples, Samples)>> =
        options.servers.iter().map(|_| Ok((Samples::default(), Samples::default()))).collect();
    for _ in 0..ROUNDS {
        floor.add(floor::spawn_true().expect("/bin/true runs"));
        for (subject, run) in options.servers.iter().zip(&mut runs) {
            if let Ok((listed, called)) = run {
                match once(subject, scratch) {
                    Ok((list, call)) => {
                        listed.add(list);
                        called.add(call);
                    }
                    Err(error) => *run = Err(error),
                }
            }
        }
    }
    let rows = options.servers.iter().zip(runs).map(|(subject, run)| match run {
        Ok((listed, called)) => {
            let list = Figure::over(listed.median(), floor.median(), "ms");
            let call = Figure::over(called.median(), floor.median(), "ms");
            vec![
                row(subject, "start to tools/list / spawn /bin/true", Ok(list), Some(PROMISED_MILLIS)),
                row(subject, "first call, with its keeper / spawn /bin/true", Ok(call), None),
            ]
        }
        Err(error) => vec![row(subject, "start to tools/list", Err(error), Some(PROMISED_MILLIS))],
    });
    rows.flatten().collect()
}

fn once(subject: &Subject, scratch: &Path) -> anyhow::Result<(Duration, Duration)> {
    let begun = Instant::now();
    let mut connection = Connection::open(subject, scratch)?;
    connection.list_tools()?;
    let listed = begun.elapsed();
    Ok((listed, connection.call("true")?))
}
