//! Serves one client over stdin and stdout. The server ends with its client: at the end of stdin it ends every session at
//! once. It does not wait for the SDK, which would first finish calls whose results nobody will read.

use std::sync::Arc;
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio_util::sync::CancellationToken;

use super::client_message;
use super::line_transport::LineTransport;
use super::mcp::Handler;
use super::signals::Signals;
use super::standard_streams;
use crate::server::Server;

/// Responses that were ready before the end of stdin get this long to reach a client that still reads.
const FLUSH_WITHIN: Duration = Duration::from_secs(1);

/// Serves until the client closes stdin or a signal asks for a shutdown.
pub async fn serve(server: Arc<Server>, mut signals: Signals) -> anyhow::Result<()> {
    let over = CancellationToken::new();
    let clients = server.clients().clone();
    let roots_changed = move || clients.local().roots().announce_change();
    let (stdin, stdout) = (standard_streams::stdin(), standard_streams::stdout());
    let longest = client_message::longest(server.config().files.max_file_size);
    let lines = LineTransport::new(stdin, stdout, longest, over.clone(), roots_changed);
    let handler = Handler::new(server.clone());
    let mut serving = tokio::spawn(async move {
        match handler.serve(lines).await {
            Ok(running) => running.waiting().await.map(drop).map_err(anyhow::Error::from),
            // A client may leave before it has introduced itself. That is not an error.
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
        let _ = tokio::time::timeout(FLUSH_WITHIN, serving).await;
    }
    Ok(())
}
