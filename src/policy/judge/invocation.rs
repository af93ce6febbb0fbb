//! One command: the verdict on it by the rules, and on everything that its arguments make it do.

use std::path::PathBuf;

use super::super::arguments::{self, Carried, Vetted};
use super::super::program::Program;
use super::super::shell::{self, Piece, Word};
use super::super::{Finding, Verdict, builtins};
use super::by_rules::CommandFacts;
use super::{Judge, readable};
use crate::base::invisible::is_control;

/// The most wrappers around a command, and texts inside texts.
const DEEPEST: usize = 12;
const TOO_DEEP: &str = "commands are wrapped too deeply";
const ANOTHER_PROGRAM: &str = "the PATH has a directory that commands can write, or the session has changed it, so the name may run \
                               another program";

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
        let is_builtin = builtin.is_some();
        let table = arguments::vet(&known_as, arguments);
        let vetted = builtin.unwrap_or_default().and(table);
        if known_as == "cd" || known_as == "pushd" || known_as == "popd" {
            self.move_to(arguments);
        }
        let harmless = is_builtin && builtins::is_harmless(&known_as);
        let permit = narrowest(words);
        let ruled =
            self.by_rules(&program, arguments, &CommandFacts { what: &what, permit: permit.as_deref(), harmless });
        let allowed = ruled.finding.verdict == Verdict::Allow;
        self.findings.push(ruled.finding);

        let vetting = self.policy.is_strict() && allowed && !ruled.trusts_arguments && in_shell;
        if let Some(unvetted) = vetted.unvetted.iter().find(|unvetted| vetting && unvetted.at >= ruled.covers) {
            let finding = Finding::opaque(&what, &unvetted.why, self.policy.on_opaque());
            let change = permit.as_ref().map(|words| format!("start with --allow '{words}'"));
            self.findings.push(Finding { change: change.or(finding.change), permit, ..finding });
        }
        if !ruled.trusts_arguments && in_shell {
            self.carry(&what, &vetted, vetting);
        }
        let runs_file = !is_builtin && !self.functions.contains(&program.written);
        if vetting && runs_file && !ruled.means_a_file && self.is_replaceable(&program) {
            self.opaque(
                &what,
                "the program is in a directory that commands can write, so it may be another one by now",
            );
        }
        let file = if runs_file && self.policy.is_strict() { self.pinned(&program, &what) } else { None };
        if self.depth > 0 {
            // A command inside another one is part of a larger word, which is not rewritten.
            if file.is_some() {
                self.opaque(&what, &format!("{ANOTHER_PROGRAM}; write its path"));
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
        if vetted.runs_input {
            match self.input.clone() {
                Some(text) if !self.policy.is_strict() => self.code(what, &text),
                _ => self.opaque(what, "it runs the program that it reads from its input"),
            }
        }
        for (name, value) in &vetted.assignments {
            self.assignment(name, Some(value));
        }
        vetted.carried.iter().for_each(|carried| self.carried(carried));
        if vetting {
            vetted.writes.iter().for_each(|target| self.write(target));
            vetted.inside.iter().for_each(|directory| self.work_inside(what, directory));
        }
        vetted.code.iter().for_each(|code| self.code(what, code));
    }

    /// Code in another language. We only look for the names of restricted programs in it.
    fn code(&mut self, what: &str, code: &Word) {
        let text: String = code.pieces.iter().map(written).collect();
        if let Some(program) = self.mentioned(&text) {
            let reason = format!("its code mentions `{program}`, which a rule restricts");
            self.opaque(what, &reason);
        }
    }

    /// Judges a command inside another one.
    pub(super) fn carried(&mut self, carried: &Carried) {
        self.depth += 1;
        match carried {
            Carried::Words(words) => drop(self.invocation(words, StartedBy::Shell)),
            Carried::Package(words) => {
                let before = self.findings.len();
                drop(self.invocation(words, StartedBy::Shell));
                let restricting = |finding: &Finding| finding.rule.is_some() && finding.verdict > Verdict::Allow;
                let found = self.findings.split_off(before);
                self.findings.extend(found.into_iter().filter(restricting));
            }
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

    /// Whether commands can have replaced the file that would run.
    fn is_replaceable(&self, program: &Program) -> bool {
        let named = self.lookup.find(&program.written).filter(|_| !program.is_path());
        let inside = |file: &PathBuf| self.scene.replaceable.iter().any(|directory| file.starts_with(directory));
        let layer = self.scene.overlaid.as_ref();
        let in_layer = |file: &PathBuf| layer.is_some_and(|layer| self.lookup.is_in_layer(file, layer));
        named.iter().chain(&program.files).any(|file| inside(file) || in_layer(file))
    }

    /// The file that the program's name means by the server's `PATH`, if bash might find another one: because the session
    /// has a `PATH` of its own, or because commands can write a directory that comes first.
    fn pinned(&mut self, program: &Program, what: &str) -> Option<String> {
        let certain = self.scene.usual_path && !self.lookup.can_be_shadowed(&program.written, self.scene);
        if program.is_path() || certain {
            return None;
        }
        let file = self.lookup.find(&program.written).and_then(|file| file.to_str().map(str::to_owned));
        if file.is_none() {
            self.opaque(what, ANOTHER_PROGRAM);
        }
        file
    }
}

/// The words of the narrowest rule that names this command: all of them, up to the first that bash expands.
fn narrowest(words: &[Word]) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_./:=@%+,-".contains(&byte);
    let written = |text: String| match text.as_str() {
        text if !text.is_empty() && text.bytes().all(plain) => Some(text.to_owned()),
        text if text.contains(['\'', '"', '\\']) || text.contains(is_control) || text.contains('\n') => None,
        text => Some(format!("\"{text}\"")),
    };
    let known: Option<Vec<String>> = words.iter().map_while(Word::text).map(written).collect();
    known.filter(|known| !known.is_empty()).map(|known| known.join(" "))
}

/// The text of a piece as it is in the source, before bash expands it.
fn written(piece: &Piece) -> &str {
    match piece {
        Piece::Literal(text) | Piece::Glob(text) | Piece::Other { text, .. } => text,
        _ => " ",
    }
}
