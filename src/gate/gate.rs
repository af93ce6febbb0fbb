use super::Permitted;
use crate::policy::{Action, Policy, Verdict};

/// Judges actions by the policy and hands out permits.
#[derive(Debug)]
pub struct Gate {
    policy: Policy,
}

/// Why an action may not happen.
#[derive(Debug, thiserror::Error, Eq, PartialEq)]
pub enum Refusal {
    #[error("refused by policy: {summary}: {reason}")]
    Denied { summary: String, reason: String },
    #[error("refused: {summary}: {reason}, and there is nobody to ask")]
    NobodyToAsk { summary: String, reason: String },
}

impl Gate {
    pub fn new(policy: Policy) -> Self {
        Self { policy }
    }

    pub fn permit<A: Action>(&self, action: A) -> Result<Permitted<A>, Refusal> {
        let judgement = self.policy.judge(&action.subject());
        let summary = action.summary();
        match judgement.verdict {
            Verdict::Allow => Ok(Permitted::new(action)),
            Verdict::Ask => Err(Refusal::NobodyToAsk { summary, reason: judgement.reason }),
            Verdict::Deny => Err(Refusal::Denied { summary, reason: judgement.reason }),
        }
    }
}
