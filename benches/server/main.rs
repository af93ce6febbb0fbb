//! Measures the promised numbers on the real binary. Each figure is compared with a floor from the same run, because
//! absolute times depend on what else the machine does.
//!
//! 1. [`options`] names the servers to measure ([`subject`]): testudo, the [`peers`], or any other that speaks MCP over stdio.
//! 2. [`driver`] is the client, [`http_client`] one of many clients; [`floor`] does the same work without a server.
//! 3. [`measures`] samples servers and floors in turn, so that noise affects all of them alike.
//! 4. [`table`] prints the results beside the promises; [`docs`] writes them into the documentation, with [`plot`]s.
#![expect(clippy::print_stdout, reason = "the table is the output of the benchmark")]

mod docs;
mod driver;
mod floor;
mod http_client;
mod machine;
mod measures;
mod memory;
mod options;
mod peers;
mod plot;
mod samples;
mod subject;
mod table;

use anyhow::Context;

fn main() -> anyhow::Result<()> {
    let Some(options) = options::parse(std::env::args().skip(1))? else {
        println!("{}", options::HELP);
        return Ok(());
    };
    let temporary = tempfile::tempdir().context("failed to make a scratch directory")?;
    let scratch = temporary.path().join("world");
    std::fs::create_dir_all(&scratch)?;
    std::fs::create_dir_all(temporary.path().join("home"))?;
    let before = machine::load();
    let results = measures::all(&options, &scratch);
    let conditions = machine::conditions(&before);
    print!("{}\n{}\n{conditions}\n", table::render(&results.rows), docs::facts(&results));
    if options.docs {
        docs::write(&results, &conditions, options.part().as_deref())?;
    }
    Ok(())
}
