//! How long a client waits for a new server: until its tools are known, and until the first command has run.

use std::path::Path;
use std::time::{Duration, Instant};

use super::{in_turn, row};
use crate::driver::Connection;
use crate::floor;
use crate::options::Options;
use crate::samples::Samples;
use crate::subject::Subject;
use crate::table::{Figure, Row, Target};

/// Servers that take half a second to start make more rounds tedious.
const ROUNDS: usize = 15;
const PROMISED_MILLIS: Target = Target::ValueAtMost(5.0);
const NAMES: [&str; 2] = ["start to tools/list / spawn /bin/true", "first command of a server / spawn bash -c true"];

#[derive(Default)]
struct Run {
    listed: Samples,
    called: Samples,
}

pub fn measure(options: &Options, scratch: &Path) -> Vec<Row> {
    let (mut smallest, mut shell) = (Samples::default(), Samples::default());
    let floors = || {
        smallest.add(floor::spawn_true().expect("/bin/true runs"));
        shell.add(floor::spawn_bash("true").expect("bash runs"));
    };
    let subjects: Vec<&Subject> = options.servers.iter().collect();
    let runs = in_turn(&subjects, ROUNDS, floors, |subject, run: &mut Run| once(subject, scratch, run));
    let rows = runs.into_iter().flat_map(|(subject, run)| match run {
        Ok(Run { listed, called }) => {
            let over = |samples: &Samples, floor: &Samples| {
                Ok(Figure::over(samples.median(), floor.median(), "ms").with_p95(samples.p95()))
            };
            let list = row(subject, NAMES[0], over(&listed, &smallest), Some(PROMISED_MILLIS));
            let call = subject.shell.then(|| row(subject, NAMES[1], over(&called, &shell), None));
            [Some(list), call].into_iter().flatten().collect()
        }
        Err(error) => vec![row(subject, NAMES[0], Err(error), Some(PROMISED_MILLIS))],
    });
    rows.collect()
}

fn once(subject: &Subject, scratch: &Path, run: &mut Run) -> anyhow::Result<()> {
    let begun = Instant::now();
    let mut connection = Connection::open(subject, scratch)?;
    connection.list_tools()?;
    run.listed.add(begun.elapsed());
    run.called.add(if subject.shell { connection.call("true")? } else { Duration::ZERO });
    Ok(())
}
