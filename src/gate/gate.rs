use super::{Answer, Decision, Machine, Permitted, Question, Surroundings, Topic};
use crate::policy::shell::Opaque;
use crate::policy::{Action, Finding, Judgement, Policy, Subject, Verdict};

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
    Denied { summary: String, reason: String, way_out: WayOut },
    #[error("refused: {summary}: {reason}, and there is nobody to ask: this client cannot ask{}", .way_out.permit())]
    NobodyToAsk { summary: String, reason: String, way_out: WayOut },
    #[error("refused by the user: {summary}")]
    ByThePerson { summary: String },
    #[error("refused: {summary}: it needs an approval, and {why}{}", .way_out.permit())]
    CannotBeAsked { summary: String, why: String, way_out: WayOut },
}

impl Refusal {
    /// The action that was refused.
    pub fn summary(&self) -> &str {
        match self {
            Self::Denied { summary, .. }
            | Self::NobodyToAsk { summary, .. }
            | Self::ByThePerson { summary }
            | Self::CannotBeAsked { summary, .. } => summary,
        }
    }
}

/// What the user can do about a refusal.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct WayOut {
    /// The flags that would permit it.
    permit: Option<String>,
    pub change: Option<String>,
}

impl WayOut {
    fn new(judgement: &Judgement) -> Self {
        let flag = |words: &&str| {
            let plain = words.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte));
            if plain { format!("--allow {words}") } else { format!("--allow '{words}'") }
        };
        let flags = judgement.permits().map(|words| words.iter().map(flag).collect::<Vec<_>>().join(" "));
        // An `--allow` does not end a rule that asks.
        let replaced = judgement.rule.as_ref().filter(|_| judgement.verdict == Verdict::Ask);
        let replaced = replaced.map(|rule| format!(" in place of {rule}")).unwrap_or_default();
        let permit = flags.map(|flags| format!("; `{flags}` would permit it{replaced}"));
        Self { permit, change: judgement.change.clone() }
    }

    fn permit(&self) -> &str {
        self.permit.as_deref().unwrap_or_default()
    }
}

/// What the gate decides about an action, and why, for the audit log.
pub struct Decided<A> {
    pub ruling: Ruling<A>,
    pub verdict: Verdict,
    pub reason: String,
    pub rule: Option<String>,
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
    way_out: WayOut,
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

    /// What is in a text, for `testudo explain` without rules. `Err` if bash could not run it.
    pub fn parsed(&self, text: &str, subject: &Subject<'_>, place: &Surroundings) -> Result<Vec<Finding>, Opaque> {
        Policy::parsed(text, &place.scene(subject), &self.machine)
    }

    /// `confirm` turns an allow into an ask.
    pub fn decide<A: Action>(&self, mut action: A, surroundings: &Surroundings, confirm: bool) -> Decided<A> {
        let mut judgement = self.judge(&action.subject(), surroundings);
        if confirm && judgement.verdict == Verdict::Allow {
            let subject = action.subject();
            let mut found = match &subject {
                Subject::ShellText { text, .. } => self.parsed(text, &subject, surroundings).unwrap_or_default(),
                _ => Vec::new(),
            };
            found.iter_mut().for_each(|finding| finding.verdict = Verdict::Ask);
            let reason = "this tool confirms every command".to_owned();
            judgement = Judgement { verdict: Verdict::Ask, reason, commands: found, ..judgement };
        }
        let (verdict, reason, rule) = (judgement.verdict, judgement.reason.clone(), judgement.rule.clone());
        let ruling = match verdict {
            Verdict::Allow => {
                // Bash gets the text that was judged, written out again, instead of the original.
                if let Some(canonical) = judgement.canonical {
                    action.replace_text(canonical);
                }
                Ruling::Permitted(Permitted::new(action, judgement.grants))
            }
            Verdict::Ask => {
                let topic = match action.subject() {
                    Subject::Write { .. } => Topic::File,
                    Subject::Host(_) => Topic::Host,
                    _ => Topic::Command,
                };
                let kept = topic != Topic::File && surroundings.keeps_approvals;
                let project = kept.then(|| surroundings.project_dir.clone());
                let question = Question::new(topic, action.preview(), &judgement, project);
                Ruling::Ask(Pending { action, question, way_out: WayOut::new(&judgement) })
            }
            Verdict::Deny => Ruling::Refused(Refusal::Denied {
                summary: action.summary(),
                way_out: WayOut::new(&judgement),
                reason: judgement.reason,
            }),
        };
        Decided { ruling, verdict, reason, rule }
    }
}

impl<A: Action> Pending<A> {
    pub fn summary(&self) -> String {
        self.action.summary()
    }

    /// An earlier approval covers this action.
    pub fn approved(self) -> Permitted<A> {
        Permitted::new(self.action, self.question.grants)
    }

    /// Applies what came back about this action. Only a choice that was offered, and that is a yes, permits it.
    pub fn answered(self, answer: &Answer) -> Result<Permitted<A>, Refusal> {
        match answer {
            Answer::Chosen(decision) if *decision != Decision::Deny && self.question.offers(*decision) => {
                Ok(self.approved())
            }
            answer if answer.is_a_persons_no() => Err(Refusal::ByThePerson { summary: self.action.summary() }),
            answer => Err(self.cannot_be_asked(answer.in_words())),
        }
    }

    pub fn nobody_to_ask(self) -> Refusal {
        let summary = self.action.summary();
        Refusal::NobodyToAsk { summary, reason: self.question.reason, way_out: self.way_out }
    }

    pub fn cannot_be_asked(self, why: impl Into<String>) -> Refusal {
        Refusal::CannotBeAsked { summary: self.action.summary(), why: why.into(), way_out: self.way_out }
    }
}
