//! One client over stdin and stdout. The server ends with its client: at the end of stdin every session ends at once,
//! without waiting for the SDK to finish what nobody will read.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::mcp::Handler;
use crate::server::Server;

/// Serves until the client goes or a signal says so.
pub async fn serve(server: Arc<Server>) -> anyhow::Result<()> {
    let over = CancellationToken::new();
    let input = UntilEnd { inner: tokio::io::stdin(), over: over.clone() };
    let handler = Handler::new(server.clone());
    let serving = tokio::spawn(async move {
        match handler.serve((input, tokio::io::stdout())).await {
            Ok(running) => running.waiting().await.map(drop).map_err(anyhow::Error::from),
            // A client that left before it said hello is no error.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    });
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let result = tokio::select! {
        result = serving => result?,
        () = over.cancelled() => Ok(()),
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
    };
    server.shut_down().await;
    result
}

/// Reports the end of the input the moment it is read.
struct UntilEnd<R> {
    inner: R,
    over: CancellationToken,
}

impl<R: AsyncRead + Unpin> AsyncRead for UntilEnd<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let result = Pin::new(&mut self.inner).poll_read(context, buffer);
        if matches!(result, Poll::Ready(Ok(()) | Err(_))) && buffer.filled().len() == before {
            self.over.cancel();
        }
        result
    }
}
