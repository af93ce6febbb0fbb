//! Follows the person's configuration file. Each call looks whether the file has changed, which is one system call. A
//! changed file is read and checked as a whole. Either all of it counts from then on, or nothing, and the log says why.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use super::{Server, Setup, SetupError, answers};
use crate::audit::Event;
use crate::base::locks::LockExt;
use crate::base::worker_threads;
use crate::config::{self, Config, Effect, FileStamp, Source};

/// What a server needs to read its configuration again.
#[derive(Debug)]
pub struct Reload {
    source: Source,
    /// Where the file is, or would be.
    path: PathBuf,
    /// The file as it was when it was last looked at.
    seen: Mutex<Option<FileStamp>>,
    one_at_a_time: tokio::sync::Mutex<()>,
    /// Why the file as it is now does not count.
    refused: Mutex<Option<String>>,
}

/// A file that was changed less than this ago may still be written to.
const SETTLED: Duration = Duration::from_millis(100);
/// How often a file that keeps changing is looked at, before it is read as it is.
const MOST_LOOKS: usize = 20;

impl Reload {
    /// `None` without a home: then there is no place where a file could appear.
    pub fn new(source: Source, config: &Config) -> Option<Self> {
        let (path, _) = source.config_path()?;
        Some(Self {
            source,
            path,
            seen: Mutex::new(config.file_stamp),
            one_at_a_time: tokio::sync::Mutex::default(),
            refused: Mutex::default(),
        })
    }

    fn refused(&self) -> Option<String> {
        self.refused.locked().clone()
    }

    /// The file, once nobody has written to it for a moment: an editor may empty it first.
    async fn settled(&self) -> Option<FileStamp> {
        for _ in 0..MOST_LOOKS {
            let stamp = FileStamp::of(&self.path);
            let age = stamp.map(|stamp| stamp.age()).unwrap_or_default();
            if stamp.is_some() && age >= SETTLED {
                return stamp;
            }
            tokio::time::sleep(SETTLED.saturating_sub(age)).await;
            if FileStamp::of(&self.path) == stamp {
                return stamp;
            }
        }
        FileStamp::of(&self.path)
    }
}

impl Server {
    /// Takes over the configuration file if it has changed.
    pub async fn follow_configuration(&self) {
        let Some(reload) = self.reload() else { return };
        let has_changed = || FileStamp::of(&reload.path) != *reload.seen.locked();
        if !answers(&reload.path).await || !has_changed() {
            return;
        }
        let _one = reload.one_at_a_time.lock().await;
        if has_changed() {
            // Rare and large, so it is on the heap and not a part of every call.
            Box::pin(self.read_again(reload)).await;
        }
    }

    /// Reads the configuration file again, whether it has changed or not.
    pub async fn read_configuration_again(&self) {
        let Some(reload) = self.reload() else { return };
        let _one = reload.one_at_a_time.lock().await;
        self.read_again(reload).await;
    }

    /// Why the configuration file as it is now does not count, if that is so.
    pub fn configuration_refused(&self) -> Option<String> {
        self.reload().and_then(Reload::refused)
    }

    async fn read_again(&self, reload: &Reload) {
        *reload.seen.locked() = reload.settled().await;
        let (source, former) = (reload.source.clone(), self.setup());
        let writable = self.writable_directories().await;
        let loaded = worker_threads::run(move || {
            let config = config::load_again(&source, &former.config)?;
            if let Some(path) = &config.file {
                config::refuse_inside(path, &writable)?;
            }
            Ok::<_, config::ConfigError>(config)
        });
        let loaded = match loaded.await {
            Ok(loaded) => loaded.map_err(SetupError::from).and_then(|config| self.renewed(config)),
            Err(error) => {
                tracing::error!(%error, "the configuration could not be read again");
                return;
            }
        };
        match loaded {
            Ok((setup, changed)) => {
                *reload.refused.locked() = None;
                self.take_over(setup, changed).await;
            }
            Err(reason) => {
                let reason = reason.to_string();
                tracing::error!(
                    "the changed configuration is refused as a whole, and the one before it stays in force: {reason}"
                );
                self.audit().record(None, Event::ConfigurationRefused { reason: reason.clone() });
                *reload.refused.locked() = Some(reason);
            }
        }
    }

    fn renewed(&self, config: Config) -> Result<(Setup, Vec<String>), SetupError> {
        let former = self.setup();
        let changed = config::changed_keys(&former.config.written, &config.written);
        Ok((Setup::renewed(&former, config, &changed, self.table(), self.directory())?, changed))
    }

    async fn take_over(&self, setup: Setup, changed: Vec<String>) {
        setup.config.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
        let new_basis = !std::sync::Arc::ptr_eq(&setup.basis, &self.setup().basis);
        self.replace_setup(setup);
        let with = |effect: Effect| {
            let keys = changed.iter().map(String::as_str).filter(|key| Effect::of(key) == effect);
            keys.collect::<Vec<_>>().join(", ")
        };
        let effects = [
            ("from the next call on", with(Effect::NextCall)),
            ("in sessions that begin now", with(Effect::NewSessions)),
            ("at the next start", with(Effect::NextStart)),
        ];
        let told: Vec<String> = effects
            .into_iter()
            .filter(|(_, keys)| !keys.is_empty())
            .map(|(when, keys)| format!("{when}: {keys}"))
            .collect();
        let told = if told.is_empty() { "no setting has changed".to_owned() } else { told.join("; ") };
        tracing::info!("the configuration was read again; {told}");
        self.record_configuration(changed);
        if new_basis {
            self.self_test().await;
            for client in self.clients().all() {
                client.begin_sessions_at(|roots| self.workplace(roots));
            }
        }
    }

    /// Where commands of any session can write, or will be able to.
    async fn writable_directories(&self) -> Vec<PathBuf> {
        let sessions = self.clients().all().into_iter().flat_map(|client| client.sessions());
        let workplaces = sessions.map(|session| session.workplace()).chain([self.workplace(&[])]);
        let mut directories = Vec::new();
        for workplace in workplaces.collect::<Vec<_>>() {
            directories.extend(workplace.real_directories().await);
        }
        directories
    }
}
