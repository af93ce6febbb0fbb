use super::{Machine, Permitted, Surroundings};
use crate::policy::{Action, Judgement, Policy, Subject, Verdict};

/// Judges actions by the policy and hands out permits.
#[derive(Debug)]
pub struct Gate {
    policy: Policy,
}

/// Why an action may not happen.
#[derive(Debug, thiserror::Error, Eq, PartialEq)]
pub enum Refusal {
    #[error("refused by policy: {summary}: {reason}")]
    Denied { summary: String, reason: String, change: Option<String> },
    #[error("refused: {summary}: {reason}, and there is nobody to ask")]
    NobodyToAsk { summary: String, reason: String, change: Option<String> },
}

impl Gate {
    pub fn new(policy: Policy) -> Self {
        Self { policy }
    }

    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The verdict alone, for those who explain.
    pub fn judge(&self, subject: &Subject<'_>, surroundings: &Surroundings) -> Judgement {
        self.policy.judge(subject, &surroundings.scene(subject), &Machine::new(&surroundings.search_path))
    }

    pub fn permit<A: Action>(&self, mut action: A, surroundings: &Surroundings) -> Result<Permitted<A>, Refusal> {
        let judgement = self.judge(&action.subject(), surroundings);
        let Judgement { verdict, reason, change, canonical, .. } = judgement;
        let summary = action.summary();
        match verdict {
            Verdict::Allow => {
                // Bash reads what was judged, not what was written.
                if let Some(canonical) = canonical {
                    action.replace_text(canonical);
                }
                Ok(Permitted::new(action))
            }
            Verdict::Ask => Err(Refusal::NobodyToAsk { summary, reason, change }),
            Verdict::Deny => Err(Refusal::Denied { summary, reason, change }),
        }
    }
}
