//! The measures, in the order of the contract. When a server fails one, its row shows the reason. The
//! next measure still runs.

mod beside;
mod binary;
mod calls;
mod drafts;
mod facts;
mod files;
mod growth;
mod idle;
mod latency;
mod network;
mod output;
mod parallel;
mod sandbox;
mod sessions;
mod start;

use std::path::Path;

pub use facts::{Facts, QUESTIONS};

use crate::options::Options;
use crate::plot::Plot;
use crate::subject::Subject;
use crate::table::{Figure, Row, Target};

/// Everything that one run has found out.
pub struct Results {
    pub rows: Vec<Row>,
    pub plots: Vec<Plot>,
    pub facts: Vec<(String, anyhow::Result<Facts>)>,
}

type Measure = fn(&Options, &Path) -> Vec<Row>;

const MEASURES: [(&str, Measure); 13] = [
    ("latency", latency::measure),
    ("sandbox", sandbox::measure),
    ("network", network::measure),
    ("start", start::measure),
    ("idle", idle::measure),
    ("output", output::measure),
    ("beside", beside::measure),
    ("parallel", parallel::measure),
    ("files", files::measure),
    ("sessions", sessions::measure),
    ("calls", calls::measure),
    ("drafts", drafts::measure),
    ("binary", binary::measure),
];

pub fn all(options: &Options, scratch: &Path) -> Results {
    let mut results = Results { rows: Vec::new(), plots: Vec::new(), facts: Vec::new() };
    for (name, measure) in MEASURES {
        if options.wants(name) {
            progress(name);
            results.rows.extend(measure(options, scratch));
        }
    }
    if options.wants("growth") {
        progress("growth");
        let (rows, plots) = growth::measure(options, scratch);
        results.rows.extend(rows);
        results.plots = plots;
    }
    if options.wants("facts") {
        progress("facts");
        results.facts =
            options.shells().iter().map(|shell| (shell.name.clone(), facts::about(shell, scratch))).collect();
    }
    results
}

#[expect(clippy::print_stderr, reason = "the whole run takes minutes")]
fn progress(name: &str) {
    eprintln!("measuring {name}");
}

fn row(subject: &Subject, name: &str, result: anyhow::Result<Figure>, target: Option<Target>) -> Row {
    // Others have promised nothing.
    Row { server: subject.name.clone(), name: name.to_owned(), result, target: target.filter(|_| subject.ours) }
}

/// Takes samples of each server in turn. A server that fails once is not asked again, and its error is its result.
fn in_turn<'a, T: Default>(
    subjects: &[&'a Subject],
    rounds: usize,
    mut floor: impl FnMut(),
    mut sample: impl FnMut(&'a Subject, &mut T) -> anyhow::Result<()>,
) -> Vec<(&'a Subject, anyhow::Result<T>)> {
    let mut runs: Vec<(&Subject, anyhow::Result<T>)> =
        subjects.iter().map(|subject| (*subject, Ok(T::default()))).collect();
    for _ in 0..rounds {
        floor();
        for (subject, run) in &mut runs {
            if let Ok(samples) = run
                && let Err(error) = sample(subject, samples)
            {
                *run = Err(error);
            }
        }
    }
    runs
}
