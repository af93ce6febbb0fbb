use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::keeper_life::NO_TMP;
use super::profiles::WorkArea;
use super::{Enforcement, Profiles, ProtectedNames, SpareKeeper, Workplace};
use crate::base::search_path::variable;
use crate::config::Config;
use crate::exec::{self, KeeperLink, ServerDirectory, Shell};
use crate::gate::Surroundings;
use crate::network;
use crate::policy::Policy;
use crate::sandbox::obstacles;

/// What a session stands on for its whole life: directories, environment and sandbox, as the configuration had them when
/// the session began. Sessions that begin after a change of these settings have another one.
#[derive(Debug)]
pub struct Basis {
    pub config: Arc<Config>,
    pub profiles: Arc<Profiles>,
    pub spare: Arc<SpareKeeper>,
    pub names: Arc<ProtectedNames>,
    initial: Vec<(OsString, OsString)>,
    /// The initial environment with what a login shell adds, once it was asked.
    login: tokio::sync::OnceCell<Vec<(OsString, OsString)>>,
}

impl Basis {
    pub fn new(config: Arc<Config>, directory: &ServerDirectory) -> Self {
        Self {
            profiles: Arc::new(Profiles::new(&config, directory.path())),
            names: Arc::new(ProtectedNames::new(&config)),
            initial: exec::initial_environment(config.environment.clone(), &config.env),
            spare: Arc::default(),
            login: tokio::sync::OnceCell::new(),
            config,
        }
    }

    /// For the sessions to come. Sessions on the former basis go on beside them.
    pub fn renewed(former: &Self, config: Arc<Config>, directory: &ServerDirectory) -> Self {
        let mut new = Self::new(config, directory);
        new.profiles = Arc::new(Profiles::renewed(&former.profiles, &new.config, directory.path()));
        new.names = ProtectedNames::renewed(&former.names, &new.config);
        new
    }

    /// The server's own environment, as commands get it.
    pub fn initial(&self) -> &[(OsString, OsString)] {
        &self.initial
    }

    /// The environment of a session's first command.
    pub fn environment(&self, policy: &Policy) -> Vec<(OsString, OsString)> {
        let mut environment = self.login.get().unwrap_or(&self.initial).clone();
        if self.config.network.mode() == network::Mode::Hosts {
            environment.retain(|(name, _)| !name.to_str().is_some_and(network::variables::names_proxy));
        }
        if policy.is_strict() {
            exec::make_git_safe(&mut environment);
        }
        environment
    }

    /// What the policy has to know about where commands run. A policy without rules looks no program up, so it need not know
    /// which programs the home hides.
    pub fn surroundings(&self, workplace: &Workplace, policy: &Policy) -> Surroundings {
        let path = |name: &str| variable(&self.initial, name).map(PathBuf::from).filter(|path| path.is_absolute());
        Surroundings {
            project_dir: workplace.project_dir.clone(),
            home: path("HOME"),
            writable: [Some(PathBuf::from("/tmp")), path("TMPDIR")].into_iter().flatten().collect(),
            replaceable: workplace.directories.clone(),
            overlaid: policy.has_sources().then(|| self.profiles.overlaid(&workplace.project_dir)).flatten(),
            keeps_approvals: !workplace.contains(&self.config.state_dir),
            search_path: variable(&self.initial, "PATH").unwrap_or_default().to_owned(),
            protected: self.names.names().clone(),
        }
    }

    /// The workplace of a client with these roots.
    pub fn workplace(&self, roots: &[PathBuf]) -> Workplace {
        Workplace::new(&self.config.directories, roots)
    }

    /// Before the first call of a server that was started without a shell: see [`exec::LoginShell`]. The login shell runs in a
    /// sandbox without a scope, so start-up files that an agent may have written can change nothing.
    pub async fn ask_login_shell(&self, shell: &Shell, directory: &Arc<ServerDirectory>) {
        let (server, settings) = (&self.config.environment, &self.config.env);
        if self.login.initialized() || !exec::login_shell_wanted(server, settings) {
            return;
        }
        let ask = async || {
            let get = |name: &str| variable(server, name).map(PathBuf::from);
            let named = get("SHELL").filter(|shell| shell.is_absolute() && shell.exists());
            let login = exec::LoginShell {
                shell: named.unwrap_or_else(|| shell.path().to_owned()),
                home: get("HOME").unwrap_or_else(|| PathBuf::from("/")),
            };
            let own = directory.session();
            let tmp = own.temporary().ok()?;
            let area = WorkArea { project: Path::new("/"), scope: &[], tmp, directory };
            // Not with the project's own home: what a command planted there must not become the server's environment.
            let plan = self.profiles.plan_without_own_home(area, &self.spare).await.ok()?;
            let keeper = KeeperLink::launch(plan.profile, plan.masks, plan.home).await.ok()?;
            Some(login.extend(&keeper, server, settings).await)
        };
        self.login.get_or_init(async || ask().await.unwrap_or_else(|| self.initial.clone())).await;
    }

    /// Tests the sandbox before anybody relies on it; the result stands in the instructions.
    pub async fn self_test(&self, directory: &Arc<ServerDirectory>) -> Arc<Enforcement> {
        let workplace = self.workplace(&[]);
        let (project, scope) = (workplace.real_project().await, workplace.directories);
        let own = directory.session();
        let found = match own.temporary() {
            Ok(tmp) => {
                let area = WorkArea { project: &project, scope: &scope, tmp, directory };
                self.profiles.enforcement(area, &self.spare).await
            }
            Err(error) => {
                let reason = format!("{NO_TMP}: {error}");
                self.profiles.remember(Enforcement::untested(reason, obstacles::TEMPORARY))
            }
        };
        if let Some(reason) = &found.home_shortfall {
            self.profiles.homes().abandon(reason).await;
        }
        self.spare.furnish(own);
        // The level may still rise. What a session needs to know then is looked up when its keeper is made.
        if found.is_final() {
            self.names.prepare(scope, found.level);
        }
        found
    }
}
