use serde::Serialize;

use super::{Finding, Verdict};

/// The policy's verdict on one action, with everything that a person needs to understand it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Judgement {
    pub verdict: Verdict,
    /// Why, as a phrase that follows "because".
    pub reason: String,
    /// The rule that decided, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What the user can do to get another verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// Every command in the text, in its order, and everything else that was judged.
    pub commands: Vec<Finding>,
    /// The text to run instead of the original: the text as it was judged, written out again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canonical: Option<String>,
}

impl Judgement {
    /// The verdict when there are no rules.
    pub fn unruled() -> Self {
        Self {
            verdict: Verdict::Allow,
            reason: "there are no rules".to_owned(),
            rule: None,
            change: None,
            commands: Vec::new(),
            canonical: None,
        }
    }

    /// The strictest finding decides, and the first one among equals. Without findings the verdict is allow, for the
    /// reason `empty`.
    pub fn of(findings: Vec<Finding>, empty: &str) -> Self {
        let strictest = findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Allow);
        let decisive = findings.iter().find(|finding| finding.verdict == strictest);
        Self {
            verdict: strictest,
            reason: decisive.map_or_else(|| empty.to_owned(), |finding| finding.reason.clone()),
            rule: decisive.and_then(|finding| finding.rule.clone()),
            change: decisive.and_then(|finding| finding.change.clone()),
            commands: findings,
            canonical: None,
        }
    }
}
