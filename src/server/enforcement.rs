//! What this machine can enforce, found out by trying: a keeper at each level tries to break every promise from inside.

use super::SpareKeeper;
use super::profiles::Plan;
use crate::exec::{KeeperError, KeeperLink};
use crate::sandbox::Level;
use crate::sandbox::home::{Home, State};
use crate::sandbox::support::Finding;

#[derive(Clone, Debug, Default)]
pub struct Enforcement {
    pub level: Level,
    /// What was tried from inside, at that level.
    pub findings: Vec<Finding>,
    /// The home directory of the keeper that was tried.
    pub home: Option<Home>,
    /// Why that home is not private although it was to be.
    pub home_shortfall: Option<String>,
    /// Why it is not a higher level.
    pub shortfalls: Vec<String>,
}

impl Enforcement {
    /// Tries a level with a keeper. If it holds, it is the level of this machine, and its keeper becomes the spare one.
    pub async fn try_level(&mut self, level: Level, plan: Plan, spare: &SpareKeeper) -> bool {
        match try_out(plan).await {
            Ok((keeper, findings)) => {
                let broken = findings.iter().filter(|finding| !finding.held).map(|finding| &finding.promise);
                let broken: Vec<String> = broken.map(|promise| format!("level {level}: broken: {promise}")).collect();
                if broken.is_empty() {
                    (self.level, self.findings) = (level, findings);
                    self.home.clone_from(&keeper.profile().home);
                    self.home_shortfall = keeper.home_shortfall().map(str::to_owned);
                    spare.put(keeper);
                    return true;
                }
                self.shortfalls.extend(broken);
            }
            Err(error) => self.shortfalls.push(format!("level {level}: {error}")),
        }
        false
    }

    pub fn has_private_home(&self) -> bool {
        self.home.as_ref().is_some_and(|home| home.state == State::Private)
    }

    pub fn log(&self) {
        let reasons = self.shortfalls.join("; ");
        match self.level {
            Level::Full => tracing::info!(level = "full", "sandbox self-test passed"),
            Level::Landlock => tracing::warn!(level = "landlock", reasons, "the sandbox is weaker than it could be"),
            Level::None => tracing::error!(level = "none", reasons, "the sandbox does not hold on this machine"),
        }
    }
}

async fn try_out(plan: Plan) -> Result<(KeeperLink, Vec<Finding>), KeeperError> {
    let keeper = KeeperLink::launch(plan.profile, plan.masks, plan.home).await?;
    let findings = keeper.probe().await?;
    Ok((keeper, findings))
}
