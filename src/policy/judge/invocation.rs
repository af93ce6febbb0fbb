//! One command: the verdict on it by the rules, and on everything that its arguments make it do.

use super::super::arguments::{self, Carried, Vetted};
use super::super::program::Program;
use super::super::shell::{self, Piece, Word};
use super::super::{Finding, Verdict, builtins};
use super::{Judge, readable};

/// The most wrappers around a command, and texts inside texts.
const DEEPEST: usize = 12;
const TOO_DEEP: &str = "commands are wrapped too deeply";

/// Who starts a command.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StartedBy {
    Shell,
    /// The server itself, without a shell. Then there are no builtins, and the arguments are not vetted.
    Server,
}

/// What has to be changed in a command so that bash runs exactly what was judged.
pub struct Rewrite {
    /// The indices of arguments that need `./` in front.
    pub patterns: Vec<usize>,
    /// The file to run instead of the program's name.
    pub file: Option<String>,
}

impl Judge<'_> {
    /// Judges a command by its words. The caller has to apply the rewrite.
    pub(super) fn invocation(&mut self, words: &[Word], started_by: StartedBy) -> Option<Rewrite> {
        let (first, arguments) = words.split_first()?;
        let what = words.iter().map(readable).collect::<Vec<_>>().join(" ");
        let Some(name) = first.text() else {
            self.opaque(&what, "the program's name is known only after bash has expanded it");
            return None;
        };
        if self.depth > DEEPEST {
            self.findings.push(Finding::opaque(&what, TOO_DEEP, Verdict::Deny));
            return None;
        }
        let program = Program::new(&name, self.cwds.as_deref(), self.lookup);
        if let Some(objection) = self.disguise(&program) {
            self.opaque(&what, &objection);
            return None;
        }
        let in_shell = started_by == StartedBy::Shell;
        let known_as = program.known_as().to_owned();
        let builtin = builtins::vet(&known_as, arguments).filter(|_| in_shell && !program.is_path());
        let vetted = match (builtin, arguments::vet(&known_as, arguments)) {
            (Some(builtin), Some(table)) => builtin.and(table),
            (Some(vetted), None) | (None, Some(vetted)) => vetted,
            (None, None) => Vetted::default(),
        };
        if known_as == "cd" || known_as == "pushd" || known_as == "popd" {
            self.move_to(arguments);
        }
        let ruled = self.by_rules(&program, arguments, what);
        let allowed = ruled.finding.verdict == Verdict::Allow;
        let what = ruled.finding.what.clone();
        self.findings.push(ruled.finding);

        let vetting = self.policy.is_strict() && allowed && !ruled.trusts_arguments && in_shell;
        if let Some(reason) = vetted.unvetted.as_ref().filter(|_| vetting) {
            self.unvetted(&what, program.name(), reason);
        }
        if !ruled.trusts_arguments && in_shell {
            self.carry(&what, &vetted, vetting);
        }
        let file = (self.policy.is_strict() && !self.scene.usual_path).then(|| self.pinned(&program, &what)).flatten();
        if self.depth > 0 {
            // A command inside another one is part of a larger word, which is not rewritten.
            if file.is_some() {
                self.opaque(
                    &what,
                    "the session has changed its PATH, so the name may run another program; write its path",
                );
            }
            if vetting && !vetted.patterns.is_empty() {
                self.opaque(
                    &what,
                    "an argument that begins with a pattern may become an option; write ./ in front of it",
                );
            }
        }
        let patterns = if vetting { vetted.patterns } else { Vec::new() };
        (self.depth == 0).then_some(Rewrite { patterns, file })
    }

    /// Judges everything that a command's arguments make it do. Files and directories only count with `vetting`.
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
            vetted.inside.iter().for_each(|directory| self.work_inside(what, directory));
        }
        for code in &vetted.code {
            let text: String = code.pieces.iter().map(written).collect();
            if let Some(program) = self.mentioned(&text) {
                let reason = format!("its code mentions `{program}`, which a rule restricts");
                self.opaque(what, &reason);
            }
        }
    }

    /// Judges a command inside another one.
    pub(super) fn carried(&mut self, carried: &Carried) {
        self.depth += 1;
        match carried {
            Carried::Words(words) => drop(self.invocation(words, StartedBy::Shell)),
            Carried::Text(word) => match word.text() {
                None => {
                    self.opaque(&readable(word), "a shell runs a text that is known only after bash has expanded it");
                }
                Some(_) if self.depth > DEEPEST => {
                    self.findings.push(Finding::opaque(&readable(word), TOO_DEEP, Verdict::Deny));
                }
                Some(text) => match shell::parse(&text) {
                    Ok(mut script) => self.script(&mut script),
                    Err(opaque) => self.opaque(&text, &opaque.reason),
                },
            },
        }
        self.depth -= 1;
    }

    /// The file that the program's name means by the server's `PATH`. The session has a `PATH` of its own, by which bash
    /// might run another file.
    fn pinned(&mut self, program: &Program, what: &str) -> Option<String> {
        if program.is_path() || builtins::is_builtin(&program.written) || self.functions.contains(&program.written) {
            return None;
        }
        let file = self.lookup.find(&program.written).and_then(|file| file.to_str().map(str::to_owned));
        if file.is_none() {
            self.opaque(what, "the session has changed its PATH, so the name may run another program");
        }
        file
    }

    fn unvetted(&mut self, what: &str, program: &str, reason: &str) {
        let finding = Finding::opaque(what, reason, self.policy.on_opaque());
        let change =
            format!("a [[policy.rule]] with command = {program:?} and arguments = \"any\" allows all arguments");
        self.findings.push(Finding { change: Some(change), ..finding });
    }
}

/// The text of a piece as it is in the source, before bash expands it.
fn written(piece: &Piece) -> &str {
    match piece {
        Piece::Literal(text) | Piece::Glob(text) | Piece::Other { text, .. } => text,
        _ => " ",
    }
}
