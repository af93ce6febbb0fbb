//! The measures, in the order of the contract. When a server fails one, its row shows the reason. The
//! next measure still runs.

mod binary;
mod drafts;
mod files;
mod idle;
mod latency;
mod network;
mod output;
mod parallel;
mod sandbox;
mod sessions;
mod start;

use std::path::Path;

use crate::options::{Options, Subject};
use crate::table::{Figure, Row, Target};

type Measure = fn(&Options, &Path) -> Vec<Row>;

const MEASURES: [(&str, Measure); 11] = [
    ("latency", latency::measure),
    ("sandbox", sandbox::measure),
    ("network", network::measure),
    ("start", start::measure),
    ("idle", idle::measure),
    ("output", output::measure),
    ("parallel", parallel::measure),
    ("files", files::measure),
    ("sessions", sessions::measure),
    ("drafts", drafts::measure),
    ("binary", binary::measure),
];

pub fn all(options: &Options, scratch: &Path) -> Vec<Row> {
    let wanted = |name: &str| options.only.as_deref().is_none_or(|only| name.contains(only));
    MEASURES.iter().filter(|(name, _)| wanted(name)).flat_map(|(_, measure)| measure(options, scratch)).collect()
}

fn row(subject: &Subject, name: &str, result: anyhow::Result<Figure>, target: Option<Target>) -> Row {
    Row { server: subject.name.clone(), name: name.to_owned(), result, target }
}
