use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::profiles::Plan;
use crate::base::locks::LockExt;
use crate::exec::{KeeperError, KeeperLink, SessionDirectory};

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

/// The keeper of the self-test. The first session takes it with its temporary directory, which saves a launch.
#[derive(Debug, Default)]
pub struct SpareKeeper(Arc<Mutex<Spare>>);

#[derive(Debug, Default)]
struct Spare {
    keeper: Option<KeeperLink>,
    directory: Option<Arc<SessionDirectory>>,
}

/// An idle server has no other processes after this.
const KEPT: Duration = Duration::from_mins(5);

impl SpareKeeper {
    pub fn put(&self, keeper: KeeperLink) {
        self.0.locked().keeper = Some(keeper);
    }

    /// The temporary directory that the spare one was made for.
    pub fn furnish(&self, directory: SessionDirectory) {
        let mut spare = self.0.locked();
        if spare.keeper.is_none() {
            return;
        }
        spare.directory = Some(Arc::new(directory));
        let expiring = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            tokio::time::sleep(KEPT).await;
            if let Some(spare) = expiring.upgrade() {
                spare.locked().clear();
            }
        });
    }

    /// For a new session. It gets the spare keeper when it runs its first command.
    pub fn take_directory(&self) -> Option<Arc<SessionDirectory>> {
        self.0.locked().directory.take()
    }

    /// The spare one if it lives and has that profile, else a new one.
    pub async fn take_or_launch(&self, mut plan: Plan) -> Result<KeeperLink, KeeperError> {
        // The spare one is made before anybody knows what is protected, and secrets may have changed since. It is told now.
        let protected = std::mem::take(&mut plan.profile.protected);
        let fits = |spare: &mut KeeperLink| spare.was_made_for(&plan.profile) && !spare.is_dead();
        let spare = self.0.locked().keeper.take_if(fits);
        if let Some(mut spare) = spare
            && matches!(spare.mask(&plan.masks).await, Ok(true))
            && spare.protect_from_the_start(protected.clone()).await.is_ok()
        {
            return Ok(spare);
        }
        plan.profile.protected = protected;
        launch(&plan).await
    }

    /// Ends it.
    pub fn end(&self) {
        self.0.locked().clear();
    }
}

impl Spare {
    fn clear(&mut self) {
        (self.keeper, self.directory) = (None, None);
    }
}
