//! The server's end of the connection to a keeper: launches it, asks it to start commands, learns of its death.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::KeeperError;
use super::descriptor_limit::descriptor_limit_before;
use super::guards;
use super::keeper_news::KeeperNews;
use super::process::{Elders, Process};
use super::shell::memory_file;
use super::socket::Socket;
use super::totals::Totals;
use crate::base::locks::LockExt;
use crate::base::mounts;
use crate::base::packed::put_paths;
use crate::keeper::guard::SUBCOMMAND;
use crate::keeper::protocol::{DONE, Excess, Failed, GuardRequest, KeeperRequest, READY, ReaperEvent, Start, Step};
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
    /// Secrets that did not exist when the keeper was made, so it could not hide them.
    missing_secrets: Mutex<Vec<PathBuf>>,
    news: Arc<KeeperNews>,
    /// Ends the listening task, which would otherwise hold the socket open.
    _over: tokio_util::sync::DropGuard,
}

/// How long a keeper may take to become ready. It usually takes about a millisecond.
const READY_WITHIN: Duration = Duration::from_secs(10);
/// Finds our binary even if its file was moved, replaced or removed since the start.
const OWN_PROGRAM: &str = "/proc/self/exe";

impl KeeperLink {
    /// Starts our own binary again as the guard, which makes the keeper. When this returns, the keeper is restricted.
    pub async fn launch(profile: Profile) -> Result<Self, KeeperError> {
        let (socket, theirs) = Socket::pair().map_err(KeeperError::Launch)?;
        let (guard, guards) = Socket::pair().map_err(KeeperError::Launch)?;
        // These options keep `Command` on its posix_spawn path, which does not copy this process's page tables. The guard ends
        // by itself when our socket closes.
        let child = tokio::process::Command::new(OWN_PROGRAM)
            // Not our own name: `pkill -9 -f testudo` must leave somebody who cleans up.
            .arg0("session-guard")
            .arg(SUBCOMMAND)
            .args(descriptor_limit_before().map(|limit| limit.to_string()))
            .env_clear()
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::from(guards))
            .spawn()
            .map_err(
                |error| if Path::new(OWN_PROGRAM).exists() { KeeperError::Launch(error) } else { KeeperError::NoProc },
            )?;
        let pid = guards::adopt(child);
        let encoded = memory_file(c"profile", &profile.encode()).map_err(KeeperError::Launch)?;
        // A guard that has given up does not read this, but it has said why.
        let _ = guard.send(GuardRequest::Profile.encode(), &[encoded.as_fd()]).await;
        match tokio::time::timeout(READY_WITHIN, socket.receive()).await {
            Ok(message) if message == READY => Ok(Self::listened_to(socket, guard, pid, profile)),
            Ok(message) => Err(Failed::decode(&message).map_or(KeeperError::NotReady, KeeperError::Restrict)),
            Err(_) => Err(KeeperError::NotReady),
        }
    }

    fn listened_to(socket: Socket, guard: Socket, guard_pid: Option<u32>, profile: Profile) -> Self {
        let (socket, over) = (Arc::new(socket), CancellationToken::new());
        let news = Arc::new(KeeperNews::new(socket.clone()));
        let keeper = Self {
            socket,
            guard: Arc::new(guard),
            guard_pid,
            ordering: tokio::sync::Mutex::default(),
            missing_secrets: Mutex::new(profile.secrets.iter().filter(|secret| !is_there(secret)).cloned().collect()),
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

    /// Makes paths read-only for everything that this keeper runs now or later. Without namespaces it changes nothing.
    pub async fn protect(&self, paths: &[PathBuf]) -> Result<(), KeeperError> {
        self.order(GuardRequest::Protect, paths).await
    }

    /// Hides secrets that have come into being since the last call of this.
    pub async fn hide_new_secrets(&self) -> Result<(), KeeperError> {
        let new: Vec<PathBuf> = {
            let mut missing = self.missing_secrets.locked();
            let (new, still_missing) = missing.drain(..).partition(|secret| is_there(secret));
            *missing = still_missing;
            new
        };
        if new.is_empty() { Ok(()) } else { self.order(GuardRequest::Hide, &new).await }
    }

    async fn order(&self, request: GuardRequest, paths: &[PathBuf]) -> Result<(), KeeperError> {
        let mut encoded = Vec::new();
        put_paths(&mut encoded, paths);
        let encoded = memory_file(c"paths", &encoded).map_err(KeeperError::Prepare)?;
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

    /// Sets TMPDIR to the session's temporary directory, unless a command has exported one.
    fn with_tmp(&self, start: &Start) -> Start {
        let mut start = start.clone();
        if start.environment.iter().all(|(name, _)| name != "TMPDIR") {
            start.environment.push(("TMPDIR".into(), self.profile.tmp_seen().into()));
        }
        start
    }

    /// Has the keeper start a command; `descriptors` are stdin, stdout, stderr and then the command's own.
    /// A terminal's master comes back with the process. Only `exec` may call it: the ways to start a command that others
    /// see ask for a permit.
    pub(super) async fn start(
        &self,
        start: &Start,
        descriptors: Vec<OwnedFd>,
    ) -> Result<(Process, Option<OwnedFd>), KeeperError> {
        let start = &self.with_tmp(start);
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
        let Ok((message, master)) = tokio::time::timeout(READY_WITHIN, control.receive_with_descriptor()).await else {
            // Something has stopped the keeper. The guard can still end it.
            self.mark_dead();
            self.guard.hang_up();
            return Err(KeeperError::Dead);
        };
        match ReaperEvent::decode(&message) {
            Ok(ReaperEvent::Started { pid, reaper }) => {
                let elders = Elders { keeper: Arc::downgrade(&self.socket), guard: Arc::downgrade(&self.guard) };
                Ok((Process::new(control, elders, pid, reaper), master))
            }
            Ok(ReaperEvent::Failed { step, errno }) => Err(failure(start, step, errno)),
            Ok(ReaperEvent::Exited { .. } | ReaperEvent::Gone | ReaperEvent::InputAwaited { .. }) | Err(_) => {
                self.mark_dead();
                Err(KeeperError::Dead)
            }
        }
    }
}

/// A path on a file system that does not answer counts as missing until it does.
fn is_there(path: &Path) -> bool {
    mounts::answers(path) && path.exists()
}

fn failure(start: &Start, step: Step, errno: i32) -> KeeperError {
    let error = io::Error::from_raw_os_error(errno);
    match step {
        Step::Description | Step::Terminal => KeeperError::Prepare(error),
        Step::WorkingDirectory => KeeperError::WorkingDirectory { cwd: start.cwd.display().to_string(), error },
        Step::Execute => KeeperError::Execute { program: start.program.to_string_lossy().into_owned(), error },
    }
}
