//! What all sessions of a server use together. Each keeper counts its own session and tells us. When the total is too much,
//! the session that uses most has to give something up.

use std::sync::{Arc, Mutex, Weak};

use super::socket::Socket;
use crate::base::locks::LockExt;
use crate::keeper::protocol::{Excess, KeeperRequest, SessionUsage};
use crate::sandbox::limits::TotalLimits;

#[derive(Debug)]
pub struct Totals {
    limits: TotalLimits,
    sessions: Mutex<Vec<Entry>>,
}

#[derive(Debug)]
struct Entry {
    keeper: Weak<Socket>,
    usage: SessionUsage,
}

impl Totals {
    pub fn new(limits: TotalLimits) -> Self {
        Self { limits, sessions: Mutex::default() }
    }

    /// A keeper tells what its session uses.
    pub(super) fn report(&self, keeper: &Arc<Socket>, usage: SessionUsage) {
        for (largest, request) in self.note(keeper, usage) {
            // A keeper that has no room for the request does not read any, so waiting would not help.
            let _ = largest.send_now(&request.encode());
        }
    }

    /// Returns which keepers have to kill something, and why. Nobody reports what has not changed, so this looks for
    /// further excesses as if the chosen ones had given everything up.
    fn note(&self, keeper: &Arc<Socket>, usage: SessionUsage) -> Vec<(Arc<Socket>, KeeperRequest)> {
        let mut sessions = self.sessions.locked();
        let other = Arc::downgrade(keeper);
        sessions.retain(|entry| entry.keeper.strong_count() > 0 && !entry.keeper.ptr_eq(&other));
        sessions.push(Entry { keeper: other, usage });
        let mut requests = Vec::new();
        while let Some((excess, reason)) = self.excess(&sessions) {
            let largest = sessions.iter_mut().max_by_key(|entry| match excess {
                Excess::Processes => entry.usage.processes,
                Excess::Memory | Excess::Disk => entry.usage.memory,
            });
            let Some(largest) = largest else { break };
            // It reports again once it has killed something. Until then it must not be chosen a second time.
            largest.usage = SessionUsage::default();
            requests.extend(largest.keeper.upgrade().map(|keeper| (keeper, KeeperRequest::Shed { excess, reason })));
        }
        requests
    }

    fn excess(&self, sessions: &[Entry]) -> Option<(Excess, String)> {
        let used = |of: fn(&SessionUsage) -> u64| sessions.iter().map(|entry| of(&entry.usage)).sum::<u64>();
        let (processes, memory) = (used(|usage| usage.processes), used(|usage| usage.memory));
        if memory > self.limits.memory {
            let (used, limit) = (memory >> 20, self.limits.memory >> 20);
            let reason =
                format!("all sessions together used {used} MB of memory, sandbox.limits.total_memory is {limit} MB");
            Some((Excess::Memory, reason))
        } else if processes > self.limits.processes {
            let limit = self.limits.processes;
            let reason =
                format!("all sessions together had {processes} processes, sandbox.limits.total_processes is {limit}");
            Some((Excess::Processes, reason))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_session_that_uses_most_gives_way_once() {
        let totals = Totals::new(TotalLimits { processes: 10, memory: 100 });
        let keeper = || Arc::new(Socket::pair().unwrap().0);
        let (one, two) = (keeper(), keeper());
        let usage = |processes, memory| SessionUsage { processes, memory };
        assert!(totals.note(&one, usage(2, 70)).is_empty());
        let (chosen, request) = totals.note(&two, usage(2, 40)).pop().unwrap();
        assert!(Arc::ptr_eq(&chosen, &one));
        assert!(matches!(request, KeeperRequest::Shed { excess: Excess::Memory, .. }));
        assert!(totals.note(&two, usage(2, 41)).is_empty(), "the first has not answered yet");
        let again = totals.note(&one, usage(9, 10)).pop().unwrap();
        assert!(Arc::ptr_eq(&again.0, &one));
        drop((chosen, again));
        drop(one);
        assert!(totals.note(&two, usage(9, 99)).is_empty(), "a session that is gone does not count");
    }

    #[tokio::test]
    async fn one_report_may_show_two_excesses() {
        let totals = Totals::new(TotalLimits { processes: 10, memory: 100 });
        let keeper = || Arc::new(Socket::pair().unwrap().0);
        let (one, two, three) = (keeper(), keeper(), keeper());
        let usage = |processes, memory| SessionUsage { processes, memory };
        assert!(totals.note(&one, usage(1, 90)).is_empty());
        assert!(totals.note(&two, usage(8, 5)).is_empty());
        let requests = totals.note(&three, usage(7, 20));
        assert!(matches!(requests[0].1, KeeperRequest::Shed { excess: Excess::Memory, .. }));
        assert!(matches!(requests[1].1, KeeperRequest::Shed { excess: Excess::Processes, .. }));
        assert!(Arc::ptr_eq(&requests[1].0, &two));
    }
}
