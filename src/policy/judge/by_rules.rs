//! The verdict on one command by its name and words: what the rules and `ALLOWED_COMMANDS` say.

use super::super::finding::ANSWER;
use super::super::program::Program;
use super::super::rule::{Match, Matched, Rule};
use super::super::safe;
use super::super::settings::Arguments;
use super::super::shell::Word;
use super::super::{AllowedCommands, Finding, Verdict};
use super::Judge;

/// What the rules say about a command.
pub struct Ruled {
    pub finding: Finding,
    /// Whether all arguments of the program are allowed, so that none of them is looked at.
    pub trusts_arguments: bool,
    /// How many arguments the words of the rules name. These are allowed whatever they do.
    pub covers: usize,
    /// Whether a rule names this very file by its path.
    pub means_a_file: bool,
}

/// What is known about a command besides its words.
pub struct CommandFacts<'a> {
    /// The command as people read it.
    pub what: &'a str,
    /// The words of the narrowest rule that would name it.
    pub permit: Option<&'a str>,
    /// It is a builtin that touches nothing, and needs no rule.
    pub harmless: bool,
}

impl Judge<'_> {
    pub(super) fn by_rules(&self, program: &Program, arguments: &[Word], command: &CommandFacts<'_>) -> Ruled {
        let policy = self.policy;
        let matched = |rule: &Rule| rule.matches(program, arguments, &self.scene.project_dir, self.lookup);
        let matches: Vec<(&Rule, Matched)> = policy.rules.iter().map(|rule| (rule, matched(rule))).collect();
        let sure = matches.iter().filter(|(_, matched)| matched.found == Match::Yes);
        let rules = sure.clone().map(|(rule, _)| *rule);
        let strictest = rules.clone().max_by_key(|rule| rule.verdict);
        let in_project = policy.allow_project_commands && self.is_in_project(program);
        let is_function = self.functions.contains(&program.written);
        let name = program.name().to_owned();
        let shared = policy.rules.iter().any(|rule| !rule.grants.is_empty());
        let looks = || safe::only_looks(program, arguments, &self.scene.project_dir, self.lookup);
        let finding = Finding {
            program: Some(name.clone()),
            only_looks: command.harmless || (shared && looks()),
            ..Finding::new(command.what.to_owned(), Verdict::Allow, String::new())
        };
        let vetting = |finding| Ruled { finding, trusts_arguments: false, covers: 0, means_a_file: false };
        let trusting = |finding| Ruled { trusts_arguments: true, ..vetting(finding) };

        if let Some(rule) = strictest.filter(|rule| rule.verdict == Verdict::Deny) {
            return vetting(finding.by(rule));
        }
        if !self.is_listed(program) && !in_project && !is_function {
            return vetting(Finding {
                verdict: Verdict::Deny,
                reason: format!("`{name}` is not in ALLOWED_COMMANDS ({})", policy.allowed_commands),
                change: Some(format!("add {name} to ALLOWED_COMMANDS")),
                ..finding
            });
        }
        let maybe = |(_, matched): &&(&Rule, Matched)| matched.found == Match::Maybe;
        if let Some((rule, _)) = matches.iter().find(maybe) {
            let reason =
                format!("the rule {} may name it, depending on what an argument becomes or means", rule.origin);
            let verdict = policy.on_opaque();
            return vetting(Finding { verdict, reason, rule: Some(rule.origin.clone()), ..finding });
        }
        if let Some(rule) = strictest {
            return Ruled {
                finding: finding.by(rule),
                trusts_arguments: rules.clone().any(|rule| rule.arguments == Arguments::Any),
                covers: sure.map(|(_, matched)| matched.covers).max().unwrap_or_default(),
                means_a_file: rules.clone().any(Rule::names_a_file),
            };
        }
        if in_project {
            let reason = "it is a program of the project".to_owned();
            return trusting(Finding { reason, rule: Some("--allow-project-commands".to_owned()), ..finding });
        }
        if is_function {
            return trusting(Finding { reason: "it is a function of this text".to_owned(), program: None, ..finding });
        }
        if command.harmless {
            return vetting(Finding { reason: "it is a builtin that touches nothing".to_owned(), ..finding });
        }
        // Then `is_listed` has found it in the only list that there is.
        if policy.rules.is_empty() && policy.unlisted.is_none() {
            let reason = format!("`{name}` is in ALLOWED_COMMANDS");
            return vetting(Finding { reason, rule: Some("ALLOWED_COMMANDS".to_owned()), ..finding });
        }
        let verdict = policy.unlisted();
        vetting(Finding {
            verdict,
            reason: format!("no rule names `{name}`"),
            change: (verdict > Verdict::Allow).then(|| match command.permit {
                Some(words) => format!("start with --allow '{words}', or set --unlisted"),
                None => format!("set --unlisted, or {ANSWER}"),
            }),
            permit: command.permit.map(str::to_owned),
            ..finding
        })
    }

    /// Whether `ALLOWED_COMMANDS` contains the program, or is not set.
    fn is_listed(&self, program: &Program) -> bool {
        match &self.policy.allowed_commands {
            AllowedCommands::Only(names) => {
                names.iter().any(|name| program.is(name, &self.scene.project_dir, self.lookup))
            }
            AllowedCommands::Unset | AllowedCommands::All => true,
        }
    }

    fn is_in_project(&self, program: &Program) -> bool {
        program.is_path()
            && !program.files.is_empty()
            && program.files.iter().all(|file| file.starts_with(&self.scene.project_dir))
    }

    /// Why the name of a program may pass for another name.
    pub(super) fn disguise(&self, program: &Program) -> Option<String> {
        let names = || self.policy.rules.iter().filter_map(|rule| Some((rule.words.first()?, rule.verdict)));
        if names().any(|(name, _)| *name == program.written) {
            return None;
        }
        if !program.written.is_ascii() {
            return Some("the program's name has letters beyond ASCII, which may imitate another name".to_owned());
        }
        let restricted = names().filter(|(_, verdict)| *verdict > Verdict::Allow);
        let variant = |name: &str| program.name() != name && program.name().eq_ignore_ascii_case(name);
        restricted
            .map(|(name, _)| name)
            .find(|name| variant(name))
            .map(|name| format!("it differs from `{name}` only in letter case, which some file systems ignore"))
    }

    /// The restricted program that a text in another language mentions.
    pub(super) fn mentioned(&self, text: &str) -> Option<&str> {
        let restricted = self.policy.rules.iter().filter(|rule| rule.verdict > Verdict::Allow);
        let mut names = restricted.filter_map(|rule| rule.words.first()).filter(|name| *name != "*");
        let separates = |c: char| !c.is_alphanumeric() && c != '_' && c != '-';
        names.find(|name| text.split(separates).any(|part| part == **name)).map(String::as_str)
    }
}
