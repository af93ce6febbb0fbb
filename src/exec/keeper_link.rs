//! The server's end of the connection to a keeper: launches it, asks it to start commands, learns of its death.

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::KeeperError;
use super::descriptor_limit::descriptor_limit_before;
use super::guards;
use super::keeper_news::KeeperNews;
use super::layers::LayerLease;
use super::own_network::OwnNetwork;
use super::process::{Elders, Process};
use super::shell::memory_file;
use super::shortage;
use super::socket::Socket;
use super::totals::Totals;
use crate::base::locks::LockExt;
use crate::base::packed::put_paths;
use crate::keeper::guard::SUBCOMMAND;
use crate::keeper::protocol::{
    DONE, Excess, Failed, GuardRequest, HomeReport, KeeperRequest, READY, ReaperEvent, Start, Step,
};
use crate::sandbox::draft;
use crate::sandbox::home::State;
use crate::sandbox::profile::Announced;
use crate::sandbox::secrets::{self, Mask, Shows, Stamped};
use crate::sandbox::support::{self, Finding};
use crate::sandbox::{Level, Profile};

#[derive(Debug)]
pub struct KeeperLink {
    socket: Arc<Socket>,
    /// To the guard, which stays outside the keeper's restrictions. When this socket closes, the guard ends everything.
    guard: Arc<Socket>,
    guard_pid: Option<u32>,
    ordering: tokio::sync::Mutex<()>,
    profile: Arc<Profile>,
    /// The masks as they were last put up.
    masked: Mutex<Arc<Vec<Stamped>>>,
    /// The layer of the session's home, in use while the keeper lives.
    home: Option<Arc<LayerLease>>,
    /// Why the home is not what was asked for.
    home_shortfall: Option<String>,
    news: Arc<KeeperNews>,
    /// If the session has one.
    network: Option<Arc<OwnNetwork>>,
    /// What serves the session's commands, and ends with the keeper.
    attached: Mutex<Vec<AbortOnDropHandle<()>>>,
    /// Ends the listening task, which would otherwise hold the socket open.
    _over: tokio_util::sync::DropGuard,
}

/// How long a keeper may take to become ready. It usually takes about a millisecond.
const READY_WITHIN: Duration = Duration::from_secs(10);
/// Finds our binary even if its file was moved, replaced or removed since the start.
const OWN_PROGRAM: &str = "/proc/self/exe";

impl KeeperLink {
    /// Starts our own binary again as the guard, which makes the keeper. When this returns, the keeper is restricted.
    /// `masks` are the profile's secrets with their stamps, and `home` is the layer of a private home.
    pub async fn launch(
        mut profile: Profile,
        masks: Arc<Vec<Stamped>>,
        home: Option<Arc<LayerLease>>,
    ) -> Result<Self, KeeperError> {
        let (socket, theirs) = Socket::pair().map_err(KeeperError::Launch)?;
        let (guard, guards) = Socket::pair().map_err(KeeperError::Launch)?;
        // These options keep `Command` on its posix_spawn path, which does not copy this process's page tables. The guard ends
        // by itself when our socket closes.
        let mut command = tokio::process::Command::new(OWN_PROGRAM);
        command
            // Not our own name: `pkill -9 -f testudo` must leave somebody who cleans up.
            .arg0("session-guard")
            .arg(SUBCOMMAND)
            .args(descriptor_limit_before().map(|limit| limit.to_string()))
            .env_clear()
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::from(guards));
        let child = draft::lending(|| command.spawn()).map_err(|error| {
            if Path::new(OWN_PROGRAM).exists() { KeeperError::Launch(error) } else { KeeperError::NoProc }
        })?;
        drop(command);
        let pid = guards::adopt(child);
        let encoded = memory_file(c"profile", &profile.encode()).map_err(KeeperError::Launch)?;
        let namespaces = home.as_ref().map_or(Ok(Vec::new()), |home| home.namespaces()).map_err(KeeperError::Launch)?;
        let mut descriptors = vec![encoded.as_fd()];
        descriptors.extend(home.as_ref().map(|home| home.lock()));
        descriptors.extend(namespaces.iter().map(AsFd::as_fd));
        // A guard that has given up does not read this, but it has said why.
        let _ = guard.send(GuardRequest::Profile.encode(), &descriptors).await;
        let home_shortfall = learn_about_home(&guard, &mut profile, home.as_deref()).await?;
        match tokio::time::timeout(READY_WITHIN, socket.receive_with_descriptors()).await {
            Ok((message, network)) if message == READY => {
                Ok(Self::listened_to(socket, guard, pid, profile, AtLaunch { masks, home, home_shortfall, network }))
            }
            Ok((message, _)) => Err(Failed::decode(&message).map_or(KeeperError::NotReady, KeeperError::Restrict)),
            Err(_) => Err(KeeperError::NotReady),
        }
    }

    fn listened_to(
        socket: Socket,
        guard: Socket,
        guard_pid: Option<u32>,
        profile: Profile,
        at_launch: AtLaunch,
    ) -> Self {
        let (socket, over) = (Arc::new(socket), CancellationToken::new());
        let news = Arc::new(KeeperNews::new(socket.clone()));
        let keeper = Self {
            network: OwnNetwork::new(at_launch.network, socket.clone(), profile.proxy).map(Arc::new),
            attached: Mutex::default(),
            socket,
            guard: Arc::new(guard),
            guard_pid,
            ordering: tokio::sync::Mutex::default(),
            masked: Mutex::new(at_launch.masks),
            home: at_launch.home,
            home_shortfall: at_launch.home_shortfall,
            profile: Arc::new(profile),
            news: news.clone(),
            _over: over.clone().drop_guard(),
        };
        tokio::spawn(async move {
            tokio::select! {
                () = news.listen() => {}
                () = over.cancelled() => {}
            }
        });
        keeper
    }

    /// Ends the keeper with everything that it runs, and waits until all of it is gone.
    pub async fn end(&self) {
        self.guard.hang_up();
        if let Some(pid) = self.guard_pid {
            guards::gone(pid).await;
        }
    }

    /// From now on, what its session uses counts there.
    pub fn count_in(&self, totals: &Arc<Totals>) {
        self.news.totals.get_or_init(|| totals.clone());
    }

    /// Has the keeper kill what uses most of this.
    pub async fn shed(&self, excess: Excess, reason: String) {
        let _ = self.socket.send(&KeeperRequest::Shed { excess, reason }.encode(), &[]).await;
    }

    /// The network of its session, if it has one of its own.
    pub fn network(&self) -> Option<&Arc<OwnNetwork>> {
        self.network.as_ref()
    }

    /// Ends this when the keeper is given up.
    pub fn attach(&self, serving: AbortOnDropHandle<()>) {
        self.attached.locked().push(serving);
    }

    /// What it has told us between requests.
    pub fn news(&self) -> &Arc<KeeperNews> {
        &self.news
    }

    /// What the keeper is restricted to.
    pub fn profile(&self) -> &Arc<Profile> {
        &self.profile
    }

    /// How many descriptors each of its commands may have.
    pub fn descriptor_limit(&self) -> u64 {
        let own = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        let limit = match self.profile.level {
            Level::None => descriptor_limit_before().or(own.current),
            Level::Landlock | Level::Full => own.maximum.map(|most| most.min(self.profile.limits.open_files)),
        };
        limit.unwrap_or(self.profile.limits.open_files)
    }

    /// Whether a keeper with this profile would be the same.
    pub fn was_made_for(&self, profile: &Profile) -> bool {
        let mut settled = profile.clone();
        settled.settle_home(self.profile.home.as_ref().map_or(State::Bare, |home| home.state));
        settled == *self.profile
    }

    /// Makes paths read-only for everything that this keeper runs now or later. Without namespaces it changes nothing.
    pub async fn protect(&self, paths: &[PathBuf]) -> Result<(), KeeperError> {
        let mut encoded = Vec::new();
        put_paths(&mut encoded, paths);
        self.order(GuardRequest::Protect, &encoded).await
    }

    /// For a keeper that has run nothing yet: as if it had been made with these paths protected.
    pub async fn protect_from_the_start(&mut self, paths: Vec<PathBuf>) -> Result<(), KeeperError> {
        if self.profile.level == Level::Full && !paths.is_empty() {
            self.protect(&paths).await?;
        }
        Arc::make_mut(&mut self.profile).protected = paths;
        Ok(())
    }

    /// Why the home is not private although it was to be.
    pub fn home_shortfall(&self) -> Option<&str> {
        self.home_shortfall.as_deref()
    }

    /// The layer of its private home.
    pub fn home(&self) -> Option<&Arc<LayerLease>> {
        self.home.as_ref()
    }

    /// Puts up masks that are new or have changed. Returns `false` if this keeper cannot: its Landlock rules are final.
    pub async fn mask(&self, masks: &Arc<Vec<Stamped>>) -> Result<bool, KeeperError> {
        let changed: Vec<Mask> = {
            let masked = self.masked.locked();
            let masked: HashSet<&Stamped> = masked.iter().collect();
            masks.iter().filter(|mask| !masked.contains(mask)).map(|mask| mask.mask.clone()).collect()
        };
        if changed.is_empty() {
            return Ok(true);
        }
        if self.profile.level != Level::Full {
            // A name that was known is not granted, whatever lies there. What it shows was decided at the start.
            let known = |mask: &Mask| mask.shows == Shows::Nothing && self.profile.secrets.contains(mask);
            return Ok(self.profile.level == Level::None || changed.iter().all(known));
        }
        let mut encoded = Vec::new();
        secrets::encode(&mut encoded, &changed);
        self.order(GuardRequest::Mask, &encoded).await?;
        *self.masked.locked() = masks.clone();
        Ok(true)
    }

    /// Makes its private home read-only, for all sessions that share it.
    pub async fn close_home(&self) -> Result<(), KeeperError> {
        self.order(GuardRequest::CloseHome, &[]).await
    }

    async fn order(&self, request: GuardRequest, content: &[u8]) -> Result<(), KeeperError> {
        let encoded = memory_file(c"request", content).map_err(KeeperError::Prepare)?;
        let _one_at_a_time = self.ordering.lock().await;
        self.guard.send(request.encode(), &[encoded.as_fd()]).await.map_err(|_| KeeperError::Dead)?;
        let answer = tokio::time::timeout(READY_WITHIN, self.guard.receive()).await;
        match answer.map_err(|_| KeeperError::NotReady)? {
            answer if answer == DONE => Ok(()),
            answer => Err(Failed::decode(&answer).map_or(KeeperError::Dead, KeeperError::Restrict)),
        }
    }

    /// Has the keeper try to break every promise from inside. Returns which held.
    pub async fn probe(&self) -> Result<Vec<Finding>, KeeperError> {
        let (answer, theirs) = Socket::pair().map_err(KeeperError::Prepare)?;
        self.socket.send(&KeeperRequest::Probe.encode(), &[theirs.as_fd()]).await.map_err(|_| KeeperError::Dead)?;
        drop(theirs);
        let message = tokio::time::timeout(READY_WITHIN, answer.receive()).await.map_err(|_| KeeperError::NotReady)?;
        support::decode(&message).map_err(|_| KeeperError::Dead)
    }

    /// Whether it has failed us or has closed its end of the socket.
    pub fn is_dead(&self) -> bool {
        self.news.is_dead() || self.socket.is_closed()
    }

    /// The next command gets a new keeper.
    fn mark_dead(&self) {
        self.news.mark_dead();
    }

    /// Sets TMPDIR to the session's temporary directory, and variables that lead tools to their settings, unless a command
    /// has exported them.
    fn with_variables(&self, start: &Start) -> Start {
        let mut start = start.clone();
        let tmp = ("TMPDIR", self.profile.tmp_seen());
        let settings = self.profile.variables.iter().map(|(name, path)| (name.as_str(), path.as_path()));
        // The person's own variable leads to the file that is hidden, and the tool would take other settings silently.
        let variables = &self.profile.variables;
        start.environment.retain(|(name, value)| {
            !(variables.iter().any(|(known, _)| name == known.as_str()) && self.profile.hides(Path::new(value)))
        });
        for (name, path) in [tmp].into_iter().chain(settings) {
            if start.environment.iter().all(|(known, _)| known != name) {
                start.environment.push((name.into(), path.into()));
            }
        }
        for Announced { name, value, replaces } in &self.profile.announced {
            start.environment.retain(|(known, old)| {
                known != name.as_str() || replaces.as_ref().is_none_or(|replaced| old != replaced.as_str())
            });
            if start.environment.iter().all(|(known, _)| known != name.as_str()) {
                start.environment.push((name.into(), value.into()));
            }
        }
        start
    }

    /// Has the keeper start a command; `descriptors` are stdin, stdout, stderr and then the command's own.
    /// With the process comes what its reaper has opened: a terminal's master, or what shows the end of a waiting shell. Only `exec` may call it: the ways to start a command that others
    /// see ask for a permit.
    pub(super) async fn start(
        &self,
        start: &Start,
        descriptors: Vec<OwnedFd>,
    ) -> Result<(Process, Vec<OwnedFd>), KeeperError> {
        let start = &self.with_variables(start);
        let description = memory_file(c"start", &start.encode()).map_err(KeeperError::Prepare)?;
        let (control, theirs) = Socket::pair().map_err(KeeperError::Prepare)?;
        let mut all: Vec<BorrowedFd<'_>> = vec![description.as_fd(), theirs.as_fd()];
        all.extend(descriptors.iter().map(AsFd::as_fd));
        if self.socket.send(&start.request().encode(), &all).await.is_err() {
            self.mark_dead();
            return Err(KeeperError::Dead);
        }
        // Close our copies before we wait: while we hold the writing end of a pipe, its reader sees no end.
        drop((theirs, descriptors));
        let Ok((message, opened)) = tokio::time::timeout(READY_WITHIN, control.receive_with_descriptors()).await else {
            // Something has stopped the keeper. The guard can still end it.
            self.mark_dead();
            self.guard.hang_up();
            return Err(KeeperError::Dead);
        };
        match ReaperEvent::decode(&message) {
            Ok(ReaperEvent::Started { pid, reaper }) => {
                let elders = Elders { keeper: Arc::downgrade(&self.socket), guard: Arc::downgrade(&self.guard) };
                Ok((Process::new(control, elders, pid, reaper), opened))
            }
            Ok(ReaperEvent::Failed { step, errno }) => Err(failure(start, step, errno)),
            Ok(ReaperEvent::Exited { .. } | ReaperEvent::Gone | ReaperEvent::InputAwaited { .. }) | Err(_) => {
                self.mark_dead();
                Err(KeeperError::Dead)
            }
        }
    }
}

/// What a keeper has to keep of the home and the secrets.
struct AtLaunch {
    masks: Arc<Vec<Stamped>>,
    home: Option<Arc<LayerLease>>,
    home_shortfall: Option<String>,
    network: Vec<OwnedFd>,
}

/// The guard reports what became of the home, before the keeper is ready. Returns why it is less than was asked for. A
/// shortage may pass, so it fails the keeper: the next one has a home again.
async fn learn_about_home(
    guard: &Socket,
    profile: &mut Profile,
    lease: Option<&LayerLease>,
) -> Result<Option<String>, KeeperError> {
    if profile.level != Level::Full || profile.home.is_none() {
        return Ok(None);
    }
    // A guard that has failed before says so on the keeper's socket.
    let report = tokio::time::timeout(READY_WITHIN, guard.receive_with_descriptors()).await;
    let Ok((message, descriptors)) = report else { return Ok(None) };
    let Ok(report) = HomeReport::decode(&message) else { return Ok(None) };
    if let Some(failed) = report.failed.as_ref().filter(|failed| shortage::advice(failed.errno).is_some()) {
        return Err(KeeperError::Restrict(failed.clone()));
    }
    profile.settle_home(report.state);
    let mut handles = descriptors.into_iter();
    if let (State::Private, Some(lease), Some((users, mounts))) =
        (report.state, lease, handles.next().zip(handles.next()))
    {
        lease.mounted(users, mounts);
    }
    Ok(report.failed.map(|failed| failed.reason))
}

fn failure(start: &Start, step: Step, errno: i32) -> KeeperError {
    let error = io::Error::from_raw_os_error(errno);
    match step {
        Step::Description | Step::Terminal => KeeperError::Prepare(error),
        Step::WorkingDirectory => KeeperError::WorkingDirectory { cwd: start.cwd.display().to_string(), error },
        Step::Execute => KeeperError::Execute { program: start.program.to_string_lossy().into_owned(), error },
    }
}

#[cfg(test)]
#[path = "keeper_link_tests.rs"]
mod tests;
