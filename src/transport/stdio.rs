//! One client over stdin and stdout. The server ends with its client: at the end of stdin every session ends at once,
//! without waiting for the SDK to finish what nobody will read.

use std::sync::Arc;
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio_util::sync::CancellationToken;

use super::lines::Lines;
use super::mcp::Handler;
use super::signals::Signals;
use super::wire;
use crate::server::Server;

/// For what was answered before the end to reach a client that still reads.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Serves until the client goes or a signal says so.
pub async fn serve(server: Arc<Server>) -> anyhow::Result<()> {
    let mut signals = Signals::listen()?;
    let over = CancellationToken::new();
    let clients = server.clients().clone();
    let roots_changed = move || clients.local().roots().announce_change();
    let lines = Lines::new(wire::input(), wire::output(), over.clone(), roots_changed);
    let handler = Handler::new(server.clone());
    let mut serving = tokio::spawn(async move {
        match handler.serve(lines).await {
            Ok(running) => running.waiting().await.map(drop).map_err(anyhow::Error::from),
            // A client that left before it said hello is no error.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    });
    let result = tokio::select! {
        result = &mut serving => Some(result?),
        () = over.cancelled() => None,
        () = signals.next() => None,
    };
    server.shut_down().await;
    if let Some(result) = result {
        return result;
    }
    if over.is_cancelled() {
        let _ = tokio::time::timeout(LAST_WORDS, serving).await;
    }
    Ok(())
}
