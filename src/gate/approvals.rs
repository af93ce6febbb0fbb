//! What a person has allowed for the rest of a session, and how often they may be bothered. Held in memory, where nothing
//! an agent can write makes an approval; the [`Ledger`] shows them to people, who can take them back there.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::ledger::{Approval, Ledger, What};
use super::{Decision, Question};

use crate::base::locks::LockExt;

#[derive(Debug, Default)]
pub struct Approvals {
    ledger: Ledger,
    /// Whose they are, for people who read the ledger.
    session: String,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    given: Vec<Approval>,
    asked: VecDeque<Instant>,
}

/// More questions than this in a minute tire a person into saying yes.
const MOST_QUESTIONS: usize = 20;
const WINDOW: Duration = Duration::from_mins(1);

impl Approvals {
    pub fn new(ledger: Ledger, session: String) -> Self {
        Self { ledger, session, inner: Mutex::default() }
    }

    /// Whether an earlier answer covers this and has not been taken back.
    pub fn cover(&self, question: &Question) -> bool {
        let mut inner = self.lock();
        inner.given.retain(|approval| self.ledger.stands(approval));
        let given = |what: &What| inner.given.iter().any(|approval| approval.what == *what);
        let programs = &question.programs;
        given(&exactly(question))
            || (!programs.is_empty() && programs.iter().all(|program| given(&What::Program(program.clone()))))
    }

    /// Remembers what the decision says to remember.
    pub fn take(&self, question: &Question, decision: Decision) {
        match decision {
            Decision::Once | Decision::Deny => {}
            Decision::Session => self.give(exactly(question)),
            Decision::Program => question.programs.iter().cloned().map(What::Program).for_each(|what| self.give(what)),
        }
    }

    fn give(&self, what: What) {
        let mut inner = self.lock();
        if inner.given.iter().any(|approval| approval.what == what) {
            return;
        }
        let id = crate::base::random::hex::<6>();
        let approval = Approval { id, session: self.session.clone(), pid: std::process::id(), what };
        match self.ledger.enter(&approval) {
            Ok(()) => inner.given.push(approval),
            // What cannot be taken back is not kept: the person is asked again.
            Err(error) => tracing::warn!(%error, "an approval could not be kept for the session"),
        }
    }

    /// The session is over.
    pub fn end(&self) {
        std::mem::take(&mut self.lock().given).iter().for_each(|approval| self.ledger.strike(approval));
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
        self.inner.locked()
    }
}

fn exactly(question: &Question) -> What {
    What::Command { text: question.shown.text.clone(), cwd: question.shown.cwd.clone() }
}

#[cfg(test)]
mod tests {
    use super::super::ledger;
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
        for (decision, covered) in [(Decision::Once, false), (Decision::Deny, false), (Decision::Session, true)] {
            approvals.take(&rm, decision);
            assert_eq!(approvals.cover(&rm), covered, "{decision:?}");
        }
        assert!(!approvals.cover(&question("rm x", "/other", &["rm"])));
        assert!(!approvals.cover(&question("rm y", "/p", &["rm"])));
        approvals.take(&rm, Decision::Program);
        assert!(approvals.cover(&question("rm y", "/q", &["rm"])));
        assert!(!approvals.cover(&question("rm y; mv a b", "/q", &["rm", "mv"])));
        assert!(!approvals.cover(&question("eval x", "/p", &[])));
    }

    #[test]
    fn what_is_taken_back_in_the_ledger_holds_no_more_and_what_is_written_there_grants_nothing() {
        let world = tempfile::tempdir().unwrap();
        let directory = world.path().join("ledger");
        let approvals = Approvals::new(Ledger::new(Some(directory.clone())), "default".to_owned());
        let (rm, mv) = (question("rm x", "/p", &["rm"]), question("mv x y", "/p", &["mv"]));
        approvals.take(&rm, Decision::Session);
        approvals.take(&mv, Decision::Program);
        let ledgers = [directory.clone()];
        assert_eq!(ledger::read(&ledgers).len(), 2);
        let forged = std::fs::read_to_string(directory.join(&ledger::read(&ledgers)[0].id)).unwrap();
        let revoked = ledger::revoke(&ledgers, |approval| approval.what == What::Program("mv".to_owned())).unwrap();
        assert_eq!(revoked.len(), 1);
        assert!(approvals.cover(&rm) && !approvals.cover(&mv));
        ledger::revoke(&ledgers, |_| true).unwrap();
        std::fs::write(directory.join("zzz"), forged).unwrap();
        assert!(!approvals.cover(&rm) && !approvals.cover(&mv));
    }

    #[test]
    fn the_end_of_a_session_leaves_nothing_in_the_ledger() {
        let world = tempfile::tempdir().unwrap();
        let ledgers = [world.path().join("ledger")];
        let approvals = Approvals::new(Ledger::new(Some(ledgers[0].clone())), "default".to_owned());
        approvals.take(&question("rm x", "/p", &["rm"]), Decision::Session);
        approvals.end();
        assert_eq!(ledger::read(&ledgers), []);
    }

    #[test]
    fn nobody_is_asked_without_end() {
        let approvals = Approvals::default();
        assert!((0..MOST_QUESTIONS).all(|_| approvals.may_ask()));
        assert!(!approvals.may_ask());
    }
}
