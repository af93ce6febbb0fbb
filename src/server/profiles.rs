//! Makes the profile of each keeper: from the settings, from what this machine can enforce, and from where secrets and
//! tool caches lie.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use super::{Enforcement, SpareKeeper};
use crate::base::locks::LockExt;
use crate::base::mounts;
use crate::base::search_path::variable;
use crate::config::Config;
use crate::exec::Totals;
use crate::files::real_directory;
use crate::sandbox::profile::Sockets;
use crate::sandbox::settings::{Switch, WantedLevel};
use crate::sandbox::{Level, Mode, Network, Profile, Settings, caches, secrets};

#[derive(Debug)]
pub struct Profiles {
    settings: Settings,
    /// Directories that stay visible whatever the sandbox hides around them.
    visible: Vec<PathBuf>,
    /// Our own files, which no command may read.
    own: Vec<PathBuf>,
    environment: Vec<(OsString, OsString)>,
    places: OnceLock<Places>,
    /// What was found out last, and when.
    found: Mutex<Option<(Instant, Arc<Enforcement>)>>,
    /// Held while a keeper tries the machine out.
    trying: tokio::sync::Mutex<()>,
    totals: Arc<Totals>,
}

/// A machine that could not hold the sandbox is tried again, at most this often.
const BETWEEN_TRIALS: Duration = Duration::from_secs(1);

/// Directories that can only be known by looking at the disk.
#[derive(Debug)]
struct Places {
    caches: Vec<PathBuf>,
    secrets: Vec<PathBuf>,
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
        let own = config
            .secret_files()
            .chain([&config.cache_dir, &config.state_dir])
            .chain(&config.control_dirs)
            .map(PathBuf::as_path)
            .chain(directory);
        Self {
            settings: config.sandbox.clone(),
            visible: roots.chain([launch.clone()]).collect(),
            own: own.filter_map(|path| path.canonicalize().ok()).collect(),
            environment: config.environment.clone(),
            places: OnceLock::new(),
            found: Mutex::default(),
            trying: tokio::sync::Mutex::default(),
            totals: Arc::new(Totals::new(config.sandbox.limits.total_limits())),
        }
    }

    /// What all sessions use together.
    pub fn totals(&self) -> &Arc<Totals> {
        &self.totals
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What holds on this machine, tried out on first use with a keeper for that scope. A success is final. A failure is
    /// not: the limit or the shortage behind it may be gone when the next command comes.
    pub async fn enforcement(&self, scope: &[PathBuf], tmp: &Path, spare: &SpareKeeper) -> Arc<Enforcement> {
        if let Some(found) = self.still_valid() {
            return found;
        }
        let _one_at_a_time = self.trying.lock().await;
        if let Some(found) = self.still_valid() {
            return found;
        }
        let mut found = Enforcement::default();
        match (self.settings.mode, self.settings.level) {
            (Mode::Off, _) => {}
            (_, WantedLevel::Auto) => {
                found.find(&[Level::Full, Level::Landlock], |level| self.profile_at(level, scope, tmp), spare).await;
            }
            (_, WantedLevel::Landlock) => {
                found.shortfalls.push("level full: not tried, sandbox.level is landlock".to_owned());
                found.find(&[Level::Landlock], |level| self.profile_at(level, scope, tmp), spare).await;
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

    /// What a keeper for this scope is restricted to; refused when the machine offers less than was asked for.
    pub async fn profile(&self, scope: &[PathBuf], tmp: &Path, spare: &SpareKeeper) -> Result<Profile, TooWeak> {
        let found = self.enforcement(scope, tmp, spare).await;
        if self.settings.mode != Mode::Off && found.level < self.settings.minimum {
            let (level, minimum) = (found.level, self.settings.minimum);
            return Err(TooWeak { level, minimum, shortfalls: found.shortfalls.clone(), fixes: found.fixes() });
        }
        Ok(self.profile_at(found.level, scope, tmp))
    }

    fn profile_at(&self, level: Level, scope: &[PathBuf], tmp: &Path) -> Profile {
        let places = self.places();
        let (writable, own) = match self.settings.mode {
            Mode::WorkspaceWrite => (outermost(scope.iter().chain(&places.caches)), scope.to_vec()),
            Mode::ReadOnly | Mode::Off => (Vec::new(), Vec::new()),
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
            read_only: self.settings.mode == Mode::ReadOnly,
            writable,
            scope: own,
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

    /// Secrets inside these directories. The file tools do not read them either.
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
