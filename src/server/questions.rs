//! Questions that wait for a person. The client is asked, and at the same time whoever has `testudo approve` or the console
//! open. The first answer counts; the others learn by whom it was given.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::watch;

use super::record::CallRecord;
use crate::audit::{Event, Who};
use crate::base::locks::LockExt;
use crate::base::random;
use crate::gate::{Answer, Decision, Form};

/// How long a person may take to decide.
pub const PATIENCE: Duration = Duration::from_mins(5);
/// How long a question waits for a person who was there and has left.
const BACK_WITHIN: Duration = Duration::from_secs(5);
/// The name of the client among those who answer.
pub const CLIENT: &str = "the client";
/// So many answered questions are remembered, for those who answer too late.
const REMEMBERED: usize = 64;

#[derive(Debug, Default)]
pub struct Questions {
    all: Mutex<VecDeque<Arc<Question>>>,
    /// The people who have `testudo approve` or the console open.
    approvers: watch::Sender<Vec<Answers>>,
    /// Changes with every question and every answer.
    changes: watch::Sender<u64>,
}

/// One question, open or answered.
#[derive(Debug)]
pub struct Question {
    pub id: String,
    pub who: Arc<Who>,
    pub form: Form,
    pub asked: SystemTime,
    begun: Instant,
    /// Names the exact action: see [`super::OpenQuestion::binding`].
    binding: String,
    record: CallRecord,
    settled: watch::Sender<Option<Settled>>,
}

/// An answer, and who gave it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Settled {
    pub answer: Answer,
    pub by: String,
}

/// Why an answer does not count.
#[derive(Debug, thiserror::Error, Eq, PartialEq)]
pub enum TooLate {
    #[error("there is no question {0}")]
    Unknown(String),
    #[error("the question does not offer {0:?}; the choices are: {1}")]
    NotOffered(String, String),
    #[error("it was answered by {by}: {decision}")]
    Answered { by: String, decision: &'static str },
}

/// Somebody who can answer. Questions wait for them while this lives.
#[derive(Debug)]
pub struct Approver {
    questions: Arc<Questions>,
    answers: Answers,
}

/// Whose questions somebody answers: those of one principal, or everybody's.
pub type Answers = Option<Arc<str>>;

impl Questions {
    pub fn open(&self, record: &CallRecord, form: Form, binding: String) -> Arc<Question> {
        // Unique among all servers: people answer by id.
        let id = format!("q{}", random::hex::<6>());
        record.add(Event::Question {
            question: id.clone(),
            action: form.message.clone(),
            choices: form.choices.iter().map(|choice| choice.decision.name()).collect(),
        });
        let question = Arc::new(Question {
            id,
            who: record.who().clone(),
            form,
            asked: SystemTime::now(),
            begun: Instant::now(),
            binding,
            record: record.clone(),
            settled: watch::Sender::new(None),
        });
        let mut all = self.all.locked();
        all.push_back(question.clone());
        while all.len() > REMEMBERED {
            let Some(at) = all.iter().position(|question| !question.is_open()) else { break };
            all.remove(at);
        }
        drop(all);
        self.changed();
        question
    }

    /// The questions that wait for an answer, the oldest first.
    pub fn pending(&self) -> Vec<Arc<Question>> {
        self.all.locked().iter().filter(|question| question.is_open()).cloned().collect()
    }

    /// A question, open or answered not long ago.
    pub fn get(&self, id: &str) -> Option<Arc<Question>> {
        self.all.locked().iter().find(|question| question.id == id).cloned()
    }

    /// A person has chosen by name.
    pub fn choose(&self, id: &str, choice: &str, by: &str) -> Result<Decision, TooLate> {
        let question = self.get(id).ok_or_else(|| TooLate::Unknown(id.to_owned()))?;
        let names: Vec<&str> = question.form.choices.iter().map(|choice| choice.decision.name()).collect();
        let offered = names.contains(&choice).then(|| Decision::read(choice)).flatten();
        let decision = offered.ok_or_else(|| TooLate::NotOffered(choice.to_owned(), names.join(", ")))?;
        match self.settle(&question, Answer::Chosen(decision), by) {
            Ok(()) => Ok(decision),
            Err(first) => Err(TooLate::Answered { decision: first.answer.decision().name(), by: first.by }),
        }
    }

    /// Answers a question. If somebody was faster, this returns the first answer.
    pub fn settle(&self, question: &Question, answer: Answer, by: &str) -> Result<(), Settled> {
        let settled = Settled { answer, by: by.to_owned() };
        let is_first = question.settled.send_if_modified(|current| {
            let is_first = current.is_none();
            current.get_or_insert_with(|| settled.clone());
            is_first
        });
        if let Some(first) = question.answer().filter(|_| !is_first) {
            return Err(first);
        }
        let decision = settled.answer.decision().name();
        question.record.add(Event::Answer { question: question.id.clone(), decision, by: settled.by });
        self.changed();
        Ok(())
    }

    /// The client has come back with the answer to a question that it carried itself. If somebody else was faster, theirs
    /// counts.
    pub fn settle_carried(&self, binding: &str, answer: Answer) -> Settled {
        let settled = Settled { answer, by: CLIENT.to_owned() };
        let Some(question) = self.take(binding) else { return settled };
        match self.settle(&question, settled.answer.clone(), CLIENT) {
            Ok(()) => settled,
            Err(first) => first,
        }
    }

    /// What somebody else has answered to a question that the client was to carry. It counts once.
    pub fn take_answered(&self, binding: &str) -> Option<Settled> {
        let mut all = self.all.locked();
        let at = all.iter().position(|question| question.binding == binding && question.answer().is_some())?;
        all.remove(at)?.answer()
    }

    fn take(&self, binding: &str) -> Option<Arc<Question>> {
        let mut all = self.all.locked();
        let at = all.iter().rposition(|question| question.binding == binding)?;
        all.remove(at)
    }

    /// Makes questions wait for this person.
    pub fn attach(self: &Arc<Self>, answers: Answers) -> Approver {
        self.approvers.send_modify(|all| all.push(answers.clone()));
        Approver { questions: self.clone(), answers }
    }

    /// Whether somebody is there who could answer a question of this principal.
    pub fn has_approver(&self, principal: &str) -> bool {
        can_answer(&self.approvers.borrow(), principal)
    }

    /// Waits until nobody is there who could answer a question of this principal. A person who comes back
    /// soon has not left: they may have loaded the page again, or their connection broke for a moment.
    pub async fn all_left(&self, principal: &str) {
        let mut approvers = self.approvers.subscribe();
        while self.has_approver(principal) {
            let _ = approvers.wait_for(|all| !can_answer(all, principal)).await;
            let back = approvers.wait_for(|all| can_answer(all, principal));
            let _ = tokio::time::timeout(BACK_WITHIN, back).await;
        }
    }

    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }
}

impl Question {
    /// The first answer.
    pub fn answer(&self) -> Option<Settled> {
        self.settled.borrow().clone()
    }

    /// For somebody who shows the question and has to take it away when it is answered.
    pub fn watch(&self) -> watch::Receiver<Option<Settled>> {
        self.settled.subscribe()
    }

    pub async fn answered(&self) -> Settled {
        let mut settled = self.settled.subscribe();
        match settled.wait_for(Option::is_some).await {
            Ok(settled) => settled.clone().unwrap_or_else(|| unreachable!("it was waited for")),
            Err(_) => unreachable!("the sender lives as long as the question"),
        }
    }

    /// How long it still waits for an answer.
    pub fn time_left(&self) -> Duration {
        PATIENCE.saturating_sub(self.begun.elapsed())
    }

    fn is_open(&self) -> bool {
        self.answer().is_none() && !self.time_left().is_zero()
    }
}

impl Drop for Approver {
    fn drop(&mut self) {
        self.questions.approvers.send_modify(|all| {
            if let Some(at) = all.iter().position(|answers| *answers == self.answers) {
                all.swap_remove(at);
            }
        });
    }
}

fn can_answer(approvers: &[Answers], principal: &str) -> bool {
    approvers.iter().any(|answers| answers.as_ref().is_none_or(|name| **name == *principal))
}
