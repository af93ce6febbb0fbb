use crate::exec::Recording;

/// A stream that was too long to show, readable by its id until the session ends.
#[derive(Clone, Debug)]
pub struct StoredOutput {
    pub id: String,
    pub stream: &'static str,
    pub exit_code: i32,
    pub recording: Recording,
}

/// The stored outputs of a session. What a call costs here does not grow with their number.
#[derive(Debug, Default)]
pub struct StoredOutputs {
    all: Vec<StoredOutput>,
    /// Where in `all` those are of which more is left than what is on disk. Only these can be stored again.
    fresh: Vec<usize>,
}

impl StoredOutputs {
    /// Adds a stream under a new id. A stream that has an id keeps it.
    pub fn store(
        &mut self,
        stream: &'static str,
        exit_code: i32,
        recording: Recording,
        new_id: impl FnOnce() -> String,
    ) -> String {
        let known = self.fresh.iter().copied().find(|at| self.all[*at].recording.is_same(&recording));
        if let Some(at) = known {
            self.all[at].exit_code = exit_code;
            return self.all[at].id.clone();
        }
        let id = new_id();
        self.fresh.push(self.all.len());
        self.all.push(StoredOutput { id: id.clone(), stream, exit_code, recording });
        id
    }

    /// Leaves on disk what nobody else holds any more.
    pub fn archive(&mut self) {
        self.fresh.retain(|at| !self.all[*at].recording.archive());
    }

    pub fn get(&self, id: &str) -> Option<&StoredOutput> {
        self.all.iter().find(|output| output.id == id)
    }

    pub fn ids(&self) -> Vec<String> {
        self.all.iter().map(|output| output.id.clone()).collect()
    }
}
