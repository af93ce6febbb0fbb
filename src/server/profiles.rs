//! Makes the profile of each keeper: from the settings, from what this machine can enforce, and from where secrets and
//! tool caches lie.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use super::{Enforcement, Homes, Secrets, SpareKeeper, granted, proxies};
use crate::base::locks::LockExt;
use crate::base::mounts;
use crate::base::search_path::variable;
use crate::config::Config;
use crate::exec::{LayerLease, ProjectLayers, ServerDirectory, Totals};
use crate::files::{self, real_directory};
use crate::network::{self, variables};
use crate::policy::{Grant, Overlaid};
use crate::sandbox::home::{Home, State, aliases};
use crate::sandbox::profile::{Announced, Sockets};
use crate::sandbox::secrets::{Finder, Mask, Stamped};
use crate::sandbox::settings::{HomeMode, WantedLevel};
use crate::sandbox::{Level, Mode, Network, Profile, Settings, caches};

#[derive(Debug)]
pub struct Profiles {
    settings: Settings,
    network: network::Mode,
    /// Variables that lead commands to the proxy in a network of their own.
    announced: Vec<Announced>,
    ssh_command: String,
    /// Directories that stay visible whatever the sandbox hides around them.
    visible: Vec<PathBuf>,
    environment: Vec<(OsString, OsString)>,
    /// Tool caches, which can only be known by looking at the disk.
    caches: OnceLock<Vec<PathBuf>>,
    secrets: Secrets,
    homes: Arc<Homes>,
    /// With `--draft`.
    drafts: Option<ProjectLayers>,
    /// What was found out last, and when.
    found: Mutex<Option<(Instant, Arc<Enforcement>)>>,
    /// Held while a keeper tries the machine out.
    trying: tokio::sync::Mutex<()>,
    totals: Arc<Totals>,
}

/// A machine that could not hold the sandbox is tried again, at most this often.
const BETWEEN_TRIALS: Duration = Duration::from_secs(1);

/// Where a keeper's commands work.
#[derive(Clone, Copy, Debug)]
pub struct WorkArea<'a> {
    /// Without symbolic links. The layer of a private home belongs to it.
    pub project: &'a Path,
    pub scope: &'a [PathBuf],
    /// The session's temporary directory, as the host sees it.
    pub tmp: &'a Path,
    /// Where a home may lie that is not kept.
    pub directory: &'a ServerDirectory,
}

/// Everything that a keeper is made from.
#[derive(Debug)]
pub struct Plan {
    pub profile: Profile,
    /// The profile's secrets, as they were when the plan was made.
    pub masks: Arc<Vec<Stamped>>,
    pub home: Option<Arc<LayerLease>>,
}

/// Why commands are refused on this machine.
#[derive(Debug, thiserror::Error)]
#[error(
    "commands are refused: the sandbox reaches level {level} here, sandbox.minimum is {minimum}{}{}",
    lines("", .shortfalls), lines("fix: ", .fixes)
)]
pub struct TooWeak {
    level: Level,
    minimum: Level,
    shortfalls: Vec<String>,
    fixes: Vec<String>,
}

fn lines(prefix: &str, all: &[String]) -> String {
    all.iter().flat_map(|line| ["\n", prefix, line]).collect()
}

impl Profiles {
    /// `directory` is where the server keeps its own files.
    pub fn new(config: &Config, directory: Option<&Path>) -> Self {
        let launch = &config.directories.launch_dir;
        let roots = config.cwd_roots.iter().filter_map(|root| real_directory(&launch.join(root)).ok());
        let environment = config.environment.clone();
        let home = home(&environment);
        let own = config.secret_files().chain([&config.cache_dir, &config.state_dir]).chain(&config.control_dirs);
        let reveal = config.sandbox.reveal.iter().map(|path| expand(path, home));
        let finder = Finder {
            home: home.map(Path::to_owned),
            own: own.map(PathBuf::as_path).chain(directory).map(Path::to_owned).collect(),
            reveal: reveal.collect(),
            environment: environment.clone(),
        };
        Self {
            settings: config.sandbox.clone(),
            network: config.network.mode(),
            announced: proxies::announced(config.program.as_deref()),
            ssh_command: variables::ssh_command(variables::PORT, config.program.as_deref()).unwrap_or_default(),
            visible: roots.chain([launch.clone()]).collect(),
            environment,
            caches: OnceLock::new(),
            secrets: Secrets::new(finder),
            homes: Arc::new(Homes::new(&config.state_dir)),
            drafts: config.draft.then(|| ProjectLayers::of_drafts(&config.state_dir)),
            found: Mutex::default(),
            trying: tokio::sync::Mutex::default(),
            totals: Arc::new(Totals::new(config.sandbox.limits.total_limits())),
        }
    }

    /// For sessions that begin after the settings have changed, beside those that have begun before.
    pub fn renewed(former: &Self, config: &Config, directory: Option<&Path>) -> Self {
        let mut new = Self::new(config, directory);
        // A mount of the home hides what is secret, and sessions share it as long as that is the same.
        if config.sandbox.reveal == former.settings.reveal {
            new.homes = former.homes.clone();
        }
        new.totals = former.totals.clone();
        new
    }

    /// What all sessions use together.
    pub fn totals(&self) -> &Arc<Totals> {
        &self.totals
    }

    /// What is secret now.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Secrets that the file tools must not touch either.
    pub fn secrets_for_files(&self, directories: &[PathBuf]) -> files::Secrets {
        match self.settings.mode {
            Mode::Off => files::Secrets::default(),
            Mode::ReadOnly | Mode::WorkspaceWrite => self.secrets.for_files(directories),
        }
    }

    /// The home directory and the layer over it, if commands in this project have a home of their own.
    pub fn overlaid(&self, project: &Path) -> Option<Overlaid> {
        let found = self.enforcement_so_far();
        let private = found.is_none_or(|found| found.has_private_home());
        if self.settings.mode != Mode::WorkspaceWrite || self.settings.home != HomeMode::Private || !private {
            return None;
        }
        let real = |path: &Path| if mounts::answers(path) { path.canonicalize().ok() } else { None };
        let home = real(home(&self.environment)?)?;
        Some(Overlaid { home, upper: self.homes.upper(&real(project)?)? })
    }

    pub fn homes(&self) -> &Homes {
        &self.homes
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What holds on this machine, tried out on first use with a keeper for that scope. A success is final. A failure is
    /// not: the limit or the shortage behind it may be gone when the next command comes.
    pub async fn enforcement(&self, area: WorkArea<'_>, spare: &SpareKeeper) -> Arc<Enforcement> {
        self.enforcement_with(area, spare, Wanted::Home).await
    }

    async fn enforcement_with(&self, area: WorkArea<'_>, spare: &SpareKeeper, wanted: Wanted) -> Arc<Enforcement> {
        if let Some(found) = self.still_valid() {
            return found;
        }
        let _one_at_a_time = self.trying.lock().await;
        if let Some(found) = self.still_valid() {
            return found;
        }
        let mut found = Enforcement::default();
        let levels: &[Level] = match (self.settings.mode, self.settings.level) {
            (Mode::Off, _) => &[],
            (_, WantedLevel::Auto) => &[Level::Full, Level::Landlock],
            (_, WantedLevel::Landlock) => {
                found.shortfalls.push("level full: not tried, sandbox.level is landlock".to_owned());
                &[Level::Landlock]
            }
        };
        for level in levels {
            if found.try_level(*level, self.plan_at(*level, area, wanted).await, spare).await {
                break;
            }
        }
        self.remember(found)
    }

    /// What was found out last, unless it has to be tried again.
    fn still_valid(&self) -> Option<Arc<Enforcement>> {
        let found = self.found.locked();
        let (at, found) = found.as_ref()?;
        let valid = self.settings.mode == Mode::Off || found.is_final() || at.elapsed() < BETWEEN_TRIALS;
        valid.then(|| found.clone())
    }

    /// For a machine on which nothing could be tried, too.
    pub fn remember(&self, new: Enforcement) -> Arc<Enforcement> {
        let mut found = self.found.locked();
        let known = found.as_ref().is_some_and(|(_, old)| (old.level, &old.shortfalls) == (new.level, &new.shortfalls));
        if self.settings.mode != Mode::Off && !known {
            new.log();
        }
        found.insert((Instant::now(), Arc::new(new))).1.clone()
    }

    /// As far as it is known by now.
    pub fn enforcement_so_far(&self) -> Option<Arc<Enforcement>> {
        self.found.locked().as_ref().map(|(_, found)| found.clone())
    }

    /// What a keeper for this scope is made from; refused when the machine offers less than was asked for.
    pub async fn plan(&self, area: WorkArea<'_>, spare: &SpareKeeper) -> Result<Plan, TooWeak> {
        self.plan_with(area, spare, Wanted::Home).await
    }

    /// Adds what rules give to single commands.
    pub fn give(&self, profile: &mut Profile, grants: &[Grant]) {
        granted::give(profile, grants, &self.environment, home(&self.environment));
    }

    /// The same, for a keeper whose commands see the home as the person left it and cannot write it.
    pub async fn plan_without_own_home(&self, area: WorkArea<'_>, spare: &SpareKeeper) -> Result<Plan, TooWeak> {
        self.plan_with(area, spare, Wanted::ReadOnlyHome).await
    }

    async fn plan_with(&self, area: WorkArea<'_>, spare: &SpareKeeper, wanted: Wanted) -> Result<Plan, TooWeak> {
        let found = self.enforcement_with(area, spare, wanted).await;
        if self.settings.mode != Mode::Off && found.level < self.settings.minimum {
            let (level, minimum) = (found.level, self.settings.minimum);
            return Err(TooWeak { level, minimum, shortfalls: found.shortfalls.clone(), fixes: found.fixes() });
        }
        Ok(self.plan_at(found.level, area, wanted).await)
    }

    async fn plan_at(&self, level: Level, area: WorkArea<'_>, wanted: Wanted) -> Plan {
        let (masks, secrets) = match self.settings.mode {
            Mode::Off => (Arc::default(), Arc::default()),
            Mode::ReadOnly | Mode::WorkspaceWrite => {
                let now = self.secrets.now();
                (now.all, now.list)
            }
        };
        let mut profile = self.profile_at(level, area.scope, area.tmp, secrets);
        let mut lease = None;
        if wanted == Wanted::Home
            && self.settings.mode == Mode::WorkspaceWrite
            && self.settings.home == HomeMode::Private
            && let Some(home) = &mut profile.home
        {
            let temporary = || area.directory.temporary_layer();
            lease = self.homes.lease(area.project, home, &profile.secrets, temporary).await;
            home.layer = lease.as_ref().map(|lease| lease.directory().to_owned());
        }
        if profile.home.is_none() {
            profile.settle_home(State::Bare);
        }
        Plan { profile, masks, home: lease }
    }

    fn profile_at(&self, level: Level, scope: &[PathBuf], tmp: &Path, secrets: Arc<[Mask]>) -> Profile {
        let (writable, caches) = match self.settings.mode {
            Mode::WorkspaceWrite => (outermost(scope.iter()), self.caches().clone()),
            Mode::ReadOnly | Mode::Off => (Vec::new(), Vec::new()),
        };
        let private_tmp = Profile::can_have_private_tmp(level, scope);
        let full_hosts = level == Level::Full && self.network == network::Mode::Hosts;
        let sockets = &self.settings.sockets;
        let mut profile = Profile {
            level,
            network: match (self.network, level) {
                (network::Mode::On, _) => Network::On,
                (network::Mode::Off, Level::Full) => Network::Loopback,
                (network::Mode::Hosts, Level::Full | Level::Landlock) => Network::Hosts,
                // Nothing could tell hosts apart.
                (network::Mode::Off, _) | (network::Mode::Hosts, Level::None) => Network::Off,
            },
            proxy: if full_hosts { variables::PORT } else { 0 },
            ssh_command: if full_hosts { self.ssh_command.clone() } else { String::new() },
            private_tmp,
            read_only: self.settings.mode == Mode::ReadOnly,
            home: (level == Level::Full).then(|| self.home_seen(scope, private_tmp)).flatten(),
            writable,
            scope: if self.settings.mode == Mode::WorkspaceWrite { scope.to_vec() } else { Vec::new() },
            drafts: self.drafts_in(scope),
            caches,
            visible: self.visible.iter().chain(scope).cloned().collect(),
            tmp: tmp.to_owned(),
            protected: Vec::new(),
            secrets,
            silent: if level == Level::Landlock { mounts::silent() } else { Vec::new() },
            variables: Vec::new(),
            announced: if full_hosts { self.announced.clone() } else { Vec::new() },
            sockets: if sockets.iter().any(|socket| socket == "*") {
                Sockets::All
            } else {
                Sockets::Only(sockets.iter().map(|socket| self.expand(socket)).collect())
            },
            limits: self.settings.limits.limits(),
        };
        for agent in &self.settings.agents {
            granted::give_agent(&mut profile, *agent, &self.environment, home(&self.environment));
        }
        profile
    }

    /// The home directory, if sessions with this scope can see it through an overlay. A home in scope is not private: the
    /// person has chosen to let commands write it.
    fn home_seen(&self, scope: &[PathBuf], private_tmp: bool) -> Option<Home> {
        let path = home(&self.environment).filter(|home| mounts::answers(home))?;
        let path = path.canonicalize().ok().filter(|home| home.is_dir())?;
        let hides_tmp = private_tmp && Path::new("/tmp").starts_with(&path);
        if path == Path::new("/") || hides_tmp || scope.iter().any(|directory| path.starts_with(directory)) {
            return None;
        }
        Some(Home { aliases: aliases(&path), path, ..Home::default() })
    }

    /// The layers of the drafts that this server has mounted over directories of the scope.
    fn drafts_in(&self, scope: &[PathBuf]) -> Vec<PathBuf> {
        let Some(layers) = &self.drafts else { return Vec::new() };
        let layers = scope.iter().filter_map(|directory| layers.covering(directory));
        let mut directories: Vec<PathBuf> = layers.map(|layer| layer.directory().to_owned()).collect();
        directories.sort();
        directories.dedup();
        directories
    }

    fn caches(&self) -> &Vec<PathBuf> {
        self.caches.get_or_init(|| {
            let variable = |name: &str| variable(&self.environment, name);
            caches::directories(&self.settings.caches, home(&self.environment), variable)
        })
    }

    fn expand(&self, path: &str) -> PathBuf {
        expand(path, home(&self.environment))
    }
}

/// Whether a keeper gets a private home, where the settings say so.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Wanted {
    Home,
    ReadOnlyHome,
}

fn home(environment: &[(OsString, OsString)]) -> Option<&Path> {
    variable(environment, "HOME").map(Path::new).filter(|home| home.is_absolute())
}

fn expand(path: &str, home: Option<&Path>) -> PathBuf {
    match (Path::new(path).strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}

/// The directories that exist and do not lie inside another one of them.
fn outermost<'a>(directories: impl Iterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
    let mut sorted: Vec<&PathBuf> = directories.filter(|path| mounts::answers(path) && path.is_dir()).collect();
    sorted.sort();
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in sorted {
        if !kept.iter().any(|outer| path.starts_with(outer)) {
            kept.push(path.clone());
        }
    }
    kept
}
