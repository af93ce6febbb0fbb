use std::path::Path;

use serde::Serialize;

use super::{Rule, Verdict};

/// The answer about one action, with everything a person needs to follow it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Judgement {
    pub verdict: Verdict,
    /// Why, in words that follow "because".
    pub reason: String,
    /// The rule that decided, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// What would change the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// Every command that was found, in the order of the text, and whatever else was judged.
    pub commands: Vec<Finding>,
    /// The text to run in place of the original: what was judged, written out again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canonical: Option<String>,
}

/// One thing that was found in a text, and what is to be said about it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Finding {
    /// The command as words, or the assignment, the target, the part that is not understood.
    pub what: String,
    /// The program's name, for an approval by program; nothing where there is none to approve.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    pub verdict: Verdict,
    pub reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
}

impl Judgement {
    /// When there is nothing to judge by.
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

    /// The strictest of the findings; the first of them where several are equally strict.
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

impl Finding {
    /// Something that is not understood, or that nobody has said anything about.
    pub(super) fn opaque(what: &str, reason: &str, verdict: Verdict) -> Self {
        let change =
            (verdict == Verdict::Ask).then(|| "write it in a plainer form, or have a person approve it".to_owned());
        Self { what: what.to_owned(), program: None, verdict, reason: reason.to_owned(), rule: None, change }
    }

    /// A file that is run or believed later, outside the sandbox.
    pub(super) fn protected(path: &Path, name: &str) -> Self {
        Self {
            what: format!("write {}", path.display()),
            program: None,
            verdict: Verdict::Ask,
            reason: format!(
                "{name} is a protected name: what stands there runs or is believed outside the sandbox later"
            ),
            rule: None,
            change: Some("a person has to approve it; the names are sandbox.protect in the configuration".to_owned()),
        }
    }

    /// Decided by a rule.
    pub(super) fn by(self, rule: &Rule) -> Self {
        let named = format!("the rule {} names it", rule.origin);
        let reason = if rule.reason.is_empty() { named } else { rule.reason.clone() };
        let change = match rule.verdict {
            Verdict::Allow => None,
            Verdict::Ask => Some(format!("a person has to approve it; the rule is {}", rule.origin)),
            Verdict::Deny => Some(format!("remove the rule {}", rule.origin)),
        };
        Self { verdict: rule.verdict, reason, rule: Some(rule.origin.clone()), change, ..self }
    }
}
