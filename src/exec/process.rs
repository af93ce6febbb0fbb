use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::socket::Socket;
use crate::base::locks::LockExt;
use crate::keeper::protocol::{ExitStatus, KeeperRequest, Order, ReaperEvent};

/// A running command with everything that descends from it. Dropping the last handle ends the tree.
#[derive(Clone, Debug)]
pub struct Process {
    /// As the session's commands see it.
    pub pid: i32,
    /// The process that watches it, numbered alike.
    pub reaper: i32,
    control: Arc<Control>,
    elders: Elders,
    life: watch::Receiver<Life>,
    reports: Arc<watch::Sender<Life>>,
}

/// What the server holds of a reaper. A shell that stays runs several commands, one after the other, with one reaper.
#[derive(Debug)]
struct Control {
    state: Mutex<Reaper>,
    /// Ends the listening task, which would otherwise hold the socket open.
    _over: DropGuard,
}

#[derive(Debug)]
struct Reaper {
    /// `None` once the tree is gone: a handle to an ended command holds no descriptor.
    socket: Option<Arc<Socket>>,
    /// Of the command that runs now.
    life: Arc<watch::Sender<Life>>,
}

/// The processes above a reaper, for when it does not answer.
#[derive(Clone, Debug)]
pub struct Elders {
    pub keeper: Weak<Socket>,
    pub guard: Weak<Socket>,
}

/// What is known of the command and its tree.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Life {
    pub exited: Option<Exited>,
    /// No process of the tree is left, or its reaper is gone and with it the tree.
    pub gone: bool,
    /// The kernel has closed the files of the command, and released its locks.
    closed: bool,
    /// When the reaper went without a word. The keeper ends what it left, and that takes a moment.
    lost: Option<Instant>,
    /// How often the reaper has answered [`Order::AskInputAwaited`], and its newest answer.
    answers: u64,
    input_wait: Option<u32>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Exited {
    pub status: ExitStatus,
    /// Descendants that were still running when the command itself ended.
    pub running: Vec<i32>,
    /// Certainly nothing of its tree was left, so that nothing more can come out of its pipes.
    pub alone: bool,
}

/// Time between TERM and KILL.
pub const GRACE: Duration = Duration::from_secs(5);

impl Process {
    pub fn new(control: Socket, elders: Elders, pid: i32, reaper: i32) -> Self {
        let (socket, over) = (Arc::new(control), CancellationToken::new());
        let (sender, life) = watch::channel(Life::default());
        let reports = Arc::new(sender);
        let state = Mutex::new(Reaper { socket: Some(socket.clone()), life: reports.clone() });
        let control = Arc::new(Control { state, _over: over.clone().drop_guard() });
        let listening = Arc::downgrade(&control);
        tokio::spawn(async move { listen(&listening, &socket, &over).await });
        Self { pid, reaper, control, elders, life, reports }
    }

    /// The command has ended with nothing left of its tree but its shell, which stays.
    pub(super) fn stays(&self, status: ExitStatus) -> Exited {
        let exited = Exited { status, running: Vec::new(), alone: true };
        self.reports.send_modify(|life| {
            life.exited = Some(exited.clone());
            (life.gone, life.closed) = (true, true);
        });
        exited
    }

    /// The next command of the shell that has stayed.
    pub(super) fn again(&self) -> Self {
        let mut reaper = self.control.state.locked();
        let is_gone = reaper.socket.is_none();
        let (sender, life) = watch::channel(Life { gone: is_gone, closed: is_gone, ..Life::default() });
        reaper.life = Arc::new(sender);
        let reports = reaper.life.clone();
        drop(reaper);
        Self { life, reports, ..self.clone() }
    }

    /// Waits until the command itself has ended. `None` when its reaper was killed first, so the status is unknown.
    pub async fn exited(&self) -> Option<Exited> {
        let mut life = self.life.clone();
        let known = life.wait_for(|life| life.exited.is_some() || life.gone).await.ok()?;
        known.exited.clone()
    }

    /// Waits until no process of the tree is left.
    pub async fn gone(&self) {
        let _ = self.life.clone().wait_for(|life| life.gone).await;
    }

    pub fn is_gone(&self) -> bool {
        self.life.borrow().gone
    }

    /// If the command has ended, waits until its files are closed. The next command may want a lock that it held.
    pub async fn closed(&self) {
        if self.life.borrow().exited.is_some() {
            let _ = self.life.clone().wait_for(|life| life.closed).await;
        }
    }

    pub fn is_closed(&self) -> bool {
        self.life.borrow().closed
    }

    /// Whether a process of the tree may still do something. A command can kill its reaper and live on for a moment.
    pub fn may_live(&self) -> bool {
        /// By then the keeper has killed what a reaper left.
        const KEEPER_KILLS_WITHIN: Duration = Duration::from_secs(2);
        let life = self.life.borrow();
        !life.gone || life.lost.is_some_and(|lost| lost.elapsed() < KEEPER_KILLS_WITHIN)
    }

    /// Whether some process of the tree is blocked waiting for the command's input. The number is the same as long as that
    /// process has not woken up.
    pub async fn input_wait(&self) -> Option<u32> {
        if self.ask().await { self.life.borrow().input_wait } else { None }
    }

    /// What has become of the command by now, even if we were stopped meanwhile and its reaper's report still waits in the
    /// socket. The reaper's answer to a question comes after all that it has told before.
    pub async fn exited_by_now(&self) -> Option<Exited> {
        self.ask().await;
        self.life.borrow().exited.clone()
    }

    /// Asks the reaper a question. Returns whether it has answered, and the tree is still there.
    async fn ask(&self) -> bool {
        const LONGEST_ANSWER: Duration = Duration::from_secs(1);
        let mut life = self.life.clone();
        let before = life.borrow().answers;
        self.order(Order::AskInputAwaited).await;
        let answered = life.wait_for(|life| life.answers > before || life.gone);
        matches!(tokio::time::timeout(LONGEST_ANSWER, answered).await, Ok(Ok(life)) if !life.gone)
    }

    /// Ends the whole tree: the signal, [`GRACE`], then KILL until nothing is left. The server keeps the time, the reaper
    /// sends the signals. Returns the pids that KILL did not end: they hang in the kernel.
    pub async fn stop(&self, signal: i32) -> Vec<i32> {
        /// A process that is still there after this hangs in the kernel.
        const AFTER_KILL: Duration = Duration::from_secs(5);
        self.signal(signal).await;
        if tokio::time::timeout(GRACE, self.gone()).await.is_ok() {
            return Vec::new();
        }
        if self.ask().await {
            self.order(Order::End).await;
        } else {
            self.end_without_reaper().await;
        }
        match tokio::time::timeout(AFTER_KILL, self.gone()).await {
            Ok(()) => Vec::new(),
            Err(_) => {
                self.life.borrow().exited.as_ref().map_or_else(|| vec![self.pid], |exited| exited.running.clone())
            }
        }
    }

    /// For a reaper that does not answer. The keeper kills it and everything below it. If the keeper does not answer either,
    /// the guard ends the whole session.
    async fn end_without_reaper(&self) {
        const KEEPER_ACTS_WITHIN: Duration = Duration::from_secs(1);
        if let Some(keeper) = self.elders.keeper.upgrade() {
            let request = KeeperRequest::Kill { reaper: self.reaper }.encode();
            let _ = tokio::time::timeout(KEEPER_ACTS_WITHIN, keeper.send(&request, &[])).await;
        }
        if tokio::time::timeout(KEEPER_ACTS_WITHIN, self.gone()).await.is_err()
            && let Some(guard) = self.elders.guard.upgrade()
        {
            tracing::warn!(reaper = self.reaper, "the keeper does not answer; the session's processes are ended");
            guard.hang_up();
        }
    }

    /// A signal to the whole tree.
    pub async fn signal(&self, signal: i32) {
        self.order(Order::Signal(signal)).await;
    }

    pub async fn terminate(&self) {
        self.stop(libc::SIGTERM).await;
    }

    async fn order(&self, order: Order) {
        // The shell of a command that has ended may run another one.
        let control = self.control.state.locked().socket.clone().filter(|_| !self.is_gone());
        if let Some(control) = control {
            // If the reaper is gone, so is its tree.
            let _ = control.send(&order.encode(), &[]).await;
        }
    }
}

/// Publishes the reaper's reports to those who wait for the command that runs. The socket closes when the tree is gone, or when
/// every handle was dropped: that tells the reaper to end the tree.
async fn listen(control: &Weak<Control>, socket: &Arc<Socket>, over: &CancellationToken) {
    loop {
        let message = tokio::select! {
            message = socket.receive() => message,
            () = over.cancelled() => return,
        };
        let Some(control) = control.upgrade() else { return };
        let mut reaper = control.state.locked();
        match ReaperEvent::decode(&message) {
            Ok(ReaperEvent::Exited { status, running, alone, closed }) => reaper.life.send_modify(|life| {
                life.exited = Some(Exited { status, running, alone });
                life.gone = alone;
                life.closed = closed;
            }),
            Ok(ReaperEvent::Gone) => reaper.life.send_modify(|life| (life.gone, life.closed) = (true, true)),
            Ok(ReaperEvent::InputAwaited { sleeps }) => reaper.life.send_modify(|life| {
                life.answers += 1;
                life.input_wait = sleeps;
            }),
            Ok(_) => {}
            Err(_) => {
                reaper.socket = None;
                reaper.life.send_modify(|life| {
                    life.lost = (!life.gone).then(Instant::now);
                    (life.gone, life.closed) = (true, true);
                });
                return;
            }
        }
    }
}
