use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers the tasks and stored outputs of one client, across its sessions: an id is enough to find one.
#[derive(Debug, Default)]
pub struct Ids {
    tasks: AtomicU64,
    outputs: AtomicU64,
}

impl Ids {
    pub fn task(&self) -> String {
        format!("t{}", self.tasks.fetch_add(1, Ordering::Relaxed) + 1)
    }

    pub fn output(&self) -> String {
        format!("o{}", self.outputs.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Whether any id was given out.
    pub fn any(&self) -> bool {
        self.tasks.load(Ordering::Relaxed) + self.outputs.load(Ordering::Relaxed) > 0
    }
}
