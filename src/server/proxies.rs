//! The proxies of a session: one for each keeper with a network of its own, else one for all keepers without grants.

use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_util::task::AbortOnDropHandle;

use super::hosts::{Hosts, granted};
use crate::exec::{Caller, KeeperLink, caller};
use crate::network::{self, Proxy, never_reach_port, variables};
use crate::policy::Grant;
use crate::sandbox::profile::Announced;
use crate::sandbox::{Level, Network, Profile};

#[derive(Debug)]
pub struct Proxies {
    hosts: Arc<Hosts>,
    /// Our own, for ssh.
    program: Option<PathBuf>,
    /// On the host's loopback interface, for commands that share the host's network.
    shared: tokio::sync::OnceCell<Shared>,
}

#[derive(Debug)]
struct Shared {
    port: u16,
    _serving: AbortOnDropHandle<()>,
}

impl Proxies {
    pub fn new(hosts: Arc<Hosts>, program: Option<PathBuf>) -> Self {
        Self { hosts, program, shared: tokio::sync::OnceCell::new() }
    }

    pub fn hosts(&self) -> &Arc<Hosts> {
        &self.hosts
    }

    /// Adds to the profile of a new keeper where its proxy is. The listener, if there is one, is for [`Proxies::serve`].
    pub async fn prepare(&self, profile: &mut Profile, grants: &[Grant]) -> io::Result<Option<TcpListener>> {
        if profile.network != Network::Hosts || profile.level != Level::Landlock {
            return Ok(None);
        }
        let start = async || {
            let (listener, port) = listen()?;
            let serving = Proxy::new(self.hosts.doorman(&[]), is_a_session).serve(listener);
            Ok::<_, io::Error>(Shared { port, _serving: network::serve(serving) })
        };
        let shared = self.shared.get_or_try_init(start).await?.port;
        let announced = |port| variables::all(port, self.program.as_deref());
        if granted(grants).next().is_none() {
            profile.proxy = shared;
            let new = |(name, value)| Announced { name, value, replaces: None };
            profile.announced = announced(shared).into_iter().map(new).collect();
            return Ok(None);
        }
        // What the session has exported leads to the proxy of all.
        let (listener, port) = listen()?;
        profile.proxy = port;
        let pairs = announced(port).into_iter().zip(announced(shared));
        profile.announced =
            pairs.map(|((name, value), (_, old))| Announced { name, value, replaces: Some(old) }).collect();
        Ok(Some(listener))
    }

    /// Serves a new keeper.
    pub fn serve(&self, keeper: &KeeperLink, listener: Option<TcpListener>, grants: &[Grant]) {
        let inside = keeper.network().and_then(|network| network.take_listener());
        let admits: fn(&TcpStream) -> bool = if inside.is_some() { |_| true } else { is_a_session };
        if let Some(listener) = inside.or(listener) {
            let serving = Proxy::new(self.hosts.doorman(grants), admits).serve(listener);
            keeper.attach(network::serve(serving));
        }
    }
}

/// For a session with a network of its own, where the port is always the same.
pub fn announced(program: Option<&std::path::Path>) -> Vec<Announced> {
    let all = variables::all(variables::PORT, program).into_iter();
    all.map(|(name, value)| Announced { name, value, replaces: None }).collect()
}

fn listen() -> io::Result<(TcpListener, u16)> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let port = listener.local_addr()?.port();
    never_reach_port(port);
    Ok((listener, port))
}

/// Other programs of this machine have no business here. (The supervisor keeps a command from the proxies of other
/// sessions.)
fn is_a_session(client: &TcpStream) -> bool {
    let (Ok(own), Ok(peer)) = (client.local_addr(), client.peer_addr()) else { return false };
    caller::of_tcp(own, peer) == Caller::Session
}
