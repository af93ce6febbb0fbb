use super::judge::Judge;
use super::program_lookup::UnknownMachine;
use super::rule::Match;
use super::safe;
use super::shell::{self, emit};
use super::tool_lists::{self, Commands};
use super::{AllowedCommands, Finding, Judgement, ProgramLookup, Rule, RuleError, Scene, Settings, Subject, Verdict};

/// The rules in force. The same subject in the same scene always gets the same judgement.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    pub(super) rules: Vec<Rule>,
    pub(super) allowed_commands: AllowedCommands,
    pub(super) allow_project_commands: bool,
    /// The verdict on commands that no rule names, if it was set.
    pub(super) unlisted: Option<Verdict>,
}

impl Policy {
    /// Reads the settings and checks every rule against its own examples.
    pub fn new(settings: &Settings) -> Result<Self, RuleError> {
        let mut policy = Self {
            rules: Vec::new(),
            allowed_commands: settings.allowed_commands.clone(),
            allow_project_commands: settings.allow_project_commands,
            unlisted: settings.unlisted,
        };
        for (list, verdict) in
            [(&settings.allow, Verdict::Allow), (&settings.ask, Verdict::Ask), (&settings.deny, Verdict::Deny)]
        {
            for text in list {
                policy.rules.extend(Rule::parse_all(text, verdict, &format!("--{verdict} '{text}'"))?);
            }
        }
        for (list, name, verdict) in [
            (&settings.core_tools, "core_tools", Verdict::Allow),
            (&settings.exclude_tools, "exclude_tools", Verdict::Deny),
        ] {
            for entry in list {
                let origin = format!("{name} = [{entry:?}]");
                match tool_lists::read(entry) {
                    Some(Commands::StartingWith(prefix)) => policy.rules.push(Rule::parse(&prefix, verdict, origin)?),
                    // A rule `allow *` would still vet the arguments of every command. The entry means more than that.
                    Some(Commands::All) if verdict == Verdict::Allow => {
                        policy.unlisted = policy.unlisted.or(Some(Verdict::Allow));
                    }
                    Some(Commands::All) => policy.rules.push(Rule::parse("*", verdict, origin)?),
                    None => {}
                }
            }
        }
        for rule in &settings.rule {
            let parsed = Rule::from_settings(rule)?;
            check_examples(&parsed, &rule.matches, Match::Yes)?;
            check_examples(&parsed, &rule.not_match, Match::No)?;
            policy.rules.extend(parsed);
        }
        Ok(policy)
    }

    /// Whether there is any rule about commands. If not, every command is allowed and none is parsed.
    pub fn has_sources(&self) -> bool {
        !self.rules.is_empty() || self.unlisted.is_some() || matches!(self.allowed_commands, AllowedCommands::Only(_))
    }

    pub fn allowed_commands(&self) -> &AllowedCommands {
        &self.allowed_commands
    }

    /// The verdict on commands that no rule names. If it was not set, it is `ask` when some rule allows a command by name,
    /// and `allow` otherwise.
    pub fn unlisted(&self) -> Verdict {
        let allows = self.rules.iter().any(|rule| rule.verdict == Verdict::Allow);
        self.unlisted.unwrap_or(if allows { Verdict::Ask } else { Verdict::Allow })
    }

    /// Whether commands run only if they are understood and allowed by name. Otherwise they run unless a rule restricts
    /// them.
    pub fn is_strict(&self) -> bool {
        self.unlisted() > Verdict::Allow || matches!(self.allowed_commands, AllowedCommands::Only(_))
    }

    /// What is in a text, for people who have no rules. `Err` if bash could not run it.
    pub fn parsed(text: &str, scene: &Scene, lookup: &dyn ProgramLookup) -> Result<Vec<Finding>, shell::Opaque> {
        if let Err(opaque) = shell::parse(text)
            && (opaque.broken || opaque.hostile)
        {
            return Err(opaque);
        }
        let open = Self { unlisted: Some(Verdict::Allow), ..Self::default() };
        let mut found = open.judge_text(text, scene, lookup).commands;
        // Without rules even what nobody can understand would run.
        found.iter_mut().for_each(|finding| finding.verdict = Verdict::Allow);
        Ok(found)
    }

    /// The verdict on a text, or a part of one, that cannot be understood.
    pub(super) fn on_opaque(&self) -> Verdict {
        match self.allowed_commands {
            AllowedCommands::Only(_) => Verdict::Deny,
            _ => self.unlisted().max(Verdict::Ask),
        }
    }

    pub fn judge(&self, subject: &Subject<'_>, scene: &Scene, lookup: &dyn ProgramLookup) -> Judgement {
        if let Subject::Write { path, protected: Some(name) } = subject {
            return Judgement::of(vec![Finding::protected(path, name)], "");
        }
        if let Subject::Host(host) = subject {
            return Judgement::of(vec![Finding::host(host)], "");
        }
        if !self.has_sources() {
            return Judgement::unruled();
        }
        match subject {
            Subject::Host(_) | Subject::Read(_) | Subject::Write { .. } => {
                Judgement::of(Vec::new(), "rules are about commands; file tools are limited by the scope")
            }
            Subject::ShellText { text, .. } => self.judge_text(text, scene, lookup),
            Subject::Input(text) => self.judge_input(text, scene, lookup),
            Subject::Words { words, .. } => {
                let words: Vec<shell::Word> = words.iter().map(shell::Word::literal).collect();
                let mut judge = Judge::new(self, scene, lookup);
                judge.words_of_a_program(&words);
                Judgement::of(judge.findings, "there is no command in it")
            }
        }
    }

    fn judge_text(&self, text: &str, scene: &Scene, lookup: &dyn ProgramLookup) -> Judgement {
        let mut script = match shell::parse(text) {
            Ok(script) => script,
            Err(opaque) => {
                let verdict = if opaque.hostile { Verdict::Deny } else { self.on_opaque() };
                return Judgement::of(vec![Finding::opaque("the whole text", &opaque.reason, verdict)], "");
            }
        };
        let mut judge = Judge::new(self, scene, lookup);
        judge.script(&mut script);
        judge.finish();
        let mut findings = judge.findings;
        let canonical = if self.is_strict() {
            match emit::script(&script) {
                Ok(text) => Some(text),
                Err(error) => {
                    findings.push(Finding::opaque("the whole text", &error.to_string(), self.on_opaque()));
                    None
                }
            }
        } else {
            None
        };
        let judgement = Judgement::of(findings, "there is no command in it");
        let canonical = canonical.filter(|_| judgement.verdict == Verdict::Allow);
        Judgement { canonical, ..judgement }
    }

    /// The running program may be a shell or anything else, so the text need not be a command. Only rules that deny or ask
    /// count.
    fn judge_input(&self, text: &str, scene: &Scene, lookup: &dyn ProgramLookup) -> Judgement {
        let rules = self.rules.iter().filter(|rule| rule.verdict > Verdict::Allow).cloned().collect();
        let restrictions = Self { rules, unlisted: Some(Verdict::Allow), ..Self::default() };
        let mut judgement = restrictions.judge_text(text, scene, lookup);
        judgement.commands.retain(|finding| finding.rule.is_some());
        Judgement::of(judgement.commands, "no rule forbids it")
    }

    /// The rules as people read them, one on each line.
    pub fn lines(&self) -> Vec<String> {
        let line =
            |rule: &Rule| format!("{:<5} {}    ({})", rule.verdict.to_string(), rule.words.join(" "), rule.origin);
        let mut lines: Vec<String> = self.rules.iter().filter(|rule| rule.looking.is_none()).map(line).collect();
        if let Some(safe) = self.rules.iter().find(|rule| rule.looking.is_some()) {
            lines.push(format!(
                "allow {}    ({}; `testudo explain {}` shows the list)",
                safe::NAME,
                safe.origin,
                safe::NAME
            ));
        }
        if let AllowedCommands::Only(_) = &self.allowed_commands {
            lines.push(format!("deny  everything that is not in ALLOWED_COMMANDS: {}", self.allowed_commands));
        }
        if self.allow_project_commands {
            lines.push("allow programs of the project, by path".to_owned());
        }
        lines.push(format!("{:<5} everything that no rule names", self.unlisted().to_string()));
        lines
    }
}

/// Each example is judged with these rules alone.
fn check_examples(rules: &[Rule], examples: &[String], expected: Match) -> Result<(), RuleError> {
    let (list, does) = if expected == Match::Yes { ("match", "does not") } else { ("not_match", "does") };
    let alone = Policy { rules: rules.to_vec(), unlisted: Some(Verdict::Allow), ..Policy::default() };
    let scene = Scene::in_project(std::path::Path::new("/project"));
    let by_rule = |finding: &Finding| {
        rules.iter().any(|rule| finding.verdict == rule.verdict && finding.rule.as_ref() == Some(&rule.origin))
    };
    for example in examples {
        let named = alone.judge_text(example, &scene, &UnknownMachine).commands.iter().any(by_rule);
        if named != (expected == Match::Yes) {
            let (origin, example) = (rules[0].origin.clone(), example.clone());
            return Err(RuleError::Example { origin, example, list, does });
        }
    }
    Ok(())
}
