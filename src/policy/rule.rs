use super::Verdict;

/// One line of the policy: a command prefix and what to do about it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rule {
    pub words: Vec<String>,
    pub verdict: Verdict,
}

#[derive(Debug, thiserror::Error, Eq, PartialEq)]
pub enum RuleError {
    #[error("a rule must name a program, got an empty text")]
    Empty,
}

impl Rule {
    pub fn parse(text: &str, verdict: Verdict) -> Result<Self, RuleError> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        if words.is_empty() { Err(RuleError::Empty) } else { Ok(Self { words, verdict }) }
    }

    /// Argument-wise prefix; the program is compared by its base name.
    pub fn matches(&self, command: &[String]) -> bool {
        command.len() >= self.words.len()
            && self.words.iter().zip(command).enumerate().all(|(index, (want, got))| {
                if index == 0 { want == base_name(got) || want == got } else { want == got }
            })
    }
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
