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
            // Only a host that agrees speaks the other protocol. For any other, what follows would be a further request.
            if traffic.answer.wait().await != b"HTTP/1.1 101" {
                return Ok(Rest::OnlyTheAnswer);
            }
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

#[cfg(test)]
mod tests {
    use super::super::body::Framing;
    use super::*;
    use crate::network::Target;

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (client, listener.accept().await.unwrap().0)
    }

    /// What the host hears behind a request to upgrade, if it answers this.
    async fn heard_after(answer: &str) -> String {
        let ((mut client, mut inner), (mut outer, mut host)) = (pair().await, pair().await);
        let target = Target::read("a.com:80", None).unwrap();
        let request = Forward { target, head: b"head".to_vec(), body: Framing::Length(0), upgrades: true };
        let running = tokio::spawn(async move {
            let _ = run(&request, b" early".to_vec(), &mut inner, &mut outer, &Traffic::default()).await;
        });
        let mut head = [0; 4];
        host.read_exact(&mut head).await.unwrap();
        client.write_all(b" late").await.unwrap();
        client.shutdown().await.unwrap();
        host.write_all(answer.as_bytes()).await.unwrap();
        let mut answered = vec![0; answer.len()];
        client.read_exact(&mut answered).await.unwrap();
        assert_eq!(answered, answer.as_bytes());
        if !answer.contains("101") {
            host.shutdown().await.unwrap();
        }
        let mut heard = String::new();
        host.read_to_string(&mut heard).await.unwrap();
        drop(host);
        running.await.unwrap();
        heard
    }

    #[tokio::test]
    async fn the_rest_is_passed_on_only_to_a_host_that_agrees_to_upgrade() {
        assert_eq!(heard_after("HTTP/1.1 101 Switching Protocols\r\n\r\n").await, " early late");
        assert_eq!(heard_after("HTTP/1.1 200 OK\r\n\r\n").await, "");
    }
}
