//! A rule: the first words of a command, and the verdict on it. [`matching`] compares the words with a command, [`Grant`]
//! is more room for what a rule lets through.

mod grant;
mod matching;

use std::path::Path;

use super::program::Program;
use super::safe::{self, Looking};
use super::settings::{Arguments, RuleSettings};
use super::shell::Word;
use super::{ProgramLookup, Verdict};
pub use grant::Grant;
use matching::Wanted;

/// One rule: the first words of a command, and the verdict on it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Rule {
    /// A program and its first arguments. `*` stands for any one word. The options among them are a set.
    pub words: Vec<String>,
    pub verdict: Verdict,
    pub reason: String,
    pub arguments: Arguments,
    /// What the command gets besides what the sandbox allows every command.
    pub grants: Vec<Grant>,
    /// The entry of `@safe` that this rule is. It then covers the vetted options of that entry, and no others.
    pub looking: Option<&'static Looking>,
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
    #[error("{origin}: {grant:?} is no grant; write ssh-agent, gpg-agent, host:NAME or write:DIRECTORY")]
    Grant { origin: String, grant: String },
    #[error("{origin}: a rule that denies lets nothing through, so it cannot grant {grant:?}")]
    NothingToGrant { origin: String, grant: String },
    #[error("{origin}: there is no list {name:?}; the only one is {}, and it can only be allowed", safe::NAME)]
    List { origin: String, name: String },
}

/// Whether a rule names a command.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Match {
    No,
    /// It depends on text that is known only after bash has expanded it, or on what an option means to the program.
    Maybe,
    Yes,
}

/// What a rule has to do with a command.
#[derive(Clone, Copy, Debug)]
pub struct Matched {
    pub found: Match,
    /// How many of the arguments the words of a rule that allows cover.
    pub covers: usize,
}

impl Rule {
    /// The rules that a text stands for: one, or all of `@safe`.
    pub fn parse_all(text: &str, verdict: Verdict, origin: &str) -> Result<Vec<Self>, RuleError> {
        match text.trim() {
            safe::NAME if verdict == Verdict::Allow => Ok(safe::rules(origin)),
            name if name.starts_with('@') => Err(RuleError::List { origin: origin.to_owned(), name: name.to_owned() }),
            _ => Ok(vec![Self::parse(text, verdict, origin.to_owned())?]),
        }
    }

    pub fn parse(text: &str, verdict: Verdict, origin: String) -> Result<Self, RuleError> {
        let words =
            super::shell::split::words(text).map_err(|error| RuleError::Words { origin: origin.clone(), error })?;
        if words.is_empty() {
            return Err(RuleError::Empty { origin });
        }
        let (reason, grants) = (String::new(), Vec::new());
        Ok(Self { words, verdict, reason, arguments: Arguments::Vetted, grants, looking: None, origin })
    }

    pub fn from_settings(settings: &RuleSettings) -> Result<Vec<Self>, RuleError> {
        let origin = format!("[[policy.rule]] command = {:?}", settings.command);
        let read = |text: &String| {
            let (origin, grant) = (origin.clone(), text.clone());
            match Grant::read(text) {
                Some(_) if settings.verdict == Verdict::Deny => Err(RuleError::NothingToGrant { origin, grant }),
                Some(grant) => Ok(grant),
                None => Err(RuleError::Grant { origin, grant }),
            }
        };
        let grants: Vec<Grant> = settings.grants.iter().map(read).collect::<Result<_, _>>()?;
        let rules = Self::parse_all(&settings.command, settings.verdict, &origin)?.into_iter();
        Ok(rules
            .map(|rule| Self {
                reason: settings.reason.clone(),
                arguments: settings.arguments,
                grants: grants.clone(),
                ..rule
            })
            .collect())
    }

    pub fn matches(
        &self,
        program: &Program,
        arguments: &[Word],
        project_dir: &Path,
        lookup: &dyn ProgramLookup,
    ) -> Matched {
        let no = Matched { found: Match::No, covers: 0 };
        // `parse` refuses a rule without words.
        let Some((name, rest)) = self.words.split_first() else { return no };
        let allows = self.verdict == Verdict::Allow;
        let named = if name == "*" {
            true
        } else if allows {
            program.is(name, project_dir, lookup)
        } else {
            program.goes_by(name)
        };
        if !named {
            return no;
        }
        let wanted = Wanted::new(program.known_as(), rest);
        if !allows {
            return Matched { found: wanted.possible(arguments), covers: 0 };
        }
        match wanted.certain(arguments) {
            Some(covers)
                if self.looking.is_none_or(|looking| looking.only_looks(&self.words, &arguments[covers..])) =>
            {
                Matched { found: Match::Yes, covers }
            }
            _ => no,
        }
    }

    /// Whether the rule names its program by a path, and so means one file.
    pub fn names_a_file(&self) -> bool {
        self.words.first().is_some_and(|name| name.contains('/'))
    }
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
        rule.matches(&program, &words[1..], Path::new("/p"), &UnknownMachine).found
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
            ("rm -rf", "rm -rf x", true),
            ("rm -rf", "rm -fr x", true),
            ("rm -rf", "rm -r -f x", true),
            ("rm -rf", "rm x -r y -f", true),
            ("rm -rf", "rm -rvf x", true),
            ("rm -rf", "rm -r x", false),
            ("rm -rf", "rm x", false),
            ("git push --force", "git push origin main --force", true),
            ("git push --force", "git push --forc origin", true),
            ("git push --force", "git push --force=x", true),
            ("git push --force", "git push --force-with-lease", false),
            ("git push --force", "git commit --force", false),
            ("git push --force", "git -C x push origin --force", true),
            ("find -delete", "find . -name x -delete", true),
            ("find -delete", "find . -ls -depth -type d", false),
            ("docker run --privileged", "docker run -p 80:80 x", false),
            ("kill -9", "kill -9 1", true),
        ];
        for (rule, command, expected) in rows {
            assert_eq!(check(rule, Verdict::Deny, command) == Match::Yes, expected, "{rule} ~ {command}");
        }
    }

    #[test]
    fn a_rule_that_restricts_asks_where_it_is_not_certain() {
        let rows = [
            ("rm -rf", "rm --recursive --force x"),
            ("rm -rf", "rm -Rf x"),
            ("rm -rf", "rm -r -- -f"),
            ("git push --force", "git push -f"),
            ("git push -f", "git push --force"),
        ];
        for (rule, command) in rows {
            assert_eq!(check(rule, Verdict::Deny, command), Match::Maybe, "{rule} ~ {command}");
        }
    }

    #[test]
    fn the_words_of_a_rule_that_allows_come_first() {
        let rows = [
            ("npm run build", "npm run build --watch", true),
            ("npm run build", "npm run -s build", false),
            ("rm -rf", "rm -fr x", true),
            ("rm -r -f", "rm -rf x", true),
            ("rm -r", "rm -rf x", false),
            ("git push --dry-run", "git push --dry-run origin", true),
            ("git push --dry-run", "git push -o --dry-run", false),
        ];
        for (rule, command, expected) in rows {
            assert_eq!(check(rule, Verdict::Allow, command) == Match::Yes, expected, "{rule} ~ {command}");
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
