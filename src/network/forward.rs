//! One request for plain HTTP. The answer is copied as it comes.

use std::sync::atomic::Ordering;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

use super::body::Body;
use super::refusal::Refusal;
use super::relay::{Rest, Traffic, exchange};
use super::request::Forward;

/// `early` is what the client has sent behind the head.
pub async fn run(
    request: &Forward,
    early: Vec<u8>,
    client: &mut TcpStream,
    host: &mut TcpStream,
    traffic: &Traffic,
) -> Result<(), Refusal> {
    exchange(client, host, traffic, async |client, host| send(request, early, client, host, traffic).await).await
}

/// Passes on head and body, and nothing behind them. Returns when the client has closed its end (it may still wait for the
/// answer) or speaks another protocol.
pub async fn send(
    request: &Forward,
    mut early: Vec<u8>,
    client: &mut ReadHalf<'_>,
    host: &mut WriteHalf<'_>,
    traffic: &Traffic,
) -> Result<Rest, Refusal> {
    let mut body = Body::new(request.body);
    let mut later = Vec::with_capacity(16 * 1024);
    host.write_all(&request.head).await?;
    traffic.sent.fetch_add(request.head.len() as u64, Ordering::Relaxed);
    loop {
        let taken = body
            .take(&early)
            .map_err(|_| Refusal::NotAllowed("where the body of an HTTP request ends is not clear".to_owned()))?;
        host.write_all(&early[..taken]).await?;
        traffic.sent.fetch_add(taken as u64, Ordering::Relaxed);
        if body.is_over() && request.upgrades {
            // The client may already speak the other protocol.
            host.write_all(&early[taken..]).await?;
            traffic.sent.fetch_add((early.len() - taken) as u64, Ordering::Relaxed);
            return Ok(Rest::PassOn);
        }
        later.clear();
        if client.read_buf(&mut later).await? == 0 {
            return Ok(Rest::OnlyTheAnswer);
        }
        std::mem::swap(&mut early, &mut later);
    }
}
