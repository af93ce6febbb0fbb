//! One command: its verdict by the rules, and whatever its arguments carry.

use super::super::arguments::{self, Carried, Vetted};
use super::super::program::Program;
use super::super::rule::{Match, Rule};
use super::super::settings::Arguments;
use super::super::shell::{self, Piece, Word};
use super::super::{AllowedCommands, Finding, Verdict, builtins, write_targets};
use super::{Judge, shown};

/// Wrappers within wrappers, texts within texts.
const DEEPEST: usize = 12;

/// What has to be written differently to be what was judged.
pub struct Rewrite {
    pub patterns: Vec<usize>,
    pub file: Option<String>,
}

impl Judge<'_> {
    /// Judges a command by its words; gives back what the caller has to write differently.
    pub(super) fn invocation(&mut self, words: &[Word], without_shell: bool) -> Option<Rewrite> {
        let (first, arguments) = words.split_first()?;
        let what = words.iter().map(shown).collect::<Vec<_>>().join(" ");
        let Some(name) = first.text() else {
            self.opaque(&what, "the program's name is only known to bash");
            return None;
        };
        if self.depth > DEEPEST {
            self.findings.push(Finding::opaque(&what, "commands are wrapped too deeply", Verdict::Deny));
            return None;
        }
        let program = Program::new(&name, self.cwds.as_deref(), self.programs);
        if let Some(objection) = self.disguise(&program) {
            self.opaque(&what, &objection);
            return None;
        }
        let known_as = program.known_as().to_owned();
        let builtin = builtins::vet(&known_as, arguments).filter(|_| !without_shell && !program.is_path());
        let vetted = match (builtin, arguments::vet(&known_as, arguments)) {
            (Some(builtin), Some(table)) => builtin.and(table),
            (Some(vetted), None) | (None, Some(vetted)) => vetted,
            (None, None) => Vetted::default(),
        };
        if known_as == "cd" || known_as == "pushd" || known_as == "popd" {
            self.move_to(arguments);
        }
        let (finding, trusted) = self.verdict(&program, arguments, what);
        let allowed = finding.verdict == Verdict::Allow;
        let what = finding.what.clone();
        self.findings.push(finding);

        let vetting = self.policy.is_strict() && allowed && !trusted && !without_shell;
        if let Some(reason) = vetted.unvetted.as_ref().filter(|_| vetting) {
            self.unvetted(&what, program.name(), reason);
        }
        if !(trusted || without_shell) {
            self.carry(&what, &vetted, vetting);
        }
        let file = (self.policy.is_strict() && !self.scene.usual_path).then(|| self.pinned(&program, &what)).flatten();
        if self.depth > 0 && (file.is_some() || (vetting && !vetted.patterns.is_empty())) {
            // What stands inside another command cannot be written differently.
            self.opaque(&what, "an argument that begins with a pattern may become an option; write ./ in front of it");
        }
        let patterns = if vetting { vetted.patterns } else { Vec::new() };
        (self.depth == 0).then_some(Rewrite { patterns, file })
    }

    /// Everything a command's arguments carry.
    fn carry(&mut self, what: &str, vetted: &Vetted, vetting: bool) {
        if let Some(reason) = &vetted.opaque {
            self.opaque(what, reason);
        }
        for (name, value) in &vetted.assignments {
            self.assignment(name, Some(value));
        }
        vetted.carried.iter().for_each(|carried| self.carried(carried));
        if vetting {
            vetted.writes.iter().for_each(|target| self.write(target));
            for directory in &vetted.inside {
                let objection = match self.path(directory) {
                    Some(path) => write_targets::outside(&path, self.cwds.as_deref(), self.scene, self.programs),
                    None => Some("the directory is only known to bash".to_owned()),
                };
                if let Some(objection) = objection {
                    self.strictly(what, &objection);
                }
            }
        }
        for code in &vetted.code {
            let text: String = code.pieces.iter().map(written).collect();
            if let Some(rule) = self.mentioned(&text) {
                self.opaque(what, &format!("its code mentions {rule}, which is not free to run"));
            }
        }
    }

    /// A command within a command.
    pub(super) fn carried(&mut self, carried: &Carried) {
        self.depth += 1;
        match carried {
            Carried::Words(words) => drop(self.invocation(words, false)),
            Carried::Text(word) => match word.text() {
                None => self.opaque(&shown(word), "a shell will read what only bash can expand"),
                Some(_) if self.depth > DEEPEST => {
                    let reason = "commands are wrapped too deeply";
                    self.findings.push(Finding::opaque(&shown(word), reason, Verdict::Deny));
                }
                Some(text) => match shell::parse(&text) {
                    Ok(mut script) => self.script(&mut script),
                    Err(opaque) => self.opaque(&text, &opaque.reason),
                },
            },
        }
        self.depth -= 1;
    }

    /// The verdict on a command by its name and words, and whether its arguments are trusted whatever they are.
    fn verdict(&self, program: &Program, arguments: &[Word], what: String) -> (Finding, bool) {
        let policy = self.policy;
        let matched = |rule: &Rule| rule.matches(program, arguments, &self.scene.project_dir, self.programs);
        let matches: Vec<(&Rule, Match)> = policy.rules.iter().map(|rule| (rule, matched(rule))).collect();
        let sure = matches.iter().filter(|(_, found)| *found == Match::Yes).map(|(rule, _)| *rule);
        let strictest = sure.clone().max_by_key(|rule| rule.verdict);
        let in_project = policy.allow_project_commands && self.is_in_project(program);
        let name = program.name().to_owned();
        let finding = Finding {
            what,
            program: Some(name.clone()),
            verdict: Verdict::Allow,
            reason: String::new(),
            rule: None,
            change: None,
        };

        let listed = match &policy.allowed_commands {
            AllowedCommands::Only(names) => {
                names.iter().any(|name| program.is(name, &self.scene.project_dir, self.programs))
            }
            _ => true,
        };
        let restricting = matches.iter().find(|(rule, found)| *found == Match::Maybe && rule.verdict > Verdict::Allow);
        if let Some(rule) = strictest.filter(|rule| rule.verdict == Verdict::Deny) {
            return (finding.by(rule), false);
        }
        if !listed && !in_project && !self.functions.contains(&program.written) {
            let finding = Finding {
                verdict: Verdict::Deny,
                reason: format!("`{name}` is not in ALLOWED_COMMANDS ({})", policy.allowed_commands),
                change: Some(format!("add {name} to ALLOWED_COMMANDS")),
                ..finding
            };
            return (finding, false);
        }
        if let Some((rule, _)) = restricting {
            let reason = "whether a rule names it depends on what only bash can expand".to_owned();
            let verdict = self.policy.opaque();
            return (Finding { verdict, reason, rule: Some(rule.origin.clone()), ..finding }, false);
        }
        if let Some(rule) = strictest {
            let trusted = rule.verdict == Verdict::Allow && sure.clone().any(|rule| rule.arguments == Arguments::Any);
            return (finding.by(rule), trusted);
        }
        if in_project {
            let reason = "it is a program of the project".to_owned();
            return (Finding { reason, rule: Some("--allow-project-commands".to_owned()), ..finding }, true);
        }
        if self.functions.contains(&program.written) {
            return (Finding { reason: "it is a function of this text".to_owned(), program: None, ..finding }, true);
        }
        let only_listed = policy.rules.is_empty() && policy.unlisted.is_none();
        if only_listed {
            let reason = format!("`{name}` is in ALLOWED_COMMANDS");
            return (Finding { reason, rule: Some("ALLOWED_COMMANDS".to_owned()), ..finding }, false);
        }
        let verdict = policy.unlisted();
        let finding = Finding {
            verdict,
            reason: format!("no rule names `{name}`"),
            change: (verdict > Verdict::Allow).then(|| format!("start with --allow '{name}', or set --unlisted")),
            ..finding
        };
        (finding, false)
    }

    fn is_in_project(&self, program: &Program) -> bool {
        program.is_path()
            && !program.files.is_empty()
            && program.files.iter().all(|file| file.starts_with(&self.scene.project_dir))
    }

    /// Why a name looks like something other than what it is.
    fn disguise(&self, program: &Program) -> Option<String> {
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
            .map(|name| format!("it differs from `{name}` in letter case alone, which some file systems ignore"))
    }

    /// The name of a restricted program that a text in another language mentions.
    fn mentioned(&self, text: &str) -> Option<String> {
        let restricted = self.policy.rules.iter().filter(|rule| rule.verdict > Verdict::Allow);
        let mut names = restricted.filter_map(|rule| rule.words.first()).filter(|name| *name != "*");
        let word = |c: char| !c.is_alphanumeric() && c != '_' && c != '-';
        names.find(|name| text.split(word).any(|part| part == **name)).map(|name| format!("`{name}`"))
    }

    /// The file a name stood for when the rules were made, now that the shell may find another.
    fn pinned(&mut self, program: &Program, what: &str) -> Option<String> {
        if program.is_path() || builtins::is_builtin(&program.written) || self.functions.contains(&program.written) {
            return None;
        }
        let file = self.programs.find(&program.written).and_then(|file| file.to_str().map(str::to_owned));
        if file.is_none() {
            self.opaque(what, "the session has its own PATH, in which the name may run something else");
        }
        file
    }

    fn unvetted(&mut self, what: &str, program: &str, reason: &str) {
        let finding = Finding::opaque(what, reason, self.policy.opaque());
        let change =
            format!("a [[policy.rule]] with command = {program:?} and arguments = \"any\" allows it whatever follows");
        self.findings.push(Finding { change: Some(change), ..finding });
    }
}

/// What a piece shows of itself, whatever bash makes of it.
fn written(piece: &Piece) -> &str {
    match piece {
        Piece::Literal(text) | Piece::Glob(text) | Piece::Other { text, .. } => text,
        _ => " ",
    }
}
