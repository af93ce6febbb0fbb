//! `testudo serve`, the default.

use std::sync::Arc;

use anyhow::Context;

use super::output::print_error;
use crate::config::{Config, Listen, Transport};
use crate::server::Server;
use crate::transport::http::Http;
use crate::transport::signals::Signals;
use crate::transport::stdio;

pub async fn run(config: Config) -> anyhow::Result<()> {
    // Before anything is made that has to be removed again.
    let signals = Signals::listen().context("failed to listen for signals")?;
    crate::exec::reap_strangers();
    match config.transport {
        Transport::Stdio => stdio::serve(start(config).await?, signals).await,
        Transport::Http => {
            let http = Http::bind(config.http.clone()).await?;
            let server = start(config).await?;
            announce(&http);
            http.serve_tools(server, signals).await.context("failed to serve http")
        }
    }
}

async fn start(config: Config) -> anyhow::Result<Arc<Server>> {
    let server = super::server(config)?;
    server.self_test().await;
    let (config, policy) = (server.config(), server.gate().policy());
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        project = %config.directories.project_dir().display(),
        sandbox = %config.sandbox.mode,
        transport = ?config.transport,
        "testudo serves"
    );
    if policy.has_sources() {
        let rules = policy.lines().join("\n  ");
        tracing::info!("the policy in force; the strictest rule that applies wins:\n  {rules}");
    }
    Ok(server)
}

/// Printed at every log level: without the address and the token nobody can connect.
fn announce(http: &Http) {
    print_error(&match http.address() {
        Listen::Tcp(address) => format!("testudo listens on http://{address}/mcp"),
        socket @ Listen::Unix(_) => format!("testudo listens on {socket}, at the path /mcp"),
    });
    if let Some(token) = http.generated_token() {
        print_error(&format!("bearer token, generated for this start: {token}"));
    }
}
