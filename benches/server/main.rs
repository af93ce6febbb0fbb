//! The numbers we promise, measured on the real binary: every figure stands beside a floor taken in the same run, because
//! a millisecond means little on a machine that is busy with something else.
//!
//! 1. [`options`] says which servers are measured: ours, or any other that speaks MCP over stdio.
//! 2. [`driver`] is the client ([`http_client`] for many of them), [`floor`] what the machine needs without any server.
//! 3. [`measures`] takes the samples, servers and floors in turn, so that noise meets all of them alike.
//! 4. [`table`] prints what came out, beside what was promised.
#![expect(clippy::print_stdout, reason = "the table is what one runs a benchmark for")]

mod driver;
mod floor;
mod http_client;
mod measures;
mod memory;
mod options;
mod samples;
mod table;

use anyhow::Context;

fn main() -> anyhow::Result<()> {
    let Some(options) = options::parse(std::env::args().skip(1))? else {
        println!("{}", options::HELP);
        return Ok(());
    };
    let scratch = tempfile::tempdir().context("failed to make a scratch directory")?;
    let rows = measures::all(&options, scratch.path());
    print!("{}", table::render(&rows));
    Ok(())
}
