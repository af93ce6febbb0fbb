use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::base::locks::LockExt;
use crate::exec::Process;

/// A session's commands under way, and what ended commands left running in the background.
#[derive(Debug, Default)]
pub struct RunningCommands {
    processes: Mutex<Vec<Process>>,
    starting: AtomicUsize,
}

/// The kernel closes files within a millisecond, unless their file system does not answer.
const LONGEST_CLOSE: Duration = Duration::from_secs(1);

/// A command that is about to start. It counts as running.
#[derive(Debug)]
pub struct Starting<'a>(&'a RunningCommands);

impl RunningCommands {
    pub fn start(&self) -> Starting<'_> {
        self.starting.fetch_add(1, Ordering::SeqCst);
        Starting(self)
    }

    /// Keeps a handle on a process tree: dropping the last one would end it.
    pub fn keep(&self, process: Process) {
        let mut processes = self.processes.locked();
        processes.retain(|process| process.may_live() || !process.is_closed());
        processes.push(process);
    }

    pub fn any(&self) -> bool {
        self.starting.load(Ordering::SeqCst) > 0 || self.processes.locked().iter().any(Process::may_live)
    }

    /// Waits until the kernel has closed the files of those that have ended.
    pub async fn closed(&self) {
        let ended = |process: &&Process| process.is_gone() && !process.is_closed();
        let ended: Vec<Process> = self.processes.locked().iter().filter(ended).cloned().collect();
        if !ended.is_empty() {
            let closed = futures::future::join_all(ended.iter().map(Process::closed));
            let _ = tokio::time::timeout(LONGEST_CLOSE, closed).await;
        }
    }

    /// Waits until none of those that run now runs any more.
    pub async fn idle(&self) {
        for process in self.processes() {
            process.gone().await;
        }
    }

    pub fn processes(&self) -> Vec<Process> {
        self.processes.locked().clone()
    }

    /// They are all dead.
    pub fn clear(&self) {
        self.processes.locked().clear();
    }
}

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        self.0.starting.fetch_sub(1, Ordering::SeqCst);
    }
}
