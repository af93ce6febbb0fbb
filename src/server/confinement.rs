//! How commands are confined on this machine: found out once by trying, and turned into a profile for each keeper.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use tokio::sync::OnceCell;
use tokio::task::JoinHandle;

use super::walks::{Haste, Walks};
use crate::base::locks::LockExt;
use crate::base::protected_names::{self, Names};
use crate::config::Config;
use crate::exec::{Keeper, KeeperError};
use crate::sandbox::profile::Sockets;
use crate::sandbox::sentry::{Reach, Sentry, Walked};
use crate::sandbox::settings::{Switch, WantedLevel};
use crate::sandbox::support::Finding;
use crate::sandbox::{Level, Mode, Network, Profile, Settings, caches, secrets};

/// The server's side of the sandbox.
#[derive(Debug)]
pub struct Confinement {
    settings: Settings,
    /// Directories that stay visible whatever the sandbox hides around them.
    visible: Vec<PathBuf>,
    /// Files of ours that no command shall read.
    own: Vec<PathBuf>,
    environment: Vec<(OsString, OsString)>,
    places: OnceLock<Places>,
    found: OnceCell<Found>,
    /// The keeper of the trial, for whoever wants one with the same profile.
    spare: Mutex<Option<Keeper>>,
    prepared: Mutex<Option<Prepared>>,
    /// What nobody may plant.
    names: Arc<Names>,
    walks: Walks,
}

/// A sentry that is being posted in advance, and for which scope.
#[derive(Debug)]
struct Prepared {
    scope: Vec<PathBuf>,
    walk: JoinHandle<Option<Sentry>>,
}

/// What takes a look at the disk to know.
#[derive(Debug)]
struct Places {
    caches: Vec<PathBuf>,
    secrets: Vec<PathBuf>,
}

/// What this machine enforces.
#[derive(Clone, Debug, Default)]
pub struct Found {
    pub level: Level,
    /// What was tried from inside, at that level.
    pub findings: Vec<Finding>,
    /// Why it is not a higher one.
    pub shortfalls: Vec<String>,
}

/// Why commands are refused on this machine.
#[derive(Debug, thiserror::Error)]
#[error("commands are refused: the sandbox reaches level {level} here, sandbox.minimum is {minimum}{}", because(.shortfalls))]
pub struct TooWeak {
    level: Level,
    minimum: Level,
    shortfalls: Vec<String>,
}

fn because(shortfalls: &[String]) -> String {
    shortfalls.iter().flat_map(|shortfall| ["\n", shortfall]).collect()
}

impl Confinement {
    pub fn new(config: &Config) -> Self {
        let variable = |name: &str| variable(&config.environment, name);
        let roots = variable("ALLOWED_CWD_ROOTS").and_then(OsStr::to_str).unwrap_or_default();
        let roots = roots.split(',').map(str::trim).filter(|root| !root.is_empty());
        let mut visible: Vec<PathBuf> = roots.filter_map(|root| Path::new(root).canonicalize().ok()).collect();
        visible.push(config.directories.launch_dir.clone());
        let own = [Some(config.cache_dir.clone()), config.file.clone()].into_iter().flatten();
        Self {
            settings: config.sandbox.clone(),
            visible,
            own: own.filter_map(|path| path.canonicalize().ok()).collect(),
            environment: config.environment.clone(),
            places: OnceLock::new(),
            found: OnceCell::new(),
            spare: Mutex::default(),
            prepared: Mutex::default(),
            names: Arc::new(Names::new(&config.sandbox.protect)),
            walks: Walks::default(),
        }
    }

    /// The level that holds here, tried out on first use with a keeper of its own.
    pub async fn found(&self, scope: &[PathBuf], tmp: &Path) -> &Found {
        self.found.get_or_init(|| self.find(scope, tmp)).await
    }

    /// A keeper with that profile: the one that was tried out, if it has it, or a new one.
    pub async fn keeper(&self, profile: Profile) -> Result<Keeper, KeeperError> {
        match self.take_spare().filter(|spare| *spare.profile() == profile && !spare.is_dead()) {
            Some(spare) => Ok(spare),
            None => Keeper::launch(profile).await,
        }
    }

    /// The keeper of the trial; dropping it ends it.
    pub fn take_spare(&self) -> Option<Keeper> {
        self.spare.locked().take()
    }

    /// Somebody to look after protected names in that scope: what stands there now is the person's own. None where
    /// commands can write nothing, or may write everything.
    pub async fn sentry(&self, scope: &[PathBuf], level: Level) -> Option<Sentry> {
        let prepared = self.prepared.locked().take();
        if let Some(prepared) = prepared.filter(|prepared| prepared.scope == scope) {
            let mut sentry = prepared.walk.await.ok().flatten();
            // What has come since the start of the server is the person's own too: no command has run yet.
            sentry.iter_mut().for_each(|sentry| sentry.accept(Reach::Near));
            return sentry;
        }
        self.walk(scope, level).await
    }

    /// `sandbox.protect`, for the policy.
    pub fn protected_names(&self) -> Arc<Names> {
        self.names.clone()
    }

    /// The protected name that a path falls under, seen from a directory in scope. Nothing is protected where commands may
    /// write everything.
    pub fn protecting(&self, relative: &Path) -> Option<String> {
        let git = || protected_names::git_configuration().protecting(relative).map(str::to_owned);
        let name = self.names.protecting(relative).map(str::to_owned).or_else(git);
        name.filter(|_| self.settings.mode != Mode::Off)
    }

    /// Looks through the scope while the agent still thinks: a large one takes a while.
    pub fn prepare_sentry(self: &Arc<Self>, scope: Vec<PathBuf>) {
        let level = self.found_so_far().map_or(Level::None, |found| found.level);
        let (confinement, directories) = (self.clone(), scope.clone());
        let walk = tokio::spawn(async move { confinement.walk(&directories, level).await });
        *self.prepared.locked() = Some(Prepared { scope, walk });
    }

    async fn walk(&self, scope: &[PathBuf], level: Level) -> Option<Sentry> {
        if self.settings.mode != Mode::WorkspaceWrite || level == Level::None || scope.is_empty() {
            return None;
        }
        let (names, scope) = (self.names.clone(), scope.to_vec());
        let walked = self.walks.walk(&scope, &names, Haste::Now).await;
        let post = move || Sentry::new(names, scope, level == Level::Full, &walked);
        tokio::task::spawn_blocking(post).await.ok()
    }

    /// Looks for protected names everywhere in that scope, in a while.
    pub async fn walk_later(&self, scope: &[PathBuf]) -> Arc<Walked> {
        self.walks.walk(scope, &self.names, Haste::Later).await
    }

    /// As far as it is known by now.
    pub fn found_so_far(&self) -> Option<&Found> {
        self.found.get()
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What a keeper for this scope is restricted to; refused when the machine offers less than was asked for.
    pub async fn profile(&self, scope: &[PathBuf], tmp: &Path) -> Result<Profile, TooWeak> {
        let found = self.found(scope, tmp).await;
        if self.settings.mode != Mode::Off && found.level < self.settings.minimum {
            return Err(TooWeak {
                level: found.level,
                minimum: self.settings.minimum,
                shortfalls: found.shortfalls.clone(),
            });
        }
        Ok(self.profile_at(found.level, scope, tmp))
    }

    async fn find(&self, scope: &[PathBuf], tmp: &Path) -> Found {
        let mut found = Found::default();
        if self.settings.mode == Mode::Off {
            return found;
        }
        let levels = match self.settings.level {
            WantedLevel::Auto => [Level::Full, Level::Landlock].as_slice(),
            WantedLevel::Landlock => {
                found.shortfalls.push("level full: not tried, sandbox.level is landlock".to_owned());
                [Level::Landlock].as_slice()
            }
        };
        for level in levels {
            match try_out(self.profile_at(*level, scope, tmp)).await {
                Ok((keeper, findings)) => {
                    let broken = findings.iter().filter(|finding| !finding.held).map(|finding| &finding.promise);
                    let broken: Vec<String> =
                        broken.map(|promise| format!("level {level}: broken: {promise}")).collect();
                    if broken.is_empty() {
                        (found.level, found.findings) = (*level, findings);
                        *self.spare.locked() = Some(keeper);
                        break;
                    }
                    found.shortfalls.extend(broken);
                }
                Err(error) => found.shortfalls.push(format!("level {level}: {error}")),
            }
        }
        log(&found);
        found
    }

    fn profile_at(&self, level: Level, scope: &[PathBuf], tmp: &Path) -> Profile {
        let places = self.places();
        let writable = match self.settings.mode {
            Mode::WorkspaceWrite => outermost(scope.iter().chain(&places.caches)),
            Mode::ReadOnly | Mode::Off => Vec::new(),
        };
        let sockets = &self.settings.sockets;
        Profile {
            level,
            network: match (self.settings.network, self.settings.loopback) {
                (Switch::On, _) => Network::On,
                (Switch::Off, true) => Network::Loopback,
                (Switch::Off, false) => Network::Off,
            },
            private_tmp: Profile::can_have_private_tmp(level, scope),
            writable,
            visible: self.visible.iter().chain(scope).cloned().collect(),
            tmp: tmp.to_owned(),
            protected: Vec::new(),
            secrets: places.secrets.clone(),
            sockets: if sockets.iter().any(|socket| socket == "*") {
                Sockets::All
            } else {
                Sockets::Only(sockets.iter().map(|socket| self.expand(socket)).collect())
            },
            limits: self.settings.limits.limits(),
        }
    }

    /// Secrets inside these directories, for file tools: what commands cannot read, they do not read either.
    pub fn secrets_in(&self, directories: &[PathBuf]) -> Vec<PathBuf> {
        if self.settings.mode == Mode::Off {
            return Vec::new();
        }
        let inside = |secret: &&PathBuf| directories.iter().any(|directory| secret.starts_with(directory));
        self.places().secrets.iter().filter(inside).cloned().collect()
    }

    fn places(&self) -> &Places {
        self.places.get_or_init(|| {
            let home = self.home();
            let variable = |name: &str| variable(&self.environment, name);
            Places {
                caches: caches::directories(&self.settings.caches, home, variable),
                secrets: secrets::paths(home, &self.own),
            }
        })
    }

    fn home(&self) -> Option<&Path> {
        variable(&self.environment, "HOME").map(Path::new).filter(|home| home.is_absolute())
    }

    fn expand(&self, path: &str) -> PathBuf {
        match (Path::new(path).strip_prefix("~"), self.home()) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(path),
        }
    }
}

/// For agents and people: what is enforced.
pub fn in_words(settings: &Settings, found: Option<&Found>) -> String {
    let network = if settings.network == Switch::On { "on" } else { "off" };
    let writes = match settings.mode {
        Mode::Off => return format!("off, network {network}: commands run with the server's own rights"),
        Mode::ReadOnly => "commands can write their temporary directory only",
        Mode::WorkspaceWrite => {
            "commands can write the scope, their temporary directory and tool caches, but no git hooks or agent and \
             editor configuration"
        }
    };
    let level = match found {
        None => "level not tried yet".to_owned(),
        Some(found) if found.level < settings.minimum => format!("level {}, so commands are refused", found.level),
        Some(found) => format!("level {}", found.level),
    };
    format!("{}, {level}, network {network}: {writes}; credentials cannot be read", settings.mode)
}

async fn try_out(profile: Profile) -> Result<(Keeper, Vec<Finding>), KeeperError> {
    let keeper = Keeper::launch(profile).await?;
    let findings = keeper.probe().await?;
    Ok((keeper, findings))
}

/// Directories that are not inside another of them, and that exist.
fn outermost<'a>(directories: impl Iterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
    let mut sorted: Vec<&PathBuf> = directories.filter(|path| path.is_dir()).collect();
    sorted.sort();
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in sorted {
        if !kept.iter().any(|outer| path.starts_with(outer)) {
            kept.push(path.clone());
        }
    }
    kept
}

fn variable<'a>(environment: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    environment.iter().find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.as_os_str())
}

fn log(found: &Found) {
    let reasons = found.shortfalls.join("; ");
    match found.level {
        Level::Full => tracing::info!(level = "full", "sandbox tried from inside"),
        Level::Landlock => tracing::warn!(level = "landlock", reasons, "the sandbox is weaker than it could be"),
        Level::None => tracing::error!(level = "none", reasons, "the sandbox does not hold on this machine"),
    }
}
