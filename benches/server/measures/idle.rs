//! The memory of an idle server that has answered a few calls.

use std::path::Path;
use std::time::Duration;

use super::row;
use crate::driver::Connection;
use crate::memory;
use crate::options::Options;
use crate::subject::Subject;
use crate::table::{Figure, Row, Target};

const PROMISED_MEBIBYTES: Target = Target::ValueAtMost(6.0);
/// Our server gives memory back within four seconds after its last call.
const SETTLE: Duration = Duration::from_secs(5);

pub fn measure(options: &Options, scratch: &Path) -> Vec<Row> {
    options.servers.iter().flat_map(|subject| rows(subject, weigh(subject, scratch))).collect()
}

struct Weight {
    server: f64,
    helpers: f64,
}

fn weigh(subject: &Subject, scratch: &Path) -> anyhow::Result<Weight> {
    let mut connection = Connection::open(subject, scratch)?;
    connection.list_tools()?;
    for _ in 0..if subject.shell { 20 } else { 0 } {
        connection.call("true")?;
    }
    std::thread::sleep(SETTLE);
    let helpers = memory::descendants(connection.pid());
    Ok(Weight {
        server: memory::resident(connection.pid())?,
        helpers: helpers.into_iter().map(memory::proportional).sum::<Result<f64, _>>()?.max(0.0),
    })
}

fn rows(subject: &Subject, weight: anyhow::Result<Weight>) -> Vec<Row> {
    match weight {
        Ok(weight) => vec![
            row(subject, "idle, server (RSS)", Ok(Figure::alone(weight.server, "MiB")), Some(PROMISED_MEBIBYTES)),
            row(subject, "idle, its helpers (sum of PSS)", Ok(Figure::alone(weight.helpers, "MiB")), None),
        ],
        Err(error) => vec![row(subject, "idle", Err(error), Some(PROMISED_MEBIBYTES))],
    }
}
