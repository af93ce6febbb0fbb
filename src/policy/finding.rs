use std::path::Path;

use serde::Serialize;

use super::{Rule, Verdict};

/// One thing that the judge found in a text, and the verdict on it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Finding {
    /// The words of a command, an assignment, a file that is written, or the part that is not understood.
    pub what: String,
    /// The program's name, if an approval by program can cover this finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    pub verdict: Verdict,
    pub reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
}

impl Finding {
    /// Something that cannot be understood, or that no rule allows.
    pub(super) fn opaque(what: &str, reason: &str, verdict: Verdict) -> Self {
        let change =
            (verdict == Verdict::Ask).then(|| "write it in a simpler form, or have a person approve it".to_owned());
        Self { what: what.to_owned(), program: None, verdict, reason: reason.to_owned(), rule: None, change }
    }

    /// A file that a file tool wants to write, under a protected name.
    pub(super) fn protected(path: &Path, name: &str) -> Self {
        Self {
            what: format!("write {}", path.display()),
            program: None,
            verdict: Verdict::Ask,
            reason: format!("{name} is a protected name: other programs run or trust it outside the sandbox"),
            rule: None,
            change: Some("a person has to approve it; the names are sandbox.protect in the configuration".to_owned()),
        }
    }

    /// Takes the verdict and the reason from a rule.
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
