use std::path::Path;

use super::program::Program;
use super::settings::{Arguments, RuleSettings};
use super::shell::Word;
use super::{ProgramLookup, Verdict};

/// One rule: the first words of a command, and the verdict on it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rule {
    /// A program and its first arguments. `*` stands for any one word.
    pub words: Vec<String>,
    pub verdict: Verdict,
    pub reason: String,
    pub arguments: Arguments,
    /// The flag or setting that the rule comes from, as its author wrote it.
    pub origin: String,
}

#[derive(Debug, thiserror::Error, Eq, PartialEq)]
pub enum RuleError {
    #[error("{origin}: a rule must name a program, got an empty text")]
    Empty { origin: String },
    #[error("{origin}: {error}")]
    Words { origin: String, error: super::shell::split::SplitError },
    #[error("the rule {origin} contradicts its example: {example:?} is in `{list}`, but the rule {does} name it")]
    Example { origin: String, example: String, list: &'static str, does: &'static str },
}

/// Whether a rule names a command.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Match {
    No,
    /// It depends on text that is known only after bash has expanded it.
    Maybe,
    Yes,
}

impl Rule {
    pub fn parse(text: &str, verdict: Verdict, origin: String) -> Result<Self, RuleError> {
        let words =
            super::shell::split::words(text).map_err(|error| RuleError::Words { origin: origin.clone(), error })?;
        if words.is_empty() {
            return Err(RuleError::Empty { origin });
        }
        Ok(Self { words, verdict, reason: String::new(), arguments: Arguments::Vetted, origin })
    }

    pub fn from_settings(settings: &RuleSettings) -> Result<Self, RuleError> {
        let origin = format!("[[policy.rule]] command = {:?}", settings.command);
        let rule = Self::parse(&settings.command, settings.verdict, origin)?;
        Ok(Self { reason: settings.reason.clone(), arguments: settings.arguments, ..rule })
    }

    pub fn matches(
        &self,
        program: &Program,
        arguments: &[Word],
        project_dir: &Path,
        lookup: &dyn ProgramLookup,
    ) -> Match {
        // `parse` refuses a rule without words.
        let Some((name, rest)) = self.words.split_first() else { return Match::No };
        let allows = self.verdict == Verdict::Allow;
        let named = if name == "*" {
            true
        } else if allows {
            program.is(name, project_dir, lookup)
        } else {
            program.goes_by(name)
        };
        if !named {
            return Match::No;
        }
        let starts = starts(program.name(), arguments, allows);
        let found = starts.into_iter().map(|start| prefix(rest, &arguments[start..])).max().unwrap_or(Match::No);
        if allows && found == Match::Maybe { Match::No } else { found }
    }
}

/// Whether the arguments begin with the wanted words.
fn prefix(wanted: &[String], arguments: &[Word]) -> Match {
    let mut result = Match::Yes;
    let mut given = arguments.iter();
    for wanted in wanted {
        match given.next() {
            None => return Match::No,
            Some(word) if word.may_split() => return Match::Maybe,
            Some(_) if wanted == "*" => {}
            Some(word) => match word.text() {
                Some(text) if text == *wanted => {}
                Some(_) => return Match::No,
                None => result = Match::Maybe,
            },
        }
    }
    result
}

/// Options of git before the subcommand that take the next word as their value.
const GIT_VALUED: [&str; 8] =
    ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--attr-source"];

/// The indices at which the words of a rule may begin: at the first argument, or behind options before a subcommand.
/// A rule that restricts is compared at every index that is possible, a rule that allows only where it is certain.
fn starts(program: &str, arguments: &[Word], certain: bool) -> Vec<usize> {
    let mut starts = vec![0];
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let text = word.literal_start();
        let toolchain = program == "cargo" && text.starts_with('+');
        if !text.starts_with('-') && !toolchain {
            break;
        }
        let valued = GIT_VALUED.contains(&text.as_str());
        if program == "git" {
            at += 1 + usize::from(valued);
        } else if certain {
            break;
        } else {
            at += 1;
            // The next word may be the value of this option. Then the subcommand may follow that word.
            if !text.contains('=') && text.starts_with('-') && at + 1 < arguments.len() {
                starts.push(at + 1);
            }
        }
        if at < arguments.len() {
            starts.push(at);
        }
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::super::program_lookup::UnknownMachine;
    use super::super::shell::split;
    use super::*;

    fn check(rule: &str, verdict: Verdict, command: &str) -> Match {
        let rule = Rule::parse(rule, verdict, String::new()).unwrap();
        let words: Vec<Word> = split::words(command).unwrap().into_iter().map(Word::literal).collect();
        let program = Program::new(&words[0].text().unwrap(), None, &UnknownMachine);
        rule.matches(&program, &words[1..], Path::new("/p"), &UnknownMachine)
    }

    #[test]
    fn a_rule_is_an_argument_wise_prefix() {
        let rows = [
            ("git push", "git push origin main", true),
            ("git push", "git -C x push", true),
            ("git push", "git -c a=b --no-pager push", true),
            ("git push", "git pushx", false),
            ("git push", "git commit -m push", false),
            ("git push", "git", false),
            ("rm", "/bin/rm -rf x", true),
            ("rm", "rmdir x", false),
            ("docker * prune", "docker system prune -f", true),
            ("docker * prune", "docker prune", false),
            ("docker run", "docker --context c run x", true),
            ("cargo publish", "cargo +nightly publish", true),
            ("*", "anything", true),
        ];
        for (rule, command, expected) in rows {
            assert_eq!(check(rule, Verdict::Deny, command) == Match::Yes, expected, "{rule} ~ {command}");
        }
    }

    #[test]
    fn a_rule_that_allows_wants_the_very_program() {
        assert_eq!(check("ls", Verdict::Allow, "ls -l"), Match::Yes);
        assert_eq!(check("ls", Verdict::Allow, "/tmp/evil/ls -l"), Match::No);
        assert_eq!(check("git status", Verdict::Allow, "git -C x status"), Match::Yes);
        assert_eq!(check("test", Verdict::Allow, "[ -f x ]"), Match::Yes);
    }
}
