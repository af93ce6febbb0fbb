//! Makes the profile of each keeper: from the settings, from what this machine can enforce, and from where secrets and
//! tool caches lie.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tokio::sync::OnceCell;

use super::{Enforcement, SpareKeeper};
use crate::base::search_path::variable;
use crate::config::Config;
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
    enforcement: OnceCell<Enforcement>,
}

/// Directories that can only be known by looking at the disk.
#[derive(Debug)]
struct Places {
    caches: Vec<PathBuf>,
    secrets: Vec<PathBuf>,
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

impl Profiles {
    pub fn new(config: &Config) -> Self {
        let launch = &config.directories.launch_dir;
        let roots = config.cwd_roots.iter().filter_map(|root| real_directory(&launch.join(root)).ok());
        let own =
            [Some(config.cache_dir.clone()), Some(config.state_dir.clone()), config.file.clone()].into_iter().flatten();
        Self {
            settings: config.sandbox.clone(),
            visible: roots.chain([launch.clone()]).collect(),
            own: own.filter_map(|path| path.canonicalize().ok()).collect(),
            environment: config.environment.clone(),
            places: OnceLock::new(),
            enforcement: OnceCell::new(),
        }
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What holds on this machine, tried out on first use with a keeper for that scope.
    pub async fn enforcement(&self, scope: &[PathBuf], tmp: &Path, spare: &SpareKeeper) -> &Enforcement {
        let find = async || {
            let mut found = Enforcement::default();
            let levels = match (self.settings.mode, self.settings.level) {
                (Mode::Off, _) => return found,
                (_, WantedLevel::Auto) => [Level::Full, Level::Landlock].as_slice(),
                (_, WantedLevel::Landlock) => {
                    found.shortfalls.push("level full: not tried, sandbox.level is landlock".to_owned());
                    [Level::Landlock].as_slice()
                }
            };
            found.find(levels, |level| self.profile_at(level, scope, tmp), spare).await;
            found
        };
        self.enforcement.get_or_init(find).await
    }

    /// As far as it is known by now.
    pub fn enforcement_so_far(&self) -> Option<&Enforcement> {
        self.enforcement.get()
    }

    /// What a keeper for this scope is restricted to; refused when the machine offers less than was asked for.
    pub async fn profile(&self, scope: &[PathBuf], tmp: &Path, spare: &SpareKeeper) -> Result<Profile, TooWeak> {
        let found = self.enforcement(scope, tmp, spare).await;
        if self.settings.mode != Mode::Off && found.level < self.settings.minimum {
            let (level, minimum) = (found.level, self.settings.minimum);
            return Err(TooWeak { level, minimum, shortfalls: found.shortfalls.clone() });
        }
        Ok(self.profile_at(found.level, scope, tmp))
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
