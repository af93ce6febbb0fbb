//! A call that does nothing, compared with starting the same shell without a server.

use std::path::Path;
use std::time::Duration;

use super::row;
use crate::driver::Connection;
use crate::floor;
use crate::options::{Options, Subject};
use crate::samples::Samples;
use crate::table::{Figure, Row, Target};

const TEXT: &str = "true";
/// After so many calls the keeper runs, the caches are warm and the threads exist.
const WARM_UP: usize = 20;
const PROMISED: Target = Target::RatioAtMost(1.3);

struct Run<'a> {
    subject: &'a Subject,
    /// Becomes the first error, and then stays so.
    calls: anyhow::Result<(Connection<'a>, Samples)>,
}

pub fn measure(options: &Options, scratch: &Path) -> Vec<Row> {
    let mut runs: Vec<Run<'_>> =
        options.servers.iter().map(|subject| Run { subject, calls: warm(subject, scratch) }).collect();
    let (mut smallest, mut shell) = (Samples::default(), Samples::default());
    for _ in 0..options.rounds {
        rest();
        smallest.add(floor::spawn_true().expect("/bin/true runs"));
        rest();
        shell.add(floor::spawn_bash(TEXT).expect("bash runs"));
        for run in &mut runs {
            rest();
            run.sample();
        }
        // The server measured right after the floor finds other caches than the last one, so they take turns.
        runs.rotate_left(1);
    }
    runs.sort_by_key(|run| options.servers.iter().position(|subject| std::ptr::eq(subject, run.subject)));
    runs.into_iter().flat_map(|run| run.rows(&smallest, &shell)).collect()
}

/// An agent thinks between two calls, and a server may use that time, for example to start the next shell. Without a
/// pause that work would slow down the next measurement.
fn rest() {
    std::thread::sleep(Duration::from_millis(5));
}

fn warm<'a>(subject: &'a Subject, scratch: &Path) -> anyhow::Result<(Connection<'a>, Samples)> {
    let mut connection = Connection::open(subject, scratch)?;
    for _ in 0..WARM_UP {
        connection.call(TEXT)?;
    }
    Ok((connection, Samples::default()))
}

impl Run<'_> {
    fn sample(&mut self) {
        if let Ok((connection, samples)) = &mut self.calls {
            match connection.call(TEXT) {
                Ok(time) => samples.add(time),
                Err(error) => self.calls = Err(error),
            }
        }
    }

    fn rows(self, smallest: &Samples, shell: &Samples) -> Vec<Row> {
        let samples = match self.calls {
            Ok((_, samples)) => samples,
            Err(error) => return vec![row(self.subject, "latency of `true`", Err(error), Some(PROMISED))],
        };
        let against_shell = |percent| Figure::over(samples.percentile(percent), shell.percentile(percent), "ms");
        let against_smallest = Figure::over(samples.median(), smallest.median(), "ms");
        vec![
            row(self.subject, "`true` / spawn bash -c true, median", Ok(against_shell(50)), Some(PROMISED)),
            row(self.subject, "`true` / spawn bash -c true, p90", Ok(against_shell(90)), None),
            row(self.subject, "`true` / spawn bash -c true, p99", Ok(against_shell(99)), None),
            row(self.subject, "`true` / spawn /bin/true, median", Ok(against_smallest), None),
        ]
    }
}
