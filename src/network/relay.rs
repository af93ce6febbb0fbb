//! Carries bytes between a client and its host until both directions have ended.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::TcpStream;
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::SetOnce;

use super::refusal::Refusal;

/// What has gone through, and for the watch over silent connections.
#[derive(Debug, Default)]
pub struct Traffic {
    pub sent: AtomicU64,
    pub received: AtomicU64,
    /// The first bytes from the host, as soon as so many have come.
    pub answer: SetOnce<[u8; ANSWER]>,
}

/// A first line of HTTP has its status here: `HTTP/1.1 101`.
pub const ANSWER: usize = 12;

/// A connection on which nothing has happened for so long is closed.
const LONGEST_SILENCE: Duration = Duration::from_hours(1);
const BUFFER: usize = 64 * 1024;
/// A direction that has carried so much is a download, which need not be copied through our memory.
const MUCH: u64 = 1 << 20;
const PIPE: usize = 1 << 20;

impl Traffic {
    fn total(&self) -> u64 {
        self.sent.load(Ordering::Relaxed) + self.received.load(Ordering::Relaxed)
    }

    /// Returns when nothing has gone through for too long.
    pub async fn silence(&self) {
        loop {
            let before = self.total();
            tokio::time::sleep(LONGEST_SILENCE).await;
            if self.total() == before {
                return;
            }
        }
    }
}

/// What becomes of the bytes that follow a client's opening.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Rest {
    PassOn,
    /// The client has asked for one thing, and gets the answer to it.
    OnlyTheAnswer,
}

/// Both directions. The end of one is passed on, and the other goes on.
pub async fn relay(client: &mut TcpStream, host: &mut TcpStream, traffic: &Traffic) {
    let _ = exchange(client, host, traffic, async |_, _| Ok(Rest::PassOn)).await;
}

/// As [`relay`], but `opening` passes on what the client says first. The host's bytes are passed on from the beginning: it may
/// be the one who speaks first. If the host has said everything before the opening is over, nothing else can come of it.
pub async fn exchange(
    client: &mut TcpStream,
    host: &mut TcpStream,
    traffic: &Traffic,
    opening: impl AsyncFnOnce(&mut ReadHalf<'_>, &mut WriteHalf<'_>) -> Result<Rest, Refusal>,
) -> Result<(), Refusal> {
    let (mut from_client, to_client) = client.split();
    let (from_host, mut to_host) = host.split();
    let work = async {
        let mut answer = Vec::with_capacity(ANSWER);
        let listen = |bytes: &[u8]| {
            let missing = ANSWER - answer.len();
            answer.extend_from_slice(&bytes[..missing.min(bytes.len())]);
            if let Ok(complete) = <[u8; ANSWER]>::try_from(answer.as_slice()) {
                let _ = traffic.answer.set(complete);
            }
        };
        let mut back = std::pin::pin!(copy(from_host, to_client, &traffic.received, listen));
        let rest = tokio::select! {
            rest = opening(&mut from_client, &mut to_host) => rest?,
            ended = &mut back => return Ok(ended?),
        };
        match rest {
            Rest::PassOn => tokio::try_join!(copy(from_client, to_host, &traffic.sent, |_| {}), back).map(drop)?,
            Rest::OnlyTheAnswer => back.await?,
        }
        Ok(())
    };
    tokio::select! {
        result = work => result,
        () = traffic.silence() => Ok(()),
    }
}

/// Copies until the end, which it passes on. `listen` hears the beginning.
async fn copy(
    mut from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    count: &AtomicU64,
    mut listen: impl FnMut(&[u8]),
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    let mut carried = 0;
    loop {
        let length = from.read(&mut buffer).await?;
        if length == 0 {
            return to.shutdown().await;
        }
        listen(&buffer[..length]);
        to.write_all(&buffer[..length]).await?;
        count.fetch_add(length as u64, Ordering::Relaxed);
        carried += length as u64;
        // Where there are no descriptors left for a pipe, it goes on like this.
        if carried >= MUCH
            && let Ok(pipe) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)
        {
            drop(buffer);
            return copy_in_kernel(from, to, pipe, count).await;
        }
    }
}

/// Moves bytes from socket to socket through a pipe, without copying them into this process.
async fn copy_in_kernel(
    from: ReadHalf<'_>,
    mut to: WriteHalf<'_>,
    (outlet, inlet): (OwnedFd, OwnedFd),
    count: &AtomicU64,
) -> io::Result<()> {
    let _ = fcntl_setpipe_size(&inlet, PIPE);
    let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
    loop {
        // The pipe is empty here and full below, so only the socket can make us wait.
        let fill = || splice(from.as_ref(), None, &inlet, None, PIPE, flags).map_err(io::Error::from);
        let length = from.as_ref().async_io(Interest::READABLE, fill).await?;
        if length == 0 {
            return to.shutdown().await;
        }
        let mut left = length;
        while left > 0 {
            let drain = || splice(&outlet, None, to.as_ref(), None, left, flags).map_err(io::Error::from);
            left -= to.as_ref().async_io(Interest::WRITABLE, drain).await?;
        }
        count.fetch_add(length as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn pair() -> (TcpStream, TcpStream) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (client, listener.accept().await.unwrap().0)
    }

    #[tokio::test]
    async fn much_and_little_arrive_whole_and_in_order() {
        for length in [0, 1, 70_000, 5_000_011_usize] {
            let ((mut client, mut inner), (mut outer, mut host)) = (pair().await, pair().await);
            let relaying = tokio::spawn(async move {
                let traffic = Traffic::default();
                relay(&mut inner, &mut outer, &traffic).await;
                (traffic.sent.into_inner(), traffic.received.into_inner())
            });
            let bytes: Vec<u8> = (0..=250).cycle().take(length).collect();
            let sent = bytes.clone();
            let sending = tokio::spawn(async move {
                host.write_all(&sent).await.unwrap();
                host.shutdown().await.unwrap();
                host
            });
            let mut received = Vec::new();
            client.write_all(b"ask").await.unwrap();
            client.read_to_end(&mut received).await.unwrap();
            assert!(received == bytes, "{length}");
            drop(client);
            sending.await.unwrap();
            assert_eq!(relaying.await.unwrap(), (3, length as u64));
        }
    }

    /// A client and a host with a relay between them, which runs until both have ended.
    async fn relayed() -> (TcpStream, TcpStream, tokio::task::JoinHandle<()>) {
        let ((client, mut inner), (mut outer, host)) = (pair().await, pair().await);
        let relaying = tokio::spawn(async move { relay(&mut inner, &mut outer, &Traffic::default()).await });
        (client, host, relaying)
    }

    async fn passes(from: &mut TcpStream, to: &mut TcpStream, bytes: &[u8]) {
        let mut received = vec![0; bytes.len()];
        let (sent, read) = tokio::join!(from.write_all(bytes), to.read_exact(&mut received));
        sent.unwrap();
        read.unwrap();
        assert!(received == bytes);
    }

    #[tokio::test]
    async fn a_host_that_pauses_in_a_download_is_passed_on_to_the_last_byte() {
        let (mut client, mut host, relaying) = relayed().await;
        for length in [1, 3_000_007, 1, 2, 70_001, 3_000_000, 1] {
            passes(&mut host, &mut client, &vec![b'x'; length]).await;
            passes(&mut client, &mut host, b"more").await;
        }
        drop((client, host));
        relaying.await.unwrap();
    }

    #[tokio::test]
    async fn the_end_of_one_direction_leaves_the_other_open() {
        let (mut client, mut host, relaying) = relayed().await;
        passes(&mut client, &mut host, &vec![b'x'; 3_000_000]).await;
        client.shutdown().await.unwrap();
        assert_eq!(host.read(&mut [0]).await.unwrap(), 0);
        passes(&mut host, &mut client, &vec![b'x'; 3_000_000]).await;
        host.shutdown().await.unwrap();
        assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
        relaying.await.unwrap();
    }

    #[tokio::test]
    async fn a_client_that_stops_reading_ties_up_nothing_else() {
        /// So often a turn of all others has left the host with nothing that it could write.
        const FULL: usize = 1_000;
        let (mut client, mut host, relaying) = relayed().await;
        let block = vec![b'x'; BUFFER];
        let (mut sent, mut refusals) = (0, 0);
        while refusals < FULL {
            if let Ok(length) = host.try_write(&block) {
                (sent, refusals) = (sent + length, 0);
            } else {
                refusals += 1;
                tokio::task::yield_now().await;
            }
        }
        assert!(sent as u64 > MUCH, "{sent}");
        passes(&mut client, &mut host, b"its other direction").await;
        let (mut other_client, mut other_host, _) = relayed().await;
        passes(&mut other_host, &mut other_client, &vec![b'x'; 3_000_000]).await;
        host.shutdown().await.unwrap();
        let mut received = Vec::new();
        client.read_to_end(&mut received).await.unwrap();
        assert_eq!(received.len(), sent);
        drop((client, host));
        relaying.await.unwrap();
    }
}
