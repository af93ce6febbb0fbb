use std::sync::Mutex;

use super::profiles::Plan;
use crate::base::locks::LockExt;
use crate::exec::{KeeperError, KeeperLink};

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
            None => KeeperLink::launch(plan.profile, plan.masks, plan.home).await,
        }
    }

    /// Ends it: an idle server has no other processes.
    pub fn end(&self) {
        self.0.locked().take();
    }
}
