use super::{Rule, RuleError, Settings, Subject, Verdict, shell};

/// The rules in force. Pure: the same subject always gets the same judgement.
#[derive(Debug, Default)]
pub struct Policy {
    rules: Vec<Rule>,
}

/// A verdict and the reason a person can read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Judgement {
    pub verdict: Verdict,
    pub reason: String,
}

impl Policy {
    pub fn new(settings: &Settings) -> Result<Self, RuleError> {
        let rules = settings.deny.iter().map(|text| Rule::parse(text, Verdict::Deny)).collect::<Result<_, _>>()?;
        Ok(Self { rules })
    }

    pub fn judge(&self, subject: &Subject<'_>) -> Judgement {
        let (Subject::ShellText(text) | Subject::Input(text)) = subject else {
            return Judgement { verdict: Verdict::Allow, reason: "the scope is the limit of file tools".to_owned() };
        };
        let commands = shell::commands(text);
        self.rules
            .iter()
            .filter(|rule| commands.iter().any(|command| rule.matches(command)))
            .max_by_key(|rule| rule.verdict)
            .map_or_else(
                || Judgement { verdict: Verdict::Allow, reason: "no rule names it".to_owned() },
                |rule| Judgement {
                    verdict: rule.verdict,
                    reason: format!("the rule --{} '{}' names it", rule.verdict, rule.words.join(" ")),
                },
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denied_program_is_found_wherever_it_stands() {
        let policy = Policy::new(&Settings { deny: vec!["rm".into(), "git push".into()] }).unwrap();
        let rows = [
            ("ls", Verdict::Allow),
            ("rm x", Verdict::Deny),
            ("ls; rm x", Verdict::Deny),
            ("ls && /bin/rm x", Verdict::Deny),
            ("echo $(rm x)", Verdict::Deny),
            ("A=1 \"rm\" x", Verdict::Deny),
            ("echo rm", Verdict::Allow),
            ("git status", Verdict::Allow),
            ("git push origin", Verdict::Deny),
        ];
        for (text, verdict) in rows {
            assert_eq!(policy.judge(&Subject::ShellText(text)).verdict, verdict, "{text}");
        }
    }
}
