//! What this machine can enforce, found out by trying: a keeper at each level tries to break every promise from inside.

use super::SpareKeeper;
use super::profiles::Plan;
use crate::exec::{KeeperError, KeeperLink};
use crate::sandbox::home::{Home, State};
use crate::sandbox::support::Finding;
use crate::sandbox::{Level, Tested, obstacles};

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
    /// What to do about shortages and missing things that kept it from a higher level.
    shortages: Vec<String>,
    /// A higher level has failed for a reason that may pass, such as a limit of open files.
    may_rise: bool,
}

impl Enforcement {
    /// For a machine on which nothing can be tried.
    pub fn untested(reason: String, fix: &str) -> Self {
        Self { shortfalls: vec![reason], shortages: vec![fix.to_owned()], ..Self::default() }
    }

    /// Whether it need not be tried again. Only a success is final.
    pub fn is_final(&self) -> bool {
        self.level != Level::None && !self.may_rise
    }

    /// Tries a level with a keeper. If it holds, it is the level of this machine, and its keeper becomes the spare one.
    /// Returns whether a lower level need not be tried.
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
            Err(error) if error.is_about_all_levels() => {
                self.shortages.extend(error.advice());
                self.shortfalls.push(error.to_string());
                return true;
            }
            Err(error) => {
                self.may_rise |= error.may_pass();
                self.shortages.extend(error.advice().filter(|advice| !self.shortages.contains(advice)));
                self.shortfalls.push(format!("level {level}: {error}"));
            }
        }
        false
    }

    pub fn has_private_home(&self) -> bool {
        self.home.as_ref().is_some_and(|home| home.state == State::Private)
    }

    /// What people can do to reach a higher level. A shortage comes first: as long as it lasts, nothing else is known.
    pub fn fixes(&self) -> Vec<String> {
        if self.shortages.is_empty() { obstacles::fixes(self.level) } else { self.shortages.clone() }
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

impl From<&Enforcement> for Tested {
    fn from(found: &Enforcement) -> Self {
        Self { level: found.level, private_home: found.has_private_home() }
    }
}

async fn try_out(plan: Plan) -> Result<(KeeperLink, Vec<Finding>), KeeperError> {
    let keeper = KeeperLink::launch(plan.profile, plan.masks, plan.home).await?;
    let findings = keeper.probe().await?;
    Ok((keeper, findings))
}
