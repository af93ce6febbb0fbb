use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::command_output::CommandOutput;

/// What ended commands have printed, for people who watch. Those who follow everything ask for it a moment after the start,
/// so all of it is kept for a moment. A person who reads on the page scrolls back, so the newest outputs stay for longer.
#[derive(Debug, Default)]
pub struct Kept(VecDeque<(Instant, Arc<CommandOutput>)>);

const MOMENT: Duration = Duration::from_secs(5);
const MOST: usize = 64;
const LONGER: Duration = Duration::from_mins(10);
/// A terminal may take some megabytes.
const MOST_FOR_LONGER: usize = 8;

/// When [`Kept::forget`] has to be called after each [`Kept::add`]: so much later, and then so much later again.
pub const TIMES: [Duration; 2] = [MOMENT, LONGER];

impl Kept {
    pub fn add(&mut self, output: Arc<CommandOutput>) {
        self.0.push_back((Instant::now(), output));
        if self.0.len() > MOST {
            self.0.pop_front();
        }
    }

    pub fn find(&self, id: &str) -> Option<Arc<CommandOutput>> {
        self.0.iter().find(|(_, output)| output.id == id).map(|(_, output)| output.clone())
    }

    /// Drops what is too old. The oldest are at the front.
    pub fn forget(&mut self) {
        while let Some((since, _)) = self.0.front() {
            let most_age = if self.0.len() > MOST_FOR_LONGER { MOMENT } else { LONGER };
            if since.elapsed() < most_age {
                return;
            }
            self.0.pop_front();
        }
    }
}
