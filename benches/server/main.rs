//! Measures the promised numbers on the real binary. Each figure is compared with a floor from the same run, because
//! absolute times depend on what else the machine does.
//!
//! 1. [`options`] names the servers to measure: testudo, or any other that speaks MCP over stdio.
//! 2. [`driver`] is the client, [`http_client`] one of many clients; [`floor`] does the same work without a server.
//! 3. [`measures`] samples servers and floors in turn, so that noise affects all of them alike.
//! 4. [`table`] prints the results beside the promises.
#![expect(clippy::print_stdout, reason = "the table is the output of the benchmark")]

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
