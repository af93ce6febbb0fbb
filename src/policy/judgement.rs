use serde::Serialize;

use super::{Finding, Grant, Verdict};

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
    /// What the command gets besides what the sandbox allows every command.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<Grant>,
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
            grants: Vec::new(),
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
            grants: shared_grants(&findings),
            commands: findings,
            canonical: None,
        }
    }

    /// The words of the `--allow`s that would permit everything that is asked about, if there are any.
    pub fn permits(&self) -> Option<Vec<&str>> {
        let asked = self.commands.iter().filter(|finding| finding.verdict == self.verdict);
        let words: Option<Vec<&str>> = asked.map(|finding| finding.permit.as_deref()).collect();
        words.filter(|words| !words.is_empty()).map(|mut words| {
            words.dedup();
            words
        })
    }
}

/// All commands of a text run in one place. So the text gets only what every command in it is given, apart from those that
/// only look.
fn shared_grants(findings: &[Finding]) -> Vec<Grant> {
    let mut given = findings.iter().filter(|finding| !finding.only_looks).map(|finding| &finding.grants);
    let Some(first) = given.next() else { return Vec::new() };
    let others: Vec<_> = given.collect();
    first.iter().filter(|grant| others.iter().all(|grants| grants.contains(grant))).cloned().collect()
}
