//! `testudo serve`, the default.

use std::sync::Arc;

use anyhow::Context;

use super::output::print_error;
use crate::config::{Config, Listen, Source, Transport};
use crate::control::Control;
use crate::drafts::Work;
use crate::server::Server;
use crate::transport::http::Http;
use crate::transport::signals::Signals;
use crate::transport::stdio;

pub async fn run(config: Config, source: Source, work: Option<Work>) -> anyhow::Result<()> {
    // Before anything is made that has to be removed again.
    let signals = Signals::listen().context("failed to listen for signals")?;
    crate::exec::reap_strangers();
    match config.transport {
        Transport::Stdio => {
            let server = start(config, source, work).await?;
            let _control = control(&server);
            let signals = signals.on_hangup(read_again(&server));
            stdio::serve(server, signals).await
        }
        Transport::Http => {
            let http = Http::bind(config.http.clone()).await?;
            let server = start(config, source, work).await?;
            let _control = control(&server);
            let signals = signals.on_hangup(read_again(&server));
            announce(&http);
            http.serve_tools(server, signals).await.context("failed to serve http")
        }
    }
}

/// What SIGHUP asks for.
fn read_again(server: &Arc<Server>) -> impl Fn() + Send + Sync + 'static {
    let server = server.clone();
    move || {
        let server = server.clone();
        tokio::spawn(async move { server.read_configuration_again().await });
    }
}

/// The socket on which people see and decide. A server without one still serves its clients.
fn control(server: &Arc<Server>) -> Option<Control> {
    let opened = Control::open(server);
    if let Err(reason) = &opened {
        tracing::warn!(%reason, "there is no control socket: testudo ps, watch and approve cannot find this server");
    }
    opened.ok()
}

async fn start(config: Config, source: Source, work: Option<Work>) -> anyhow::Result<Arc<Server>> {
    let server = super::server(config, work)?;
    server.follow(source);
    if let Some(found) = server.start().await {
        super::refuse_weak_draft(&server, &found)?;
    }
    let (config, gate) = (server.config(), server.gate());
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        project = %config.directories.project_dir().display(),
        sandbox = %config.sandbox.mode,
        transport = ?config.transport,
        "testudo serves"
    );
    if gate.policy().has_sources() {
        let rules = gate.policy().lines().join("\n  ");
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
