//! What a person has allowed for the rest of a session or for good, and how many questions they may be asked.
//!
//! The approvals of a session that count are in memory, where no file that an agent writes can add one. The [`Ledger`] shows
//! them to other processes of the user, which can revoke them. Approvals that are for good are in a ledger of their own.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use super::ledger::{Approval, Covers, Ledger};
use super::{Decision, Question};
use crate::base::locks::LockExt;

#[derive(Debug, Default)]
pub struct Approvals {
    ledger: Ledger,
    /// Approvals that are for good. Here the files count.
    kept: Ledger,
    /// The session, as people who read the ledger see it.
    session: String,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    given: Vec<Approval>,
    /// When the last questions were asked.
    asked: VecDeque<Instant>,
}

/// A person who is asked more often than this in a minute starts to say yes without reading.
const MOST_QUESTIONS: usize = 20;
const WINDOW: Duration = Duration::from_mins(1);

impl Approvals {
    pub fn new(ledger: Ledger, kept: Ledger, session: String) -> Self {
        Self { ledger, kept, session, inner: Mutex::default() }
    }

    /// Whether an earlier decision covers this question and has not been revoked.
    pub fn cover(&self, question: &Question) -> bool {
        let mut inner = self.lock();
        inner.given.retain(|approval| self.ledger.stands(approval));
        let given = |covers: &Covers| inner.given.iter().any(|approval| approval.covers == *covers);
        let programs = &question.programs;
        given(&exactly(question))
            || always(question).is_some_and(|always| self.kept.grants(&always))
            || (!programs.is_empty() && programs.iter().all(|program| given(&Covers::Program(program.clone()))))
    }

    /// Remembers a decision that is for more than one call.
    pub fn take(&self, question: &Question, decision: Decision) {
        match decision {
            Decision::Once | Decision::Deny => {}
            Decision::Session => self.give(exactly(question)),
            Decision::Always => always(question).into_iter().for_each(|always| self.keep(always)),
            Decision::Program => {
                question.programs.iter().cloned().map(Covers::Program).for_each(|covers| self.give(covers));
            }
        }
    }

    fn give(&self, covers: Covers) {
        let mut inner = self.lock();
        if inner.given.iter().any(|approval| approval.covers == covers) {
            return;
        }
        let approval = self.approval(covers);
        match self.ledger.enter(&approval) {
            Ok(()) => inner.given.push(approval),
            // An approval that nobody could revoke is not kept. The person is asked again next time.
            Err(error) => tracing::warn!(%error, "an approval could not be kept for the session"),
        }
    }

    /// Keeps an approval for good.
    fn keep(&self, covers: Covers) {
        if let Err(error) = self.kept.enter(&self.approval(covers)) {
            tracing::warn!(%error, "an approval could not be kept for good");
        }
    }

    fn approval(&self, covers: Covers) -> Approval {
        let id = crate::base::random::hex::<6>();
        Approval { id, session: self.session.clone(), pid: std::process::id(), covers }
    }

    /// Ends all approvals of the session, because the session is over.
    pub fn end(&self) {
        std::mem::take(&mut self.lock().given).iter().for_each(|approval| self.ledger.strike(approval));
    }

    /// Whether the person may be asked one more question now. A yes counts as that question.
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

fn exactly(question: &Question) -> Covers {
    Covers::Command { text: question.preview.whole(), cwd: question.preview.cwd.clone() }
}

fn always(question: &Question) -> Option<Covers> {
    let (cwd, project) = (question.preview.cwd.clone(), question.project.clone()?);
    Some(Covers::Always { text: question.preview.whole(), cwd, project })
}

#[cfg(test)]
mod tests {
    use super::super::Topic;
    use super::super::ledger;
    use super::*;
    use crate::policy::action::Preview;

    fn question(text: &str, cwd: &str, programs: &[&str]) -> Question {
        let preview = Preview { text: text.to_owned(), cwd: Some(cwd.into()), ..Preview::default() };
        Question {
            topic: Topic::Command,
            preview,
            reason: String::new(),
            programs: programs.iter().map(|name| (*name).to_owned()).collect(),
            found: Vec::new(),
            grants: Vec::new(),
            project: Some("/p".into()),
        }
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
        let approvals = Approvals::new(Ledger::new(Some(directory.clone())), Ledger::default(), "default".to_owned());
        let (rm, mv) = (question("rm x", "/p", &["rm"]), question("mv x y", "/p", &["mv"]));
        approvals.take(&rm, Decision::Session);
        approvals.take(&mv, Decision::Program);
        let ledgers = [directory.clone()];
        assert_eq!(ledger::read(&ledgers).len(), 2);
        let forged = std::fs::read_to_string(directory.join(&ledger::read(&ledgers)[0].id)).unwrap();
        let revoked = ledger::revoke(&ledgers, |approval| approval.covers == Covers::Program("mv".to_owned())).unwrap();
        assert_eq!(revoked.len(), 1);
        assert!(approvals.cover(&rm) && !approvals.cover(&mv));
        ledger::revoke(&ledgers, |_| true).unwrap();
        std::fs::write(directory.join("zzz"), forged).unwrap();
        assert!(!approvals.cover(&rm) && !approvals.cover(&mv));
    }

    #[test]
    fn what_is_kept_for_good_holds_in_another_session_until_it_is_revoked() {
        let world = tempfile::tempdir().unwrap();
        let directory = world.path().join("kept");
        let session = || Approvals::new(Ledger::default(), Ledger::new(Some(directory.clone())), "default".to_owned());
        let rm = question("rm x", "/p", &["rm"]);
        session().take(&rm, Decision::Always);
        assert!(session().cover(&rm));
        assert!(!session().cover(&question("rm x", "/p/sub", &["rm"])));
        assert!(!session().cover(&question("rm y", "/p", &["rm"])));
        assert!(!session().cover(&Question { project: Some("/q".into()), ..rm.clone() }));
        let file = std::fs::read_dir(&directory).unwrap().next().unwrap().unwrap().path();
        let mode = |mode| std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        mode(0o644);
        assert!(!session().cover(&rm), "others could have read it, so it is not trusted");
        mode(0o600);
        assert!(session().cover(&rm));
        assert_eq!(ledger::revoke(std::slice::from_ref(&directory), |_| true).unwrap().len(), 1);
        assert!(!session().cover(&rm));
    }

    #[test]
    fn the_end_of_a_session_leaves_nothing_in_the_ledger() {
        let world = tempfile::tempdir().unwrap();
        let ledgers = [world.path().join("ledger")];
        let approvals = Approvals::new(Ledger::new(Some(ledgers[0].clone())), Ledger::default(), "default".to_owned());
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
