use std::sync::{Arc, Mutex};

use crate::base::locks::LockExt;

/// Lines for the agent that no single call is the cause of, such as what a sweep found. They go out with the session's
/// next result.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    pub fn add(&self, note: String) {
        self.0.locked().push(note);
    }

    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.locked())
    }
}
