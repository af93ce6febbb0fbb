//! One request for plain HTTP. The answer is copied as it comes.

use std::sync::atomic::Ordering;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};

use super::body::Body;
use super::refusal::Refusal;
use super::relay::{Traffic, copy};
use super::request::Forward;

/// `early` is what the client has sent behind the head.
pub async fn run(
    request: &Forward,
    early: Vec<u8>,
    client: &mut TcpStream,
    host: &mut TcpStream,
    traffic: &Traffic,
) -> Result<(), Refusal> {
    let (mut from_client, to_client) = client.split();
    let (from_host, mut to_host) = host.split();
    let there = async {
        to_host.write_all(&request.head).await?;
        traffic.sent.fetch_add(request.head.len() as u64, Ordering::Relaxed);
        send_body(request, early, &mut from_client, &mut to_host, traffic).await?;
        if request.upgrades {
            return copy(from_client, to_host, &traffic.sent).await.map_err(Refusal::from);
        }
        Ok(())
    };
    let back = async { copy(from_host, to_client, &traffic.received).await.map_err(Refusal::from) };
    tokio::pin!(there, back);
    tokio::select! {
        result = &mut back => result,
        result = &mut there => match result {
            // A client that has said everything may close its end and still wait for the answer.
            Ok(()) => back.await,
            broken => broken,
        },
        () = traffic.silence() => Ok(()),
    }
}

/// Passes the body on, and nothing behind it. Returns when the client has closed its end or speaks another protocol.
pub async fn send_body(
    request: &Forward,
    mut early: Vec<u8>,
    client: &mut ReadHalf<'_>,
    host: &mut WriteHalf<'_>,
    traffic: &Traffic,
) -> Result<(), Refusal> {
    let mut body = Body::new(request.body);
    let mut rest = Vec::with_capacity(16 * 1024);
    loop {
        let taken = body
            .take(&early)
            .map_err(|_| Refusal::NotAllowed("where the body of an HTTP request ends is not clear".to_owned()))?;
        host.write_all(&early[..taken]).await?;
        traffic.sent.fetch_add(taken as u64, Ordering::Relaxed);
        if body.is_over() && request.upgrades {
            // The client may already speak the other protocol.
            host.write_all(&early[taken..]).await?;
            return Ok(());
        }
        rest.clear();
        if client.read_buf(&mut rest).await? == 0 {
            return Ok(());
        }
        std::mem::swap(&mut early, &mut rest);
    }
}
