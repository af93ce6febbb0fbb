//! Short commands beside a task that prints without end. The floor is the same commands without it.

use std::path::Path;

use serde_json::json;

use super::row;
use crate::driver::Connection;
use crate::options::Options;
use crate::samples::Samples;
use crate::subject::Subject;
use crate::table::{Figure, Row, Target};

const COMMANDS: usize = 50;
const NAME: &str = "`true` beside an endless printer / alone, 95 % of 50";

pub fn measure(options: &Options, scratch: &Path) -> Vec<Row> {
    let ours = options.servers.iter().filter(|subject| subject.ours);
    ours.map(|subject| row(subject, NAME, once(&ordinary(subject), scratch), Some(Target::RatioAtMost(2.0)))).collect()
}

/// The server with the ordinary priority. A printer with real-time priority keeps its processor until it waits for somebody,
/// and the kernel stops all such processes for a while when they use everything.
fn ordinary(subject: &Subject) -> Subject {
    let words = ["chrt", "-o", "0"].map(str::to_owned).into_iter().chain(subject.words.iter().cloned()).collect();
    Subject { words, ..subject.clone() }
}

fn once(subject: &Subject, scratch: &Path) -> anyhow::Result<Figure> {
    let mut connection = Connection::open(subject, scratch)?;
    let mut p95 = || -> anyhow::Result<f64> {
        let mut samples = Samples::default();
        (0..COMMANDS).try_for_each(|_| connection.call("true").map(|time| samples.add(time)))?;
        Ok(samples.p95())
    };
    p95()?;
    let alone = p95()?;
    connection.call_tool(&subject.tool, &json!({ "command": "yes", "run_in_background": true }))?;
    let mut samples = Samples::default();
    (0..COMMANDS).try_for_each(|_| connection.call("true").map(|time| samples.add(time)))?;
    Ok(Figure::over(samples.p95(), alone, "ms"))
}
