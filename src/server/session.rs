use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::stored_outputs::{StoredOutput, StoredOutputs};
use super::waiting_shells::WaitingShells;
use super::{
    Basis, Context, Hosts, Ids, KeeperLife, NameWatch, Notes, Proxies, PublishedPorts, Setup, Tasks, Workplace,
    disk_watch,
};
use crate::base::locks::LockExt;
use crate::exec::{
    KeeperError, KeeperLink, Process, Recording, ServerDirectory, SessionDirectory, ShellReport, ShellState, Streams,
    Task,
};
use crate::files::{Root, Scope, SeenFiles};
use crate::gate::Approvals;
use crate::network;
use crate::policy::Grant;
use crate::sandbox::Profile;

/// What one agent's conversation keeps: cwd, exported variables, scope, files seen, tasks, stored outputs, approvals, and
/// the keepers of its commands.
#[derive(Debug)]
pub struct Session {
    /// Authenticates what a shell reports about its end.
    nonce: String,
    state: Mutex<ShellState>,
    /// Both the scope of the file tools and what commands may write are made from it.
    workplace: Mutex<Workplace>,
    /// The settings that it keeps for its whole life.
    basis: Arc<Basis>,
    /// Open directories, whether `/tmp` is the session's own in it, and which secrets it denies.
    scope: Mutex<Option<(bool, u64, Scope)>>,
    seen_files: SeenFiles,
    keepers: Arc<KeeperLife>,
    names: Arc<NameWatch>,
    notes: Notes,
    outputs: Mutex<StoredOutputs>,
    ids: Arc<Ids>,
    tasks: Tasks,
    waiting_shells: WaitingShells,
    approvals: Approvals,
    directory: Arc<SessionDirectory>,
    watching_disk: AtomicBool,
    ports: Option<PublishedPorts>,
}

impl Session {
    /// A session that no client has yet. `directory` is the server's.
    pub fn new(setup: &Setup, directory: &Arc<ServerDirectory>, workplace: Workplace) -> Self {
        let (basis, notes, ids) = (setup.basis.clone(), Notes::default(), Arc::<Ids>::default());
        let directory = basis.spare.take_directory().unwrap_or_else(|| Arc::new(directory.session()));
        let network = &basis.config.network;
        let hosts = (network.mode() == network::Mode::Hosts).then(|| Arc::new(Hosts::new(network)));
        let proxies = hosts.map(|hosts| Proxies::new(hosts, basis.config.program.clone()));
        let published = network.publish && network.mode() != network::Mode::On;
        let (profiles, spare) = (basis.profiles.clone(), basis.spare.clone());
        let keepers = Arc::new(KeeperLife::new(profiles, spare, directory.clone(), notes.clone(), proxies));
        let environment = basis.environment(setup.gate.policy());
        Self {
            nonce: crate::base::random::hex::<8>(),
            state: Mutex::new(ShellState { cwd: workplace.start.clone(), environment: environment.into() }),
            workplace: Mutex::new(workplace),
            scope: Mutex::default(),
            seen_files: SeenFiles::default(),
            names: Arc::new(NameWatch::new(basis.names.clone(), keepers.clone())),
            keepers,
            ports: published.then(|| PublishedPorts::new(notes.clone())),
            notes,
            basis,
            outputs: Mutex::default(),
            tasks: Tasks::new(ids.clone()),
            ids,
            waiting_shells: WaitingShells::default(),
            approvals: Approvals::default(),
            directory,
            watching_disk: AtomicBool::new(false),
        }
    }

    /// The same session, for a client. `ids` are those of all its sessions.
    #[must_use]
    pub fn given_to(self, ids: Arc<Ids>, approvals: Approvals) -> Self {
        Self { tasks: Tasks::new(ids.clone()), ids, approvals, ..self }
    }

    /// Something that the next result should say.
    pub fn note(&self, note: String) {
        self.notes.add(note);
    }

    pub fn basis(&self) -> &Arc<Basis> {
        &self.basis
    }

    pub fn nonce(&self) -> &str {
        &self.nonce
    }

    pub fn state(&self) -> ShellState {
        self.state.locked().clone()
    }

    /// Takes over what a shell ended with. If its cwd is gone, the session goes to the project directory, and the old cwd is
    /// returned too.
    pub fn take_over(&self, report: ShellReport) -> (ShellState, Option<PathBuf>) {
        let ShellReport { mut state, cwd_is_gone } = report;
        let project = self.workplace.locked().project_dir.clone();
        let lost = cwd_is_gone.then(|| std::mem::replace(&mut state.cwd, project));
        *self.state.locked() = state.clone();
        (state, lost)
    }

    /// What file tools may touch now: the workplace, and the session's temporary directory under the name that its commands
    /// use.
    pub fn scope(&self) -> Scope {
        let directories = self.workplace.locked().directories.clone();
        let private = Profile::can_have_private_tmp(self.keepers.level(), &directories);
        let number = self.basis.profiles.secrets().now().number;
        let mut scope = self.scope.locked();
        match &*scope {
            Some((known, secrets, scope)) if (*known, *secrets) == (private, number) => scope.clone(),
            _ => scope.insert((private, number, self.open_scope(&directories, private))).2.clone(),
        }
    }

    fn open_scope(&self, directories: &[PathBuf], private: bool) -> Scope {
        let mut roots: Vec<Root> = directories.iter().filter_map(|path| Root::as_written(path).ok()).collect();
        if let Some(tmp) = self.keepers.tmp() {
            let seen = if private { PathBuf::from("/tmp") } else { tmp.to_owned() };
            roots.extend(Root::named(seen, tmp));
        }
        let secrets = self.basis.profiles.secrets_for_files(&self.workplace.locked().resolved());
        let scope = Scope::new(roots, self.basis.config.files.deny.clone().and_secrets(secrets));
        if !directories.is_empty() {
            return scope;
        }
        scope.with_advice(
            "There is no project: the server was started in / or in the home directory, or the client offered such a \
             directory as its root. The user can name a project with --project-dir.",
        )
    }

    /// The client's roots have changed. A cwd that is no longer in scope returns to the project directory.
    pub fn move_to(&self, workplace: Workplace) {
        let mut state = self.state.locked();
        if !workplace.contains(&state.cwd) {
            state.cwd.clone_from(&workplace.project_dir);
        }
        *self.workplace.locked() = workplace;
        *self.scope.locked() = None;
    }

    pub fn workplace(&self) -> Workplace {
        self.workplace.locked().clone()
    }

    /// The files as this session last saw them.
    pub fn seen_files(&self) -> &SeenFiles {
        &self.seen_files
    }

    /// Moves the session to the project directory, when its cwd no longer exists.
    pub fn return_to_project(&self) -> PathBuf {
        let project = self.workplace.locked().project_dir.clone();
        self.state.locked().cwd.clone_from(&project);
        project
    }

    /// The keeper that runs commands in the scope as of now.
    pub async fn keeper(&self) -> Result<Arc<KeeperLink>, KeeperError> {
        let workplace = self.workplace();
        let scope = workplace.real_directories().await;
        let project = workplace.real_project().await;
        self.keepers.current(&project, &scope, async |level| self.names.begin(&scope, level).await).await
    }

    /// A keeper for one command with these grants.
    pub async fn granted_keeper(&self, grants: &[Grant]) -> Result<Arc<KeeperLink>, KeeperError> {
        let workplace = self.workplace();
        let scope = workplace.real_directories().await;
        let project = workplace.real_project().await;
        self.keepers.granted(&project, &scope, async |level| self.names.begin(&scope, level).await, grants).await
    }

    pub fn keepers(&self) -> &KeeperLife {
        &self.keepers
    }

    /// The watch over protected names.
    pub fn names(&self) -> &Arc<NameWatch> {
        &self.names
    }

    /// After a call: looks at what commands did to protected names, and asks the person about it where that is possible.
    /// Returns what the agent should know.
    pub async fn follow_up(&self, context: &Context) -> Vec<String> {
        let mut notes = self.names.look_after(self, context).await;
        if let Some(ports) = self.ports.as_ref().filter(|_| self.names.is_running()) {
            ports.look(&self.keepers.networks()).await;
        }
        notes.extend(self.hosts().into_iter().flat_map(|hosts| hosts.take_notes()));
        notes.extend(self.notes.take());
        notes.extend(self.keepers.take_notes());
        // The result is written, so nobody needs the texts of the streams any more.
        self.outputs.locked().archive();
        notes
    }

    /// Decides about the hosts of its commands, where they reach only some.
    pub fn hosts(&self) -> Option<&Arc<Hosts>> {
        self.keepers.hosts()
    }

    /// What its commands listen on, where that is published.
    pub fn ports(&self) -> Option<&PublishedPorts> {
        self.ports.as_ref()
    }

    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// What a person has allowed in this session.
    pub fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    pub fn waiting_shells(&self) -> &WaitingShells {
        &self.waiting_shells
    }

    /// Ends a terminal that has neither been read nor typed into for that long. Zero is no limit.
    pub fn end_when_idle(&self, task: &Arc<Task>, limit: Duration) {
        if limit.is_zero() || !matches!(task.streams, Streams::Terminal { .. }) {
            return;
        }
        let (watched, process, started) = (Arc::downgrade(task), task.process.clone(), Instant::now());
        tokio::spawn(async move {
            loop {
                let Some(task) = watched.upgrade() else { return };
                let idle = task.touched().unwrap_or(started).elapsed();
                drop(task);
                if idle >= limit {
                    process.terminate().await;
                    return;
                }
                tokio::select! {
                    () = tokio::time::sleep(limit.saturating_sub(idle)) => {}
                    () = process.gone() => return,
                }
            }
        });
    }

    /// Keeps a handle on a process tree: dropping the last one would end it.
    pub fn keep(self: &Arc<Self>, process: Process) {
        self.names.keep(process);
        if !self.watching_disk.swap(true, Ordering::Relaxed) {
            disk_watch::start(self);
        }
        PublishedPorts::watch(self);
    }

    /// Whether the watch over its disk usage has to go on: only while something runs. The next command starts it again.
    pub fn still_watching_disk(&self) -> bool {
        let running = self.names.is_running();
        self.watching_disk.store(running, Ordering::Relaxed);
        running
    }

    /// What it keeps on disk.
    pub fn directory(&self) -> &Arc<SessionDirectory> {
        &self.directory
    }

    /// Makes a stream readable by id. A stream that has an id keeps it.
    pub fn store(&self, stream: &'static str, exit_code: i32, recording: Recording) -> String {
        self.outputs.locked().store(stream, exit_code, recording, || self.ids.output())
    }

    pub fn output(&self, id: &str) -> Option<StoredOutput> {
        self.outputs.locked().get(id).cloned()
    }

    /// Whether this is the id of one of its tasks or stored outputs.
    pub fn has(&self, id: &str) -> bool {
        self.tasks.get(id).is_some() || self.output(id).is_some()
    }

    pub fn output_ids(&self) -> Vec<String> {
        self.outputs.locked().ids()
    }

    /// Ends every process that this session started: TERM first, KILL after the grace period.
    pub async fn end(&self) {
        let ending =
            self.names.processes().into_iter().map(|process| tokio::spawn(async move { process.terminate().await }));
        for task in ending.collect::<Vec<_>>() {
            let _ = task.await;
        }
        self.tasks.clear();
        self.approvals.end();
        self.waiting_shells.end();
        *self.outputs.locked() = StoredOutputs::default();
        self.keepers.end().await;
        self.names.end().await;
        let directory = self.directory.clone();
        let _ = tokio::task::spawn_blocking(move || directory.remove()).await;
    }
}
