use super::{Decision, Machine, Permitted, Question, Surroundings};
use crate::policy::{Action, Judgement, Policy, Subject, Verdict};

/// Judges actions by the policy and makes permits.
#[derive(Debug)]
pub struct Gate {
    policy: Policy,
    machine: Machine,
}

/// Why an action may not happen.
#[derive(Clone, Debug, thiserror::Error, Eq, PartialEq)]
pub enum Refusal {
    #[error("refused by policy: {summary}: {reason}")]
    Denied { summary: String, reason: String, change: Option<String> },
    #[error("refused: {summary}: {reason}, and there is nobody to ask")]
    NobodyToAsk { summary: String, reason: String, change: Option<String> },
    #[error("refused by the user: {summary}")]
    ByThePerson { summary: String },
    #[error("refused: {summary}: it needs an approval, and {why}")]
    CannotBeAsked { summary: String, why: &'static str },
}

/// What the gate decides about an action.
pub enum Ruling<A> {
    Permitted(Permitted<A>),
    /// A person has to decide.
    Ask(Pending<A>),
    Refused(Refusal),
}

/// An action that waits for a person's decision.
pub struct Pending<A> {
    action: A,
    pub question: Question,
    change: Option<String>,
}

impl Gate {
    pub fn new(policy: Policy, machine: Machine) -> Self {
        Self { policy, machine }
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The policy's judgement alone, for `testudo explain`.
    pub fn judge(&self, subject: &Subject<'_>, surroundings: &Surroundings) -> Judgement {
        self.policy.judge(subject, &surroundings.scene(subject), &self.machine)
    }

    /// `confirm` turns an allow into an ask.
    pub fn decide<A: Action>(&self, mut action: A, surroundings: &Surroundings, confirm: bool) -> Ruling<A> {
        let mut judgement = self.judge(&action.subject(), surroundings);
        if confirm && judgement.verdict == Verdict::Allow {
            judgement.verdict = Verdict::Ask;
            "this tool confirms every command".clone_into(&mut judgement.reason);
        }
        match judgement.verdict {
            Verdict::Allow => {
                // Bash gets the text that was judged, written out again, instead of the original.
                if let Some(canonical) = judgement.canonical {
                    action.replace_text(canonical);
                }
                Ruling::Permitted(Permitted::new(action))
            }
            Verdict::Ask => {
                let question = Question::new(action.preview(), &judgement);
                Ruling::Ask(Pending { action, question, change: judgement.change })
            }
            Verdict::Deny => Ruling::Refused(Refusal::Denied {
                summary: action.summary(),
                reason: judgement.reason,
                change: judgement.change,
            }),
        }
    }
}

impl<A: Action> Pending<A> {
    /// Applies the person's decision about this action.
    pub fn decided(self, decision: Decision) -> Result<Permitted<A>, Refusal> {
        match decision {
            Decision::Deny => Err(Refusal::ByThePerson { summary: self.action.summary() }),
            Decision::Once | Decision::Session | Decision::Program => Ok(Permitted::new(self.action)),
        }
    }

    pub fn nobody_to_ask(self) -> Refusal {
        let summary = self.action.summary();
        Refusal::NobodyToAsk { summary, reason: self.question.reason, change: self.change }
    }

    pub fn cannot_be_asked(self, why: &'static str) -> Refusal {
        Refusal::CannotBeAsked { summary: self.action.summary(), why }
    }
}
