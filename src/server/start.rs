//! The start of a server: its client is greeted, and the sandbox is tested.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{Notify, RwLock};

use super::{Enforcement, Server};
use crate::exec;
use crate::sandbox::{EarlierLevel, Tested};

#[derive(Debug, Default)]
pub struct Start {
    /// Held until the sandbox has been tested. Calls wait for it.
    testing: Arc<RwLock<()>>,
    /// What the instructions say of the sandbox while it is tested.
    announced: OnceLock<Tested>,
    /// The client has asked for everything that it asks for at its start. The test begins then, and not in the middle of it:
    /// on few processors each would wait for the other.
    greeted: Notify,
}

/// A client that asks for nothing at its start does not keep the self-test waiting for longer.
const LONGEST_GREETING: Duration = Duration::from_millis(20);

impl Start {
    pub fn announced(&self) -> Option<Tested> {
        self.announced.get().copied()
    }

    /// What a new session has to know, if the instructions named another level than the test has found since.
    pub fn correction(&self, found: &Enforcement) -> Option<String> {
        let announced = self.announced.get().filter(|announced| **announced != found.into())?;
        Some(format!(
            "the sandbox is at level {} since this start, not {} as the instructions say",
            found.level, announced.level
        ))
    }
}

impl Server {
    /// Tests the sandbox and writes the start into the audit log. If an earlier start has found a level, clients get their
    /// instructions meanwhile, and only calls wait. Otherwise everybody does, because the instructions name the level.
    pub async fn start(self: &Arc<Self>) -> Option<Arc<Enforcement>> {
        let config = self.config();
        let decisive = format!("{:?} {:?} {:?}", config.sandbox, config.network, config.directories);
        let earlier = EarlierLevel::new(&config.state_dir, &decisive);
        let recalled = earlier.recall().filter(|_| !config.draft);
        let (server, held) = (self.clone(), self.beginning().testing.clone().write_owned().await);
        let test = async move {
            let found = server.self_test().await;
            server.record_start();
            drop(held);
            earlier.remember(found.is_final().then(|| Tested::from(&*found)));
            exec::started();
            found
        };
        let Some(recalled) = recalled else { return Some(test.await) };
        let _ = self.beginning().announced.set(recalled);
        let server = self.clone();
        tokio::spawn(async move {
            let _ = tokio::time::timeout(LONGEST_GREETING, server.beginning().greeted.notified()).await;
            // On a thread of its own: it waits for the disk, and the messages of the client do not wait for that.
            let runtime = tokio::runtime::Handle::current();
            tokio::task::spawn_blocking(move || runtime.block_on(test));
        });
        None
    }

    /// A client knows the tools, or calls one.
    pub fn has_greeted(&self) {
        self.beginning().greeted.notify_one();
    }

    /// Waits for the test of the sandbox that runs beside the start.
    pub(super) async fn tested(&self) {
        drop(self.beginning().testing.read().await);
    }
}
