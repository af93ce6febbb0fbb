//! Where a session's commands have connected to, for the people who watch: one line for each host and port.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, Weak};

use crate::base::locks::LockExt;
use crate::network::{Connection, Target, Traffic};

#[derive(Debug, Default)]
pub struct Connections {
    /// The one that was used last comes first.
    hosts: Mutex<VecDeque<Known>>,
}

#[derive(Debug)]
struct Known {
    seen: SeenHost,
    /// Of the connections that are open. Each goes with its connection.
    open: Vec<Weak<Traffic>>,
}

/// A host that commands have connected to, or wanted to.
#[derive(Clone, Debug, Default)]
pub struct SeenHost {
    pub host: String,
    pub port: u16,
    /// How many connections are open, and how many have ended.
    pub open: usize,
    pub ended: u64,
    pub refused: u64,
    /// Why the last connection was refused or failed.
    pub reason: Option<String>,
    /// Bytes to the host and from it, in all connections.
    pub sent: u64,
    pub received: u64,
}

/// A command can ask for any number of hosts. The ones that were used last are kept.
const MOST_HOSTS: usize = 50;

impl Connections {
    pub fn opened(&self, target: &Target, traffic: &Arc<Traffic>) {
        self.change(&target.host.to_string(), target.port, |known| known.open.push(Arc::downgrade(traffic)));
    }

    /// It was refused, or has ended.
    pub fn ended(&self, connection: &Connection) {
        self.change(&connection.host, connection.port, |Known { seen, .. }| {
            *(if connection.refused.is_some() { &mut seen.refused } else { &mut seen.ended }) += 1;
            seen.reason = connection.refused.clone().or_else(|| connection.failed.clone());
            seen.sent += connection.sent;
            seen.received += connection.received;
        });
    }

    pub fn hosts(&self) -> Vec<SeenHost> {
        let now = |known: &Known| {
            let mut seen = known.seen.clone();
            for traffic in known.open.iter().filter_map(Weak::upgrade) {
                seen.open += 1;
                seen.sent += traffic.sent.load(Ordering::Relaxed);
                seen.received += traffic.received.load(Ordering::Relaxed);
            }
            seen
        };
        self.hosts.locked().iter().map(now).collect()
    }

    fn change(&self, host: &str, port: u16, change: impl FnOnce(&mut Known)) {
        let mut hosts = self.hosts.locked();
        let at = hosts.iter().position(|known| known.seen.host == host && known.seen.port == port);
        let new = || Known { seen: SeenHost { host: host.to_owned(), port, ..SeenHost::default() }, open: Vec::new() };
        let mut known = at.and_then(|at| hosts.remove(at)).unwrap_or_else(new);
        known.open.retain(|traffic| traffic.strong_count() > 0);
        change(&mut known);
        hosts.push_front(known);
        hosts.truncate(MOST_HOSTS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_added_up_by_host_and_the_last_hosts_are_kept() {
        let (connections, traffic) = (Connections::default(), Arc::new(Traffic::default()));
        let target = Target::read("a.com:443", None).unwrap();
        connections.opened(&target, &traffic);
        traffic.received.store(7, Ordering::Relaxed);
        let seen = &connections.hosts()[0];
        assert_eq!((seen.open, seen.ended, seen.received), (1, 0, 7));
        drop(traffic);
        let ended = |host: String, refused: Option<String>| {
            connections.ended(&Connection {
                host,
                port: 443,
                refused,
                failed: None,
                sent: 1,
                received: 10,
                milliseconds: 5,
            });
        };
        ended("a.com".to_owned(), None);
        ended("a.com".to_owned(), Some("no".to_owned()));
        let seen = &connections.hosts()[0];
        assert_eq!((seen.open, seen.ended, seen.refused, seen.received), (0, 1, 1, 20));
        assert_eq!(seen.reason.as_deref(), Some("no"));
        (0..MOST_HOSTS).for_each(|number| ended(format!("h{number}.com"), None));
        let hosts = connections.hosts();
        assert_eq!((hosts.len(), hosts[0].host.as_str()), (MOST_HOSTS, "h49.com"));
    }
}
