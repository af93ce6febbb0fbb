use std::sync::Mutex;
use std::time::Duration;

use super::profiles::Plan;
use crate::base::locks::LockExt;
use crate::exec::{KeeperError, KeeperLink};

/// Pauses before further attempts, where no process can be started.
const PAUSES: [Duration; 5] = [
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
    Duration::from_millis(800),
    Duration::from_millis(1500),
];

/// After a fork bomb, the kernel takes a while to remove what was killed.
async fn launch(plan: &Plan) -> Result<KeeperLink, KeeperError> {
    let attempt = || KeeperLink::launch(plan.profile.clone(), plan.masks.clone(), plan.home.clone());
    for pause in PAUSES {
        match attempt().await {
            Err(error) if error.lacks_processes() => tokio::time::sleep(pause).await,
            launched => return launched,
        }
    }
    attempt().await
}

/// The keeper that the self-test made. The first session takes it if its profile is the same, which saves a launch.
#[derive(Debug, Default)]
pub struct SpareKeeper(Mutex<Option<KeeperLink>>);

impl SpareKeeper {
    pub fn put(&self, keeper: KeeperLink) {
        *self.0.locked() = Some(keeper);
    }

    /// The spare one if it lives and has that profile, else a new one.
    pub async fn take_or_launch(&self, plan: Plan) -> Result<KeeperLink, KeeperError> {
        let spare = self.0.locked().take();
        match spare.filter(|spare| spare.was_made_for(&plan.profile) && !spare.is_dead()) {
            Some(spare) => Ok(spare),
            None => launch(&plan).await,
        }
    }

    /// Ends it: an idle server has no other processes.
    pub fn end(&self) {
        self.0.locked().take();
    }
}
