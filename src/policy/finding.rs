use std::path::Path;

use serde::Serialize;

use super::{Grant, Rule, Verdict};

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
    /// The words of an `--allow` that would permit it. It is never wider than what was found, unless a rule of the person
    /// asks about more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permit: Option<String>,
    /// What a rule gives the command besides.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<Grant>,
    /// Whether the command only looks, so that it may share what another one is given.
    #[serde(skip)]
    pub only_looks: bool,
}

/// How a person can be asked where the client cannot ask.
pub(super) const ANSWER: &str = "keep `testudo approve --wait` open, where a person can answer";

impl Finding {
    /// Something that cannot be understood, or that no rule allows.
    pub(super) fn opaque(what: &str, reason: &str, verdict: Verdict) -> Self {
        let change = (verdict == Verdict::Ask).then(|| format!("write it in a simpler form, or {ANSWER}"));
        Self { change, ..Self::new(what.to_owned(), verdict, reason.to_owned()) }
    }

    pub(super) fn new(what: String, verdict: Verdict, reason: String) -> Self {
        let (program, rule, change, permit) = (None, None, None, None);
        Self { what, program, verdict, reason, rule, change, permit, grants: Vec::new(), only_looks: false }
    }

    /// A file that a file tool wants to write, under a protected name.
    pub(super) fn protected(path: &Path, name: &str) -> Self {
        let what = format!("write {}", path.display());
        let reason = format!("{name} is a protected name: other programs run or trust it outside the sandbox");
        let change = format!("take the name off sandbox.protect in the configuration, or {ANSWER}");
        Self { change: Some(change), ..Self::new(what, Verdict::Ask, reason) }
    }

    /// Takes the verdict and the reason from a rule.
    pub(super) fn by(self, rule: &Rule) -> Self {
        let named = format!("the rule {} names it", rule.origin);
        let reason = if rule.reason.is_empty() { named } else { rule.reason.clone() };
        let change = match rule.verdict {
            Verdict::Allow => None,
            Verdict::Ask => Some(format!("remove the rule {}, or {ANSWER}", rule.origin)),
            Verdict::Deny => Some(format!("remove the rule {}", rule.origin)),
        };
        // The rule's own words: an `--allow` of fewer commands would not end this rule.
        let permit = (rule.verdict == Verdict::Ask).then(|| rule.words.join(" "));
        let grants = rule.grants.clone();
        Self { verdict: rule.verdict, reason, rule: Some(rule.origin.clone()), change, permit, grants, ..self }
    }
}
