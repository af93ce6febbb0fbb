use std::sync::Mutex;

use crate::base::locks::LockExt;
use crate::exec::{KeeperError, KeeperLink};
use crate::sandbox::Profile;

/// The keeper that the self-test made. The first session takes it if its profile is the same, which saves a launch.
#[derive(Debug, Default)]
pub struct SpareKeeper(Mutex<Option<KeeperLink>>);

impl SpareKeeper {
    pub fn put(&self, keeper: KeeperLink) {
        *self.0.locked() = Some(keeper);
    }

    /// The spare one if it lives and has that profile, else a new one.
    pub async fn take_or_launch(&self, profile: Profile) -> Result<KeeperLink, KeeperError> {
        let spare = self.0.locked().take();
        match spare.filter(|spare| **spare.profile() == profile && !spare.is_dead()) {
            Some(spare) => Ok(spare),
            None => KeeperLink::launch(profile).await,
        }
    }

    /// Ends it: an idle server has no other processes.
    pub fn end(&self) {
        self.0.locked().take();
    }
}
