use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::socket::Socket;
use crate::keeper::protocol::{ExitStatus, Order, ReaperEvent};

/// A running command with everything that descends from it. Dropping the last handle ends the tree.
#[derive(Clone, Debug)]
pub struct Process {
    /// As the session's commands see it.
    pub pid: i32,
    /// The process that watches it, numbered alike.
    pub reaper: i32,
    control: Arc<Socket>,
    life: watch::Receiver<Life>,
}

/// What is known of the command and its tree.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Life {
    pub exited: Option<Exited>,
    /// No process of the tree is left, or its reaper is gone and with it the tree.
    pub gone: bool,
    /// How often the reaper has answered [`Process::input_wait`], and its newest answer.
    answers: u64,
    input_wait: Option<u32>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Exited {
    pub status: ExitStatus,
    /// Descendants that were still running when the command itself ended.
    pub running: Vec<i32>,
}

/// Time between TERM and KILL.
pub const GRACE: Duration = Duration::from_secs(5);

impl Process {
    pub fn new(control: Socket, pid: i32, reaper: i32) -> Self {
        let control = Arc::new(control);
        let (sender, life) = watch::channel(Life::default());
        let listening = Arc::downgrade(&control);
        tokio::spawn(async move { listen(&listening, &sender).await });
        Self { pid, reaper, control, life }
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

    /// Whether some process of the tree is blocked waiting for the command's input. The number is the same as long as that
    /// process has not woken up.
    pub async fn input_wait(&self) -> Option<u32> {
        const LONGEST_ANSWER: Duration = Duration::from_secs(1);
        let mut life = self.life.clone();
        let before = life.borrow().answers;
        self.order(Order::AskInputAwaited).await;
        let answered = life.wait_for(|life| life.answers > before || life.gone);
        match tokio::time::timeout(LONGEST_ANSWER, answered).await {
            Ok(Ok(life)) if !life.gone => life.input_wait,
            _ => None,
        }
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
        self.order(Order::End).await;
        match tokio::time::timeout(AFTER_KILL, self.gone()).await {
            Ok(()) => Vec::new(),
            Err(_) => {
                self.life.borrow().exited.as_ref().map_or_else(|| vec![self.pid], |exited| exited.running.clone())
            }
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
        // If the reaper is gone, so is its tree.
        let _ = self.control.send(&order.encode(), &[]).await;
    }
}

/// Publishes the reaper's reports to the waiters. The socket closes when the tree is gone.
async fn listen(control: &std::sync::Weak<Socket>, life: &watch::Sender<Life>) {
    loop {
        let Some(socket) = control.upgrade() else { return };
        let message = tokio::select! {
            message = socket.receive() => message,
            // Every handle was dropped. Closing our end tells the reaper to end the tree.
            () = life.closed() => return,
        };
        match ReaperEvent::decode(&message) {
            Ok(ReaperEvent::Exited { status, running }) => {
                life.send_modify(|life| life.exited = Some(Exited { status, running }));
            }
            Ok(ReaperEvent::InputAwaited { sleeps }) => life.send_modify(|life| {
                life.answers += 1;
                life.input_wait = sleeps;
            }),
            Ok(_) => {}
            Err(_) => {
                life.send_modify(|life| life.gone = true);
                return;
            }
        }
    }
}
