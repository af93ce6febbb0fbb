//! What this machine can enforce, found out by trying: a keeper at each level tries to break every promise from inside.

use super::SpareKeeper;
use crate::exec::{KeeperError, KeeperLink};
use crate::sandbox::support::Finding;
use crate::sandbox::{Level, Profile};

#[derive(Clone, Debug, Default)]
pub struct Enforcement {
    pub level: Level,
    /// What was tried from inside, at that level.
    pub findings: Vec<Finding>,
    /// Why it is not a higher level.
    pub shortfalls: Vec<String>,
}

impl Enforcement {
    /// Tries the levels in this order and takes the first one that holds. Its keeper becomes the spare one.
    pub async fn find(&mut self, levels: &[Level], profile_at: impl Fn(Level) -> Profile, spare: &SpareKeeper) {
        for level in levels {
            match try_out(profile_at(*level)).await {
                Ok((keeper, findings)) => {
                    let broken = findings.iter().filter(|finding| !finding.held).map(|finding| &finding.promise);
                    let broken: Vec<String> =
                        broken.map(|promise| format!("level {level}: broken: {promise}")).collect();
                    if broken.is_empty() {
                        (self.level, self.findings) = (*level, findings);
                        spare.put(keeper);
                        break;
                    }
                    self.shortfalls.extend(broken);
                }
                Err(error) => self.shortfalls.push(format!("level {level}: {error}")),
            }
        }
        self.log();
    }

    fn log(&self) {
        let reasons = self.shortfalls.join("; ");
        match self.level {
            Level::Full => tracing::info!(level = "full", "sandbox self-test passed"),
            Level::Landlock => tracing::warn!(level = "landlock", reasons, "the sandbox is weaker than it could be"),
            Level::None => tracing::error!(level = "none", reasons, "the sandbox does not hold on this machine"),
        }
    }
}

async fn try_out(profile: Profile) -> Result<(KeeperLink, Vec<Finding>), KeeperError> {
    let keeper = KeeperLink::launch(profile).await?;
    let findings = keeper.probe().await?;
    Ok((keeper, findings))
}
