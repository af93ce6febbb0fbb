use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest, Ready};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::dial::Dialer;
use super::doorman::{Connection, Doorman};
use super::local_listener::local_listener;
use super::refusal::Refusal;
use super::relay::Traffic;
use super::request::{self, Request};
use super::rules::Listed;
use super::socks::{self, Answer};
use super::{Target, forward, tunnel};

/// Serves the commands of one session, on one port.
pub struct Proxy {
    doorman: Doorman,
    dialer: Dialer,
    /// Whether a connection comes from one of the session's commands.
    admits: fn(&TcpStream) -> bool,
}

/// Connections of one session at a time. Others wait until one of these has ended.
const MOST_CONNECTIONS: usize = 256;
/// How long a client may take to say where it wants to go.
const REQUEST_WITHIN: Duration = Duration::from_secs(20);
/// How long a client that has its answer may go on speaking.
const FAREWELL: Duration = Duration::from_secs(2);
/// After an error of the system, such as a lack of descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// Where a client wants to go, and how it is answered.
enum Wanted {
    Tunnel { target: Target, speaks: Speaks, early: Vec<u8> },
    Forward { request: request::Forward, early: Vec<u8> },
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Speaks {
    Http,
    Socks,
}

impl Proxy {
    pub fn new(doorman: Doorman, admits: fn(&TcpStream) -> bool) -> Self {
        Self { doorman, dialer: Dialer::new(), admits }
    }

    /// Takes connections until it is dropped, and with it all of them.
    pub async fn serve(self, listener: std::net::TcpListener) {
        let Ok(listener) = local_listener(listener) else { return };
        let (proxy, places) = (Arc::new(self), Arc::new(Semaphore::new(MOST_CONNECTIONS)));
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            let Ok(place) = places.clone().acquire_owned().await else { return };
            match listener.accept().await {
                Ok((client, _)) => {
                    let proxy = proxy.clone();
                    connections.spawn(async move {
                        let _place = place;
                        if (proxy.admits)(&client) {
                            proxy.handle(client).await;
                        }
                    });
                }
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    async fn handle(&self, mut client: TcpStream) {
        let _ = client.set_nodelay(true);
        let begun = Instant::now();
        let wanted = match tokio::time::timeout(REQUEST_WITHIN, wanted(&mut client)).await {
            Ok(Ok(wanted)) => wanted,
            Ok(Err((refusal, speaks))) => return answer(&mut client, &refusal, speaks).await,
            Err(_) => return,
        };
        let (target, speaks) = match &wanted {
            Wanted::Tunnel { target, speaks, .. } => (target.clone(), *speaks),
            Wanted::Forward { request, .. } => (request.target.clone(), Speaks::Http),
        };
        let traffic = Arc::new(Traffic::default());
        let reached = tokio::select! {
            reached = self.reach(&target) => reached,
            () = hung_up(&client) => return,
        };
        let result = match reached {
            Ok(mut host) => {
                (self.doorman.opened)(&target, &traffic);
                connected(wanted, &mut client, &mut host, &traffic).await
            }
            Err(refusal) => {
                // The report comes first: the command may end as soon as it has its answer.
                self.report(&target, Some(&refusal), &traffic, begun);
                return answer(&mut client, &refusal, speaks).await;
            }
        };
        let answered = result.is_ok();
        self.report(&target, result.err().as_ref(), &traffic, begun);
        if answered {
            let _ = tokio::time::timeout(FAREWELL, read_away(&mut client)).await;
        }
    }

    async fn reach(&self, target: &Target) -> Result<TcpStream, Refusal> {
        let rules = &self.doorman.rules;
        let asked = match rules.judge(target) {
            Listed::Allowed => false,
            Listed::Denied(pattern) => {
                return Err(Refusal::NotAllowed(format!(
                    "commands may not reach the host {} (port {}): --deny-host {pattern} (network.deny) names it",
                    target.host, target.port
                )));
            }
            Listed::Nowhere => {
                (self.doorman.ask)(target.clone())
                    .await
                    .map_err(|why| Refusal::NotAllowed(format!("{}{why}", Refusal::unlisted(target))))?;
                true
            }
        };
        self.dialer.dial(rules, target, asked).await
    }

    fn report(&self, target: &Target, refusal: Option<&Refusal>, traffic: &Traffic, begun: Instant) {
        let (mut refused, mut failed) = (None, None);
        match refusal {
            Some(Refusal::NotAllowed(reason)) => refused = Some(reason.clone()),
            Some(Refusal::Failed(reason) | Refusal::Malformed(reason)) => failed = Some(reason.clone()),
            Some(Refusal::Gone) | None => {}
        }
        (self.doorman.report)(Connection {
            host: target.host.to_string(),
            port: target.port,
            refused,
            failed,
            sent: traffic.sent.load(Ordering::Relaxed),
            received: traffic.received.load(Ordering::Relaxed),
            milliseconds: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
    }
}

/// Leaves the client's connection open: the command may end as soon as it is closed, and the report comes first.
async fn connected(
    wanted: Wanted,
    client: &mut TcpStream,
    host: &mut TcpStream,
    traffic: &Traffic,
) -> Result<(), Refusal> {
    match wanted {
        Wanted::Forward { request, early } => forward::run(&request, early, client, host, traffic).await,
        Wanted::Tunnel { target, speaks, early } => {
            match speaks {
                Speaks::Http => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
                Speaks::Socks => client.write_all(&Answer::Connected.encode()).await?,
            }
            tunnel::run(&target, early, client, host, traffic).await
        }
    }
}

/// Reads what the client says first. The first byte tells which protocol it speaks.
async fn wanted(client: &mut TcpStream) -> Result<Wanted, (Refusal, Speaks)> {
    let mut said = Vec::with_capacity(4096);
    more(client, &mut said).await.map_err(|gone| (gone, Speaks::Http))?;
    if said.first() == Some(&socks::VERSION) {
        return wanted_by_socks(client, said).await.map_err(|refusal| (refusal, Speaks::Socks));
    }
    loop {
        match request::read(&said, None) {
            Ok(Some((Request::Connect(target), length))) => {
                return Ok(Wanted::Tunnel { target, speaks: Speaks::Http, early: said.split_off(length) });
            }
            Ok(Some((Request::Forward(request), length))) => {
                return Ok(Wanted::Forward { request, early: said.split_off(length) });
            }
            Ok(None) => more(client, &mut said).await.map_err(|gone| (gone, Speaks::Http))?,
            Err(reason) => {
                let text = format!("the proxy for commands refuses this request: {reason}");
                return Err((Refusal::Malformed(text), Speaks::Http));
            }
        }
    }
}

async fn wanted_by_socks(client: &mut TcpStream, mut said: Vec<u8>) -> Result<Wanted, Refusal> {
    let (without_password, length) = loop {
        match socks::greeting(&said) {
            Some(greeting) => break greeting,
            None => more(client, &mut said).await?,
        }
    };
    if !without_password {
        client.write_all(&socks::NO_METHOD).await?;
        return Err(Refusal::Gone);
    }
    client.write_all(&socks::NO_PASSWORD).await?;
    said.drain(..length);
    loop {
        match socks::request(&said) {
            Ok(Some((target, length))) => {
                return Ok(Wanted::Tunnel { target, speaks: Speaks::Socks, early: said.split_off(length) });
            }
            Ok(None) => more(client, &mut said).await?,
            Err(problem) => {
                client.write_all(&problem.encode()).await?;
                return Err(Refusal::Gone);
            }
        }
    }
}

/// A client that has closed its end before it has an answer does not wait for one. A person may take long to decide.
async fn hung_up(client: &TcpStream) {
    const LOOK: Duration = Duration::from_millis(200);
    loop {
        tokio::time::sleep(LOOK).await;
        if client.ready(Interest::READABLE).await.is_ok_and(Ready::is_read_closed) {
            return;
        }
    }
}

async fn more(client: &mut TcpStream, said: &mut Vec<u8>) -> Result<(), Refusal> {
    if client.read_buf(said).await? == 0 { Err(Refusal::Gone) } else { Ok(()) }
}

async fn answer(client: &mut TcpStream, refusal: &Refusal, speaks: Speaks) {
    let bytes = match (speaks, refusal) {
        (_, Refusal::Gone) => return,
        (Speaks::Http, refusal) => refusal.http(),
        (Speaks::Socks, Refusal::NotAllowed(_)) => Answer::NotAllowed.encode().to_vec(),
        (Speaks::Socks, Refusal::Failed(_)) => Answer::Unreachable.encode().to_vec(),
        (Speaks::Socks, Refusal::Malformed(_)) => Answer::Failed.encode().to_vec(),
    };
    // A client that does not read its answer must not keep a place.
    let _ = tokio::time::timeout(REQUEST_WITHIN, async {
        client.write_all(&bytes).await?;
        client.shutdown().await?;
        read_away(client).await
    })
    .await;
}

/// A client that still speaks when its connection is closed fails at that, and a shell dies of it, before it has read its
/// answer.
async fn read_away(client: &mut TcpStream) -> std::io::Result<()> {
    let mut rest = [0; 1024];
    while client.read(&mut rest).await? > 0 {}
    Ok(())
}
