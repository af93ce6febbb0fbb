//! `testudo console`: the page for all servers of this user.

use std::process::ExitCode;

use anyhow::Context;

use super::output::print;
use crate::config::Config;
use crate::console::{Console, Listener};
use crate::transport::signals::Signals;

pub async fn run(config: &Config, port: u16, opens: bool) -> anyhow::Result<ExitCode> {
    let mut signals = Signals::listen().context("failed to listen for signals")?;
    let listener = Listener::bind(port).await.with_context(|| format!("failed to listen on 127.0.0.1:{port}"))?;
    let address = listener.address();
    let console = Console::of_user(
        config.control_dirs.clone(),
        config.state_dir.clone(),
        config.sandbox.protect.clone(),
        address.port(),
    );
    let link = format!("http://{address}{}", console.login_path());
    print(&format!("{link}\nThe link works once, within 10 minutes. The console ends with Ctrl-C."))?;
    if opens && !crate::exec::open_in_browser(&link, &config.environment) {
        print("No browser could be opened; open the link yourself.")?;
    }
    tokio::select! {
        () = listener.serve(console) => {}
        () = signals.next() => {}
    }
    Ok(ExitCode::SUCCESS)
}
