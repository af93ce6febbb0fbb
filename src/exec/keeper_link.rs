//! The server's end of the connection to a keeper: launches it, asks it to start commands, learns of its death.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::descriptor_limit::descriptor_limit_before;
use super::keeper_news::KeeperNews;
use super::process::Process;
use super::shell::memory_file;
use super::socket::Socket;
use crate::base::locks::LockExt;
use crate::base::packed::put_paths;
use crate::keeper::guard::SUBCOMMAND;
use crate::keeper::protocol::{DONE, FAILED, GuardRequest, KeeperNote, KeeperRequest, READY, ReaperEvent, Start, Step};
use crate::sandbox::Profile;
use crate::sandbox::support::{self, Finding};

#[derive(Debug)]
pub struct KeeperLink {
    socket: Arc<Socket>,
    /// To the guard, which stays outside the keeper's restrictions. When this socket closes, the guard ends everything.
    guard: Socket,
    ordering: tokio::sync::Mutex<()>,
    profile: Arc<Profile>,
    /// Secrets that did not exist when the keeper was made, so it could not hide them.
    missing_secrets: Mutex<Vec<PathBuf>>,
    news: Arc<KeeperNews>,
    /// Ends the listening task, which would otherwise hold the socket open.
    _over: tokio_util::sync::DropGuard,
}

#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    #[error("failed to start the keeper, the process that runs this session's commands: {0}")]
    Launch(#[source] io::Error),
    #[error("the keeper did not become ready")]
    NotReady,
    #[error("the sandbox could not be put up: {0}")]
    Restrict(String),
    #[error("{0}")]
    Refused(String),
    #[error("the keeper, the process that runs this session's commands, has died")]
    Dead,
    #[error("failed to prepare the command: {0}")]
    Prepare(#[source] io::Error),
    #[error("the working directory {cwd} cannot be entered: {error}")]
    WorkingDirectory { cwd: String, error: io::Error },
    #[error("failed to execute {program}: {error}")]
    Execute { program: String, error: io::Error },
}

/// How long a keeper may take to become ready. It usually takes about a millisecond.
const READY_WITHIN: Duration = Duration::from_secs(10);

impl KeeperLink {
    /// Starts our own binary again as the guard, which makes the keeper. When this returns, the keeper is restricted.
    pub async fn launch(profile: Profile) -> Result<Self, KeeperError> {
        let (socket, theirs) = Socket::pair().map_err(KeeperError::Launch)?;
        let (guard, guards) = Socket::pair().map_err(KeeperError::Launch)?;
        // These options keep `Command` on its posix_spawn path, which does not copy this process's page tables. tokio reaps
        // the guard; the guard ends by itself when our socket closes.
        tokio::process::Command::new("/proc/self/exe")
            .arg0("testudo-guard")
            .arg(SUBCOMMAND)
            .args(descriptor_limit_before().map(|limit| limit.to_string()))
            .env_clear()
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::from(guards))
            .spawn()
            .map_err(KeeperError::Launch)?;
        let encoded = memory_file(c"profile", &profile.encode()).map_err(KeeperError::Launch)?;
        guard.send(GuardRequest::Profile.encode(), &[encoded.as_fd()]).await.map_err(KeeperError::Launch)?;
        match tokio::time::timeout(READY_WITHIN, socket.receive()).await {
            Ok(message) if message == READY => Ok(Self::listened_to(socket, guard, profile)),
            Ok(message) => Err(match message.strip_prefix(FAILED) {
                Some(reason) => KeeperError::Restrict(String::from_utf8_lossy(reason).into_owned()),
                None => KeeperError::NotReady,
            }),
            Err(_) => Err(KeeperError::NotReady),
        }
    }

    fn listened_to(socket: Socket, guard: Socket, profile: Profile) -> Self {
        let (socket, news, over) = (Arc::new(socket), Arc::new(KeeperNews::default()), CancellationToken::new());
        let keeper = Self {
            socket: socket.clone(),
            guard,
            ordering: tokio::sync::Mutex::default(),
            missing_secrets: Mutex::new(profile.secrets.iter().filter(|secret| !secret.exists()).cloned().collect()),
            profile: Arc::new(profile),
            news: news.clone(),
            _over: over.clone().drop_guard(),
        };
        tokio::spawn(async move {
            tokio::select! {
                () = listen(&socket, &news) => {}
                () = over.cancelled() => {}
            }
        });
        keeper
    }

    /// What it has told us between requests.
    pub fn news(&self) -> &Arc<KeeperNews> {
        &self.news
    }

    /// What the keeper is restricted to.
    pub fn profile(&self) -> &Arc<Profile> {
        &self.profile
    }

    /// Makes paths read-only for everything that this keeper runs now or later. Without namespaces it changes nothing.
    pub async fn protect(&self, paths: &[PathBuf]) -> Result<(), KeeperError> {
        self.order(GuardRequest::Protect, paths).await
    }

    /// Hides secrets that have come into being since the last call of this.
    pub async fn hide_new_secrets(&self) -> Result<(), KeeperError> {
        let new: Vec<PathBuf> = {
            let mut missing = self.missing_secrets.locked();
            let (new, still_missing) = missing.drain(..).partition(|secret| secret.exists());
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
            answer => Err(match answer.strip_prefix(FAILED) {
                Some(reason) => KeeperError::Restrict(String::from_utf8_lossy(reason).into_owned()),
                None => KeeperError::Dead,
            }),
        }
    }

    /// Ends the keeper and waits until everything that it ran is dead. Nobody else may hold it.
    pub async fn end(self) {
        let Self { socket, guard, _over: over, .. } = self;
        // Without its socket to us, the guard ends the tree and goes. Its own socket closes last.
        drop((over, socket));
        let _ = tokio::time::timeout(READY_WITHIN, guard.receive()).await;
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
        let (message, master) = control.receive_with_descriptor().await;
        match ReaperEvent::decode(&message) {
            Ok(ReaperEvent::Started { pid, reaper }) => Ok((Process::new(control, pid, reaper), master)),
            Ok(ReaperEvent::Failed { step, errno }) => Err(failure(start, step, errno)),
            Ok(ReaperEvent::Exited { .. } | ReaperEvent::InputAwaited { .. }) | Err(_) => {
                self.mark_dead();
                Err(KeeperError::Dead)
            }
        }
    }
}

async fn listen(socket: &Socket, news: &KeeperNews) {
    loop {
        let message = socket.receive().await;
        if message.is_empty() {
            return news.mark_dead();
        }
        if let Ok(note) = KeeperNote::decode(&message) {
            news.add(note);
        }
    }
}

fn failure(start: &Start, step: Step, errno: i32) -> KeeperError {
    let error = io::Error::from_raw_os_error(errno);
    match step {
        Step::Description | Step::Terminal => KeeperError::Prepare(error),
        Step::WorkingDirectory => KeeperError::WorkingDirectory { cwd: start.cwd.display().to_string(), error },
        Step::Execute => KeeperError::Execute { program: start.program.to_string_lossy().into_owned(), error },
    }
}
