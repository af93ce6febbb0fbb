//! What a person types. The flags come from [`crate::config::options`], so that help, file and environment agree.

mod approvals;
mod arguments;
mod call;
mod doctor;
mod explain;
mod log;
mod welcome;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;

use crate::config::{self, Config, Source, Transport};
use crate::server::Server;
use crate::tools::TOOLS;
use crate::transport::http::Http;
use arguments::Command;

/// The whole program, from words to exit code.
pub fn run(words: impl IntoIterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    let words: Vec<OsString> = words.into_iter().collect();
    // The guard must stay small and quick: nothing is parsed or loaded for it.
    if words.get(1).is_some_and(|word| word == crate::keeper::guard::SUBCOMMAND) {
        crate::keeper::guard::main()?;
        return Ok(ExitCode::SUCCESS);
    }
    let bare = words.len() == 1;
    let arguments = match arguments::parse(words) {
        Ok(arguments) => arguments,
        Err(error) => {
            error.print()?;
            return Ok(ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2)));
        }
    };
    let source = Source {
        environment: std::env::vars_os().collect(),
        flags: arguments.flags,
        current_dir: std::env::current_dir().context("failed to find the current directory")?,
    };
    if bare && rustix::termios::isatty(std::io::stdin()) && rustix::termios::isatty(std::io::stdout()) {
        welcome::print();
        return Ok(ExitCode::SUCCESS);
    }
    let config = config::load(&source)?;
    match arguments.command {
        Command::Serve => {
            log::start(&config);
            let runtime = runtime()?;
            let result = runtime.block_on(serve(config));
            // A read of stdin that is under way cannot be called back; waiting for it would outlive a signal.
            runtime.shutdown_background();
            result.map(|()| ExitCode::SUCCESS)
        }
        Command::Call { tool, words } => {
            log::start_quiet(&config);
            runtime()?.block_on(call::run(Server::new(config, TOOLS)?, tool, &words))
        }
        Command::Explain { text, json } => {
            log::start_quiet(&config);
            explain::run(&Server::new(config, TOOLS)?, &text, json)
        }
        Command::Revoke { ids } => approvals::revoke(&config.cache_dir, &ids),
        Command::Doctor => {
            runtime()?.block_on(doctor::print(config))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn serve(config: Config) -> anyhow::Result<()> {
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        project = %config.directories.project_dir().display(),
        sandbox = %config.sandbox.mode,
        transport = ?config.transport,
        "testudo serves"
    );
    let (transport, http) = (config.transport, config.http.clone());
    let server: Arc<Server> = Server::new(config, TOOLS)?;
    let policy = server.gate().policy();
    if policy.has_sources() {
        tracing::info!("the policy in force, the strictest that applies wins:\n  {}", policy.lines().join("\n  "));
    }
    server.self_test().await;
    match transport {
        Transport::Stdio => crate::transport::stdio::serve(server).await,
        Transport::Http => serve_http(server, http).await,
    }
}

async fn serve_http(server: Arc<Server>, settings: crate::transport::Settings) -> anyhow::Result<()> {
    let http = Http::bind(settings).await?;
    listening(&http);
    http.serve_tools(server).await.context("failed to serve http")
}

/// Whatever is logged: without these lines nobody finds the server.
#[expect(clippy::print_stderr, reason = "it is for the person who started the server")]
fn listening(http: &Http) {
    eprintln!("testudo listens on http://{}/mcp", http.address());
    if let Some(token) = http.generated_token() {
        eprintln!("bearer token, made for this start: {token}");
    }
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    crate::exec::give_back_large_blocks();
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("failed to start the runtime")
}
