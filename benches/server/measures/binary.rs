//! The size of the binary that people download, and whether it is static.

use std::path::Path;

use anyhow::{Context, bail};

use super::row;
use crate::options::Options;
use crate::subject::Subject;
use crate::table::{Figure, Row, Target};

const PROMISED_MEGABYTES: Target = Target::ValueAtMost(15.0);

/// Servers that run the same file share a row. Other servers are not one file.
pub fn measure(options: &Options, _: &Path) -> Vec<Row> {
    let mut servers: Vec<&Subject> = options.testudos();
    servers.dedup_by_key(|subject| &subject.words[0]);
    let rows = servers.into_iter().map(|subject| match std::fs::read(&subject.words[0]) {
        Ok(bytes) => {
            let kind = match interpreter(&bytes) {
                Ok(true) => "binary (dynamic)",
                Ok(false) => "binary (static)",
                Err(_) => "program",
            };
            #[expect(clippy::cast_precision_loss, reason = "no binary has 2^53 bytes")]
            let size = Figure::alone(bytes.len() as f64 / 1e6, "MB");
            row(subject, kind, Ok(size), Some(PROMISED_MEGABYTES))
        }
        Err(error) => row(subject, "binary", Err(error.into()), None),
    });
    rows.collect()
}

/// Whether a 64-bit ELF file names a dynamic loader. Such a file depends on the libraries of the machine.
fn interpreter(bytes: &[u8]) -> anyhow::Result<bool> {
    const INTERPRETER: u64 = 3;
    if !bytes.starts_with(b"\x7fELF\x02\x01") {
        bail!("not a 64-bit ELF file");
    }
    let number = |at: usize, size: usize| -> anyhow::Result<u64> {
        let field = at.checked_add(size).and_then(|end| bytes.get(at..end)).context("cut short")?;
        Ok(field.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    };
    let (table, size, count) = (number(0x20, 8)?, number(0x36, 2)?, number(0x38, 2)?);
    for index in 0..count {
        if number(usize::try_from(table + index * size)?, 4)? == INTERPRETER {
            return Ok(true);
        }
    }
    Ok(false)
}
