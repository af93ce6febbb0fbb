//! Resolves a name, checks what it leads to, and connects to exactly that.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::Semaphore;

use super::host::{Host, Target};
use super::refusal::Refusal;
use super::rules::Rules;
use crate::base::locks::LockExt;
use crate::base::worker_threads;

const RESOLVE_WITHIN: Duration = Duration::from_secs(15);
const CONNECT_WITHIN: Duration = Duration::from_secs(15);
/// Lookups of one session at a time. Each holds a thread until the resolver answers, and no session waits for another one's.
const MOST_LOOKUPS: usize = 16;
/// Ports of this machine that no command reaches, even if an address of this machine is named.
static OWN_PORTS: LazyLock<Mutex<HashSet<u16>>> = LazyLock::new(Mutex::default);

/// The server itself listens on this port, so no connection of a command may go there.
pub fn never_reach_port(port: u16) {
    OWN_PORTS.locked().insert(port);
}

/// Makes the connections of one session.
pub struct Dialer {
    lookups: Arc<Semaphore>,
}

impl Dialer {
    pub fn new() -> Self {
        Self { lookups: Arc::new(Semaphore::new(MOST_LOOKUPS)) }
    }

    /// `asked` says that a person has approved the host.
    pub async fn dial(&self, rules: &Rules, target: &Target, asked: bool) -> Result<TcpStream, Refusal> {
        connect(rules, target, &resolve(target, self.lookups.clone()).await?, asked).await
    }
}

async fn connect(rules: &Rules, target: &Target, found: &[IpAddr], asked: bool) -> Result<TcpStream, Refusal> {
    let mut failed = None;
    let mut refused = None;
    for &address in found {
        if let Err(reason) = rules.check_address(target, address, asked).and_then(|()| check_own(address, target.port))
        {
            refused.get_or_insert(reason);
            continue;
        }
        let address = SocketAddr::new(address, target.port);
        match tokio::time::timeout(CONNECT_WITHIN, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => failed = Some(error.to_string()),
            Err(_) => failed = Some("it does not answer".to_owned()),
        }
    }
    Err(match (failed, refused) {
        (Some(error), _) => Refusal::Failed(format!("failed to connect to {target}: {error}")),
        (None, Some(reason)) => Refusal::NotAllowed(format!(
            "commands may not reach the host {} (port {}): {reason}",
            target.host, target.port
        )),
        (None, None) => Refusal::Failed(format!("the host {} has no address", target.host)),
    })
}

async fn resolve(target: &Target, lookups: Arc<Semaphore>) -> Result<Vec<IpAddr>, Refusal> {
    let name = match &target.host {
        Host::Address(address) => return Ok(vec![*address]),
        Host::Name(name) => name.clone(),
    };
    let looking = async {
        let place = lookups.acquire_owned().await;
        let port = target.port;
        // Its thread goes on even if nobody waits for the answer any more.
        worker_threads::run(move || {
            let _place = place;
            (name, port).to_socket_addrs().map(|found| found.map(|one| one.ip()).collect())
        })
        .await
    };
    let failed = |why: String| Refusal::Failed(format!("the host {} was not found: {why}", target.host));
    match tokio::time::timeout(RESOLVE_WITHIN, looking).await {
        Ok(Ok(Ok(found))) => Ok(found),
        Ok(Ok(Err(error))) => Err(failed(std::io::Error::to_string(&error))),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(_) => Err(failed("the resolver does not answer".to_owned())),
    }
}

fn check_own(address: IpAddr, port: u16) -> Result<(), String> {
    let is_here =
        || address.to_canonical().is_loopback() || address.is_unspecified() || UdpSocket::bind((address, 0)).is_ok();
    if OWN_PORTS.locked().contains(&port) && is_here() {
        return Err("testudo itself listens there, and commands never reach it".to_owned());
    }
    Ok(())
}
