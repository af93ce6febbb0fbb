//! What a person has allowed for the rest of a session, and how often they may be bothered. Kept in memory only: nothing
//! an agent can write makes an approval.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Decision, Question};

#[derive(Debug, Default)]
pub struct Approvals(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Exact text and directory.
    commands: BTreeSet<(String, Option<PathBuf>)>,
    programs: BTreeSet<String>,
    asked: VecDeque<Instant>,
}

/// More questions than this in a minute tire a person into saying yes.
const MOST_QUESTIONS: usize = 20;
const WINDOW: Duration = Duration::from_mins(1);

impl Approvals {
    /// Whether an earlier answer covers this.
    pub fn cover(&self, question: &Question) -> bool {
        let inner = self.lock();
        let programs = &question.programs;
        inner.commands.contains(&(question.shown.text.clone(), question.shown.cwd.clone()))
            || (!programs.is_empty() && programs.iter().all(|program| inner.programs.contains(program)))
    }

    /// Remembers what the decision says to remember; whether it is a yes.
    pub fn take(&self, question: &Question, decision: Decision) -> bool {
        let mut inner = self.lock();
        match decision {
            Decision::Once => {}
            Decision::Session => {
                inner.commands.insert((question.shown.text.clone(), question.shown.cwd.clone()));
            }
            Decision::Program => inner.programs.extend(question.programs.iter().cloned()),
            Decision::Deny => return false,
        }
        true
    }

    /// Whether one more question may be asked now.
    pub fn may_ask(&self) -> bool {
        let mut inner = self.lock();
        while inner.asked.front().is_some_and(|at| at.elapsed() > WINDOW) {
            inner.asked.pop_front();
        }
        let may = inner.asked.len() < MOST_QUESTIONS;
        if may {
            inner.asked.push_back(Instant::now());
        }
        may
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::action::Shown;

    fn question(text: &str, cwd: &str, programs: &[&str]) -> Question {
        let shown = Shown { text: text.to_owned(), cwd: Some(cwd.into()), description: None };
        Question { shown, reason: String::new(), programs: programs.iter().map(|name| (*name).to_owned()).collect() }
    }

    #[test]
    fn each_answer_covers_exactly_what_it_says() {
        let approvals = Approvals::default();
        let rm = question("rm x", "/p", &["rm"]);
        assert!(approvals.take(&rm, Decision::Once) && !approvals.cover(&rm));
        assert!(!approvals.take(&rm, Decision::Deny) && !approvals.cover(&rm));
        assert!(approvals.take(&rm, Decision::Session) && approvals.cover(&rm));
        assert!(!approvals.cover(&question("rm x", "/other", &["rm"])));
        assert!(!approvals.cover(&question("rm y", "/p", &["rm"])));
        assert!(approvals.take(&rm, Decision::Program));
        assert!(approvals.cover(&question("rm y", "/q", &["rm"])));
        assert!(!approvals.cover(&question("rm y; mv a b", "/q", &["rm", "mv"])));
        assert!(!approvals.cover(&question("eval x", "/p", &[])));
    }

    #[test]
    fn nobody_is_asked_without_end() {
        let approvals = Approvals::default();
        assert!((0..MOST_QUESTIONS).all(|_| approvals.may_ask()));
        assert!(!approvals.may_ask());
    }
}
