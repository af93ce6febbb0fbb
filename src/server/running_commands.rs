use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::base::locks::LockExt;
use crate::exec::Process;

/// A session's commands under way, and what ended commands left running in the background.
#[derive(Debug, Default)]
pub struct RunningCommands {
    processes: Mutex<Vec<Process>>,
    starting: AtomicUsize,
}

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
        processes.retain(|process| !process.is_gone());
        processes.push(process);
    }

    pub fn any(&self) -> bool {
        self.starting.load(Ordering::SeqCst) > 0 || self.processes.locked().iter().any(|process| !process.is_gone())
    }

    /// Waits until none of those that run now runs any more.
    pub async fn idle(&self) {
        let processes = self.processes.locked().clone();
        for process in processes {
            process.gone().await;
        }
    }

    pub fn take(&self) -> Vec<Process> {
        std::mem::take(&mut *self.processes.locked())
    }
}

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        self.0.starting.fetch_sub(1, Ordering::SeqCst);
    }
}
