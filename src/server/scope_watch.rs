//! The watch over one directory of the scope, shared by all sessions that work there. One inventory for all of them: what
//! the command of one session plants is not the person's own for another session.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::NameWatch;
use crate::base::locks::LockExt;
use crate::base::worker_threads;
use crate::inventory::{Inventory, Report, Span, Undone, Window};

#[derive(Debug)]
pub struct ScopeWatch {
    root: PathBuf,
    inventory: Mutex<Inventory>,
    /// What was locked when somebody asked last.
    locked: Mutex<Vec<PathBuf>>,
    members: Mutex<Vec<Weak<NameWatch>>>,
    activity: Mutex<Activity>,
    /// What walks in the background found, for the next result.
    pending: Mutex<Report>,
    /// Held from a look until its findings are in `pending`. A result that came between would miss what was undone for it.
    judging: tokio::sync::Mutex<()>,
    starting: tokio::sync::Mutex<()>,
    walking: tokio::sync::Mutex<()>,
    sweeping: AtomicBool,
    settling: AtomicBool,
    /// Something waits for a file system that has stopped answering while it was looked at, and holds the inventory.
    stuck: AtomicBool,
    /// A call has ended, so the next walk is due.
    due: Notify,
}

/// When commands may have been at work.
#[derive(Debug, Default)]
struct Activity {
    /// Since the last walk that saw everything they left.
    window: Window,
    /// A command has started since the last look at the near directories, or still runs.
    near: bool,
    /// How many commands have started.
    started: u64,
}

/// Between two walks, at least. A large tree is not walked all the time.
const PAUSE: Duration = Duration::from_secs(2);
/// The answer to the call after which a walk begins goes out first.
const AFTER_THE_ANSWER: Duration = Duration::from_millis(2);
/// A walk holds the inventory no longer than this at a time, because commands wait for it.
const SLICE: Duration = Duration::from_millis(1);
/// Between two looks at what may be half done.
const AGAIN: Duration = Duration::from_millis(100);
/// Whatever takes longer waits for a file system that does not answer.
const STUCK: Duration = Duration::from_secs(7);
/// The last walk, when a session is over.
const LONGEST_LAST_WALK: Duration = Duration::from_mins(1);

impl ScopeWatch {
    pub fn new(root: &Path, inventory: Inventory, found: Report) -> Arc<Self> {
        Arc::new(Self {
            root: root.to_owned(),
            locked: Mutex::new(inventory.locked()),
            inventory: Mutex::new(inventory),
            members: Mutex::default(),
            activity: Mutex::default(),
            pending: Mutex::new(found),
            judging: tokio::sync::Mutex::default(),
            starting: tokio::sync::Mutex::default(),
            walking: tokio::sync::Mutex::default(),
            sweeping: AtomicBool::new(false),
            settling: AtomicBool::new(false),
            stuck: AtomicBool::new(false),
            due: Notify::new(),
        })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn join(&self, session: &Arc<NameWatch>) {
        let mut members = self.members.locked();
        members.retain(|member| member.strong_count() > 0 && !member.ptr_eq(&Arc::downgrade(session)));
        members.push(Arc::downgrade(session));
    }

    pub fn members(&self) -> Vec<Arc<NameWatch>> {
        self.members.locked().iter().filter_map(Weak::upgrade).collect()
    }

    /// Sessions have worked here, and all of them have ended.
    pub fn is_abandoned(&self) -> bool {
        let members = self.members.locked();
        !members.is_empty() && members.iter().all(|member| member.strong_count() == 0)
    }

    fn is_busy(&self) -> bool {
        self.members().iter().any(|member| member.is_running())
    }

    /// When the commands ran that run now, or whose traces nobody has looked for yet.
    pub fn spans(&self) -> Vec<Span> {
        self.activity.locked().window.busy.clone()
    }

    /// For a look that begins now. Whoever calls it holds the inventory, and a command that starts waits for that: so a look
    /// that is not patient never meets a command half-way through its work.
    fn window(&self) -> Window {
        let patient = self.note_idle();
        Window { patient, ..self.activity.locked().window.clone() }
    }

    /// Notes the time if nothing runs any more. Returns whether something does.
    fn note_idle(&self) -> bool {
        let mut activity = self.activity.locked();
        let busy = self.is_busy();
        if !busy {
            activity.window.close();
        }
        busy
    }

    /// What commands cannot write; as far as it is known, if a file system does not answer.
    pub async fn locked(self: &Arc<Self>) -> Vec<PathBuf> {
        if let Some(locked) = self.with(|inventory| inventory.locked()).await {
            *self.locked.locked() = locked;
        }
        self.locked.locked().clone()
    }

    /// A command is about to start. What has changed near at hand while none ran is the person's own.
    pub async fn command_starts(self: &Arc<Self>) {
        // Another command that starts meanwhile waits until the person's changes are known.
        let _one_at_a_time = self.starting.lock().await;
        let (idle, first) = {
            let mut activity = self.activity.locked();
            let (idle, first) = (!activity.near, activity.started == 0);
            activity.window.open();
            activity.near = true;
            activity.started += 1;
            (idle, first)
        };
        let accept = move |inventory: &mut Inventory| {
            if first {
                inventory.first_command_starts();
            }
            if !idle || inventory.is_same_near() { Report::default() } else { inventory.accept_near() }
        };
        let report = self.with(accept).await.unwrap_or_default();
        self.protect(&report).await;
        if !self.sweeping.swap(true, Ordering::SeqCst) {
            tokio::spawn(self.clone().sweep());
        }
    }

    /// After a call: judges what commands did near at hand, and has the rest looked at in the background. Returns what was
    /// found since the last call.
    pub async fn look_near(self: &Arc<Self>) -> Report {
        if self.check_near().await && !self.settling.swap(true, Ordering::SeqCst) {
            tokio::spawn(self.clone().settle());
        }
        self.due.notify_one();
        drop(self.judging.lock().await);
        std::mem::take(&mut *self.pending.locked())
    }

    /// Looks again as soon as the last process is dead: from then on every change is the person's.
    async fn settle(self: Arc<Self>) {
        for member in self.members() {
            member.idle().await;
        }
        self.settling.store(false, Ordering::SeqCst);
        self.check_near().await;
    }

    /// Returns whether commands are still running.
    async fn check_near(self: &Arc<Self>) -> bool {
        let (near, started) = {
            let activity = self.activity.locked();
            (activity.near, activity.started)
        };
        if !near {
            return self.is_busy();
        }
        let mut looked = self.look_once().await;
        if looked && self.with(|inventory| inventory.has_suspects()).await == Some(true) {
            // Another command may be half-way through its work.
            tokio::time::sleep(AGAIN).await;
            looked = self.look_once().await;
        }
        let busy = self.is_busy();
        let mut activity = self.activity.locked();
        if looked && !busy && activity.started == started {
            activity.near = false;
        }
        busy
    }

    /// Looks at the near directories, if anything has changed there. Returns whether that was possible.
    async fn look_once(self: &Arc<Self>) -> bool {
        self.note_idle();
        let watch = self.clone();
        match self.with(|inventory| inventory.is_same_near()).await {
            Some(true) => true,
            Some(false) => self.take(move |inventory| inventory.look_near(&watch.window())).await,
            None => false,
        }
    }

    /// Walks through everything: when a call has ended, while commands run, and until one walk has seen what the last of
    /// them left.
    async fn sweep(self: Arc<Self>) {
        loop {
            let _ = tokio::time::timeout(PAUSE, self.due.notified()).await;
            tokio::time::sleep(AFTER_THE_ANSWER).await;
            let (begun, started, busy) = (Instant::now(), self.activity.locked().started, self.is_busy());
            if self.walk().await && !busy && self.rest(started) {
                return;
            }
            tokio::time::sleep(PAUSE.max(begun.elapsed() * 10)).await;
        }
    }

    /// Ends the walks, unless a command has started meanwhile.
    fn rest(&self, started: u64) -> bool {
        let mut activity = self.activity.locked();
        let over = activity.started == started;
        if over {
            activity.near = false;
            activity.window = Window::default();
            self.sweeping.store(false, Ordering::SeqCst);
        }
        over
    }

    /// Returns whether it came to its end.
    async fn walk(self: &Arc<Self>) -> bool {
        let _one_at_a_time = self.walking.lock().await;
        let watch = self.clone();
        let mut going = self.take(move |inventory| inventory.begin_walk(&watch.window())).await;
        while going && self.with(|inventory| inventory.walk_is_finished()).await == Some(false) {
            let watch = self.clone();
            going = self.take(move |inventory| inventory.walk(&watch.window(), Instant::now() + SLICE)).await;
        }
        going
    }

    /// The last look, when a session is over and its processes are dead. Nobody can be asked any more.
    pub async fn look_for_the_last_time(self: &Arc<Self>) -> Report {
        if !self.spans().is_empty() && tokio::time::timeout(LONGEST_LAST_WALK, self.walk()).await != Ok(true) {
            tracing::warn!(scope = %self.root.display(), "the last look for planted files was not finished");
        }
        std::mem::take(&mut *self.pending.locked())
    }

    /// Keeps what a look found, for the next result. Returns whether there was a look.
    async fn take(self: &Arc<Self>, look: impl FnOnce(&mut Inventory) -> Report + Send + 'static) -> bool {
        let _judging = self.judging.lock().await;
        let Some(report) = self.blocking(look).await else { return false };
        if !report.is_empty() {
            self.protect(&report).await;
            self.pending.locked().add(report);
        }
        true
    }

    /// A file was written with the person's permission.
    pub async fn written(self: &Arc<Self>, path: PathBuf) {
        let report = self.blocking(move |inventory| inventory.written(&path)).await;
        self.protect(&report.unwrap_or_default()).await;
    }

    /// The person wants what was undone.
    pub async fn take_over(self: &Arc<Self>, undone: Undone) -> std::io::Result<()> {
        let report = self.blocking(move |inventory| inventory.take_over(&undone)).await;
        self.protect(&report.unwrap_or_else(|| Err(std::io::ErrorKind::TimedOut.into()))?).await;
        Ok(())
    }

    async fn protect(&self, report: &Report) {
        if !report.protect.is_empty() {
            for member in self.members() {
                member.keepers().protect(&report.protect).await;
            }
        }
    }

    /// For quick work. A walk may hold the inventory for a while, and then a thread that may block waits for it.
    async fn with<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&mut Inventory) -> T + Send + 'static,
    ) -> Option<T> {
        if let Ok(mut inventory) = self.inventory.try_lock() {
            return Some(work(&mut inventory));
        }
        self.blocking(work).await
    }

    /// `None` if a file system does not answer. What there is to judge is judged when it does: until then, every change may
    /// be the work of a command.
    async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&mut Inventory) -> T + Send + 'static,
    ) -> Option<T> {
        if self.stuck.load(Ordering::SeqCst) && self.inventory.try_lock().is_err() {
            return None;
        }
        let watch = self.clone();
        let work = worker_threads::run(move || work(&mut watch.inventory.locked()));
        let done = tokio::time::timeout(STUCK, work).await;
        self.stuck.store(done.is_err(), Ordering::SeqCst);
        done.ok()?.ok()
    }
}
