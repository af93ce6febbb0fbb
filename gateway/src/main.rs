//! `testudo-gateway` serves testudo's tools over MCP and runs each client's work in a *place*: the ordinary `testudo` in a
//! container, on another host, or behind a URL. It schedules nothing and stores nothing.
//!
//! The map, in reading order:
//! - [`arguments`]: what a person types.
//! - [`places`]: the launchers, one file each, behind one trait.
//! - [`wire`], [`link`], [`exchange`]: HTTP to a place, and one request until its answer, over broken connections too.
//! - [`pulse`]: whether a place that is waited for still lives.
//! - [`failure`]: what a client hears when its place does not answer.
//! - [`stdio`]: one client, one place. [`serve`]: many clients over HTTP, each with a place of its own.
//! - [`handle`], [`key`]: the signed session ids by which every replica finds a place.

use std::process::ExitCode;

mod arguments;
mod doctor;
mod events;
mod exchange;
mod failure;
mod handle;
mod key;
mod launch;
mod link;
mod message;
mod places;
mod pulse;
mod serve;
mod signals;
mod stdio;
mod tls;
mod wire;

use arguments::{Arguments, Command};
use clap::Parser;
use places::Program;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let level = if arguments.verbose { tracing::Level::INFO } else { tracing::Level::WARN };
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_max_level(level).with_ansi(false).init();
    let done = tokio::runtime::Runtime::new().map_err(Into::into).and_then(|runtime| {
        let done = runtime.block_on(run(arguments));
        // A thread may wait for a client that says nothing more. It must not keep a gateway that was asked to end.
        runtime.shutdown_background();
        done
    });
    match done {
        Ok(code) => code,
        Err(error) => {
            #[expect(clippy::print_stderr, reason = "the only place that prints an error")]
            {
                eprintln!("testudo-gateway: {error:#}");
            }
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    match arguments.command {
        Some(Command::Serve(options)) => serve::run(&options).await.map(|()| ExitCode::SUCCESS),
        Some(Command::Doctor(options)) => doctor::run(&options).await,
        Some(Command::Put { directory }) => Program::find(None)?.put(&directory).map(|()| ExitCode::SUCCESS),
        None => {
            let launcher = launch::one(&arguments.one)?;
            stdio::run(launcher, &arguments.one).await.map(|()| ExitCode::SUCCESS)
        }
    }
}
