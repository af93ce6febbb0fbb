//! What a rule gives to the commands that it lets through, besides what the sandbox allows to all.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::command::{Command, What};
use crate::base::search_path::variable;
use crate::exec::{KeeperLink, Running, ShellState};
use crate::network::variables;
use crate::policy::Grant;
use crate::sandbox::Profile;
use crate::sandbox::profile::Sockets;
use crate::sandbox::settings::Agent;

const SSH_VARIABLE: &str = "SSH_AUTH_SOCK";

impl Command<'_> {
    pub(super) fn grants(&self) -> &[Grant] {
        match self.what {
            What::Text(permitted) => permitted.grants(),
            What::Words(permitted) => permitted.grants(),
        }
    }

    pub(super) fn has_grants(&self) -> bool {
        // A host is no grant where every host can be reached, or none.
        let hosts = self.session.hosts().is_some();
        self.grants().iter().any(|grant| hosts || !matches!(grant, Grant::Host(_)))
    }

    /// What a rule gives is for this command alone: the keeper that has it ends with the command, and whatever the command
    /// has left in the background.
    pub(super) fn end_grants(&self, running: &Running, keeper: Arc<KeeperLink>) {
        if self.has_grants() {
            let process = running.process.clone();
            tokio::spawn(async move {
                process.exited().await;
                keeper.end().await;
            });
        }
    }
}

/// Adds to the profile what the grants give. `home` expands `~`.
pub fn give(profile: &mut Profile, grants: &[Grant], environment: &[(OsString, OsString)], home: Option<&Path>) {
    for grant in grants {
        match grant {
            Grant::SshAgent => give_agent(profile, Agent::Ssh, environment, home),
            Grant::GpgAgent => give_agent(profile, Agent::Gpg, environment, home),
            Grant::Write(path) => {
                let path = match (Path::new(path).strip_prefix("~"), home) {
                    (Ok(rest), Some(home)) => home.join(rest),
                    _ => PathBuf::from(path),
                };
                // A directory that is missing cannot be mounted, and commands must not decide where a link leads.
                let real = path.canonicalize().ok().filter(|path| path.is_dir());
                profile.writable.extend(real.filter(|real| !profile.hides(real)));
            }
            // The keeper's proxy knows it.
            Grant::Host(_) => {}
        }
    }
}

/// The session does not remember variables that led a command to what it was granted.
pub fn take_back(after: &mut ShellState, before: &ShellState) {
    if before.variable(SSH_VARIABLE).is_none() {
        after.environment.retain(|(name, _)| name != SSH_VARIABLE);
    }
    let proxies = |name: &OsString| name.to_str().is_some_and(variables::is_one);
    after.environment.retain(|(name, _)| !proxies(name));
    after.environment.extend(before.environment.iter().filter(|(name, _)| proxies(name)).cloned());
}

/// Lets commands connect to the agent, where the person has one.
pub fn give_agent(profile: &mut Profile, agent: Agent, environment: &[(OsString, OsString)], home: Option<&Path>) {
    let named = |name: &str| variable(environment, name).map(PathBuf::from).filter(|path| path.is_absolute());
    let sockets: Vec<PathBuf> = match agent {
        Agent::Ssh => {
            let socket = named(SSH_VARIABLE);
            profile.variables.extend(socket.clone().map(|socket| (SSH_VARIABLE.to_owned(), socket)));
            socket.into_iter().collect()
        }
        Agent::Gpg => {
            let own = named("GNUPGHOME").or_else(|| Some(home?.join(".gnupg")));
            let uid = rustix::process::geteuid().as_raw();
            let run = [named("XDG_RUNTIME_DIR"), Some(PathBuf::from(format!("/run/user/{uid}")))];
            let run = run.into_iter().flatten().map(|run| run.join("gnupg"));
            own.into_iter().chain(run).map(|directory| directory.join("S.gpg-agent")).collect()
        }
    };
    if let Sockets::Only(listed) = &mut profile.sockets {
        listed.extend(sockets.into_iter().filter(|socket| socket.exists()));
    }
}
