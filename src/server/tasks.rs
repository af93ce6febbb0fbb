//! The tasks of a session: their ids, their limit, and whose end the agent has not been told of.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::Ids;
use crate::base::locks::LockExt;
use crate::exec::{Running, Task};

/// Tasks that may run at the same time in one session; terminals count.
pub const MOST_RUNNING: usize = 10;
/// A finished task that is never read is forgotten after this.
const KEPT_UNREAD: Duration = Duration::from_hours(1);

#[derive(Clone, Debug)]
pub struct Tasks {
    inner: Arc<Mutex<Inner>>,
    ids: Arc<Ids>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Reserved, not yet started.
    starting: usize,
    tasks: Vec<Arc<Task>>,
    /// Ids whose end the agent has been told of.
    known_ended: HashSet<String>,
}

#[derive(Debug, thiserror::Error, Eq, PartialEq)]
#[error("maximum concurrent background task limit ({MOST_RUNNING}) reached")]
pub struct LimitReached;

/// A place for one more task; given back when dropped.
#[derive(Debug)]
pub struct Reservation(Tasks);

impl Tasks {
    pub fn new(ids: Arc<Ids>) -> Self {
        Self { inner: Arc::default(), ids }
    }

    /// Takes a place before the command starts, so that a command over the limit never runs.
    pub fn reserve(&self) -> Result<Reservation, LimitReached> {
        let mut inner = self.lock();
        inner.forget_old();
        let running = inner.tasks.iter().filter(|task| task.finished().is_none()).count();
        if running + inner.starting >= MOST_RUNNING {
            return Err(LimitReached);
        }
        inner.starting += 1;
        Ok(Reservation(self.clone()))
    }

    pub fn get(&self, id: &str) -> Option<Arc<Task>> {
        self.lock().tasks.iter().find(|task| task.id == id).cloned()
    }

    pub fn ids(&self) -> Vec<String> {
        self.lock().tasks.iter().map(|task| task.id.clone()).collect()
    }

    /// Tasks that have ended, with their exit codes.
    pub fn ended(&self) -> Vec<(String, i32)> {
        let ended = |task: &Arc<Task>| Some((task.id.clone(), task.finished()?.exit_code));
        self.lock().tasks.iter().filter_map(ended).collect()
    }

    /// Forgets a task, after its first completed read.
    pub fn forget(&self, id: &str) {
        let mut inner = self.lock();
        inner.tasks.retain(|task| task.id != id);
        inner.known_ended.remove(id);
    }

    /// Notes that the agent has seen its end, so it is not announced again.
    pub fn mark_known(&self, id: &str) {
        self.lock().known_ended.insert(id.to_owned());
    }

    /// Tasks whose end the agent has not been told of, among those that `may_tell` admits. They count as told now.
    pub fn newly_ended(&self, may_tell: impl Fn(&str) -> bool) -> Vec<(String, i32)> {
        let mut inner = self.lock();
        inner.forget_old();
        let ended: Vec<(String, i32)> = inner
            .tasks
            .iter()
            .filter(|task| !inner.known_ended.contains(&task.id) && may_tell(&task.id))
            .filter_map(|task| Some((task.id.clone(), task.finished()?.exit_code)))
            .collect();
        inner.known_ended.extend(ended.iter().map(|(id, _)| id.clone()));
        ended
    }

    pub fn clear(&self) {
        self.lock().tasks.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.locked()
    }
}

impl Inner {
    fn forget_old(&mut self) {
        let old = |task: &Arc<Task>| task.finished().is_some_and(|finished| finished.at.elapsed() > KEPT_UNREAD);
        self.tasks.retain(|task| !old(task));
    }
}

impl Reservation {
    /// The command has started and gets its id.
    pub fn fill(self, running: Running) -> Arc<Task> {
        let mut inner = self.0.lock();
        let task = Task::new(self.0.ids.task(), running);
        inner.tasks.push(task.clone());
        drop(inner);
        task
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.0.lock().starting -= 1;
    }
}
