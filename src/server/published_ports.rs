//! Ports that a session's commands listen on in a network of their own, made reachable on the host's loopback interface.
//!
//! Nothing tells when a program begins to listen, so the table of sockets is read while something runs.

use std::collections::BTreeMap;
use std::net::{IpAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use super::{Notes, Session};
use crate::exec::OwnNetwork;
use crate::network::{self, Traffic, relay};

#[derive(Debug)]
pub struct PublishedPorts {
    notes: Notes,
    published: tokio::sync::Mutex<Vec<Published>>,
    watching: AtomicBool,
}

#[derive(Debug)]
struct Published {
    network: Weak<OwnNetwork>,
    port: u16,
    _serving: AbortOnDropHandle<()>,
}

const LOOK: Duration = Duration::from_millis(100);
/// Ports of one session. A program that listens on more of them is not a server for people.
const MOST_PORTS: usize = 64;
/// Connections to one port at a time.
const MOST_CONNECTIONS: usize = 256;

impl PublishedPorts {
    pub fn new(notes: Notes) -> Self {
        Self { notes, published: tokio::sync::Mutex::default(), watching: AtomicBool::default() }
    }

    /// Looks again and again until nothing runs any more.
    pub fn watch(session: &Arc<Session>) {
        let Some(ports) = session.ports() else { return };
        if ports.watching.swap(true, Ordering::Relaxed) {
            return;
        }
        let watched = Arc::downgrade(session);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(LOOK).await;
                let Some(session) = watched.upgrade() else { return };
                let Some(ports) = session.ports() else { return };
                let running = session.names().is_running();
                ports.watching.store(running, Ordering::Relaxed);
                ports.look(&session.keepers().networks()).await;
                if !running {
                    return;
                }
            }
        });
    }

    /// Publishes what has come, and ends what has gone.
    pub async fn look(&self, networks: &[Arc<OwnNetwork>]) {
        let now: Vec<(&Arc<OwnNetwork>, BTreeMap<u16, IpAddr>)> =
            networks.iter().map(|network| (network, network.listening())).collect();
        let mut published = self.published.lock().await;
        published.retain(|known| {
            let mut same = now.iter().filter(|(network, _)| Weak::as_ptr(&known.network) == Arc::as_ptr(network));
            same.any(|(_, listening)| listening.contains_key(&known.port))
        });
        for (network, listening) in &now {
            for (port, address) in listening {
                let same =
                    |known: &Published| known.port == *port && Weak::as_ptr(&known.network) == Arc::as_ptr(network);
                if published.len() >= MOST_PORTS || published.iter().any(same) {
                    continue;
                }
                if let Some(serving) = self.publish(network, *address, *port) {
                    published.push(Published { network: Arc::downgrade(network), port: *port, _serving: serving });
                }
            }
        }
    }

    fn publish(&self, network: &Arc<OwnNetwork>, address: IpAddr, port: u16) -> Option<AbortOnDropHandle<()>> {
        let listener = match TcpListener::bind(("127.0.0.1", port)) {
            Ok(listener) => listener,
            Err(error) => {
                let listener = TcpListener::bind(("127.0.0.1", 0)).ok()?;
                let free = listener.local_addr().ok()?.port();
                self.notes.add(format!(
                    "port {port} of this session is 127.0.0.1:{free} on the host, because {port} cannot be used there \
                     ({error}); inside the session it is still {port} (network.publish)"
                ));
                listener
            }
        };
        let inside = Arc::downgrade(network);
        Some(network::serve(serve(listener, inside, address, port)))
    }
}

async fn serve(listener: TcpListener, network: Weak<OwnNetwork>, address: IpAddr, port: u16) {
    let Ok(listener) = network::local_listener(listener) else { return };
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let Ok((mut client, _)) = listener.accept().await else {
            tokio::time::sleep(LOOK).await;
            continue;
        };
        let Some(network) = network.upgrade() else { return };
        connections.spawn(async move {
            let _place = place;
            let Ok(mut inside) = network.connect(address, port).await else { return };
            drop(network);
            let _ = (client.set_nodelay(true), inside.set_nodelay(true));
            relay(&mut client, &mut inside, &Traffic::default()).await;
        });
    }
}
