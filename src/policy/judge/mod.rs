//! Walks through a parsed text and makes a [`Finding`] for every command, assignment and redirection in it.
//!
//! This file walks. [`invocation`] judges one command, [`by_rules`] compares it with the rules, [`places`] keeps track of
//! directories and judges files that are written.

mod by_rules;
mod invocation;
mod places;

use std::collections::HashSet;
use std::path::PathBuf;

use super::arguments::Carried;
use super::shell::ast::{Command, Kind, Pipeline, Redirection, Simple};
use super::shell::{self, Piece, Script, Word};
use super::variables::{self, ValueUse};
use super::{Finding, Policy, ProgramLookup, Scene, Verdict};
use invocation::StartedBy;

/// No honest command line has more commands than this. Such a text is denied and not asked about, so that its size cannot
/// turn a prohibition into a question.
const MOST_COMMANDS: usize = 2_000;

pub struct Judge<'a> {
    policy: &'a Policy,
    scene: &'a Scene,
    lookup: &'a dyn ProgramLookup,
    pub findings: Vec<Finding>,
    /// The functions that the text defines.
    functions: HashSet<String>,
    /// Every directory that the shell may be in at this point, because a `cd` may fail. `None` if it can be any.
    cwds: Option<Vec<PathBuf>>,
    /// The here-document or here-string that the current command reads, if it has one.
    input: Option<Word>,
    /// How many commands the current one is wrapped in.
    depth: usize,
    /// Whether the current command may run more than once.
    looping: bool,
    /// A part of the text that evaluates the content of a variable.
    evaluates: Option<String>,
    /// Whether some literal text looks like a command. A variable may hold it when it is evaluated.
    holds_code: bool,
}

impl<'a> Judge<'a> {
    pub fn new(policy: &'a Policy, scene: &'a Scene, lookup: &'a dyn ProgramLookup) -> Self {
        Self {
            policy,
            scene,
            lookup,
            findings: Vec::new(),
            functions: HashSet::new(),
            cwds: Some(vec![scene.cwd.clone()]),
            input: None,
            depth: 0,
            looping: false,
            evaluates: None,
            holds_code: false,
        }
    }

    /// Adds the findings that need the whole text. Called once, at the end.
    pub fn finish(&mut self) {
        if let (Some(text), true) = (self.evaluates.take(), self.holds_code) {
            self.opaque(&text, "it evaluates a variable, which may hold a command that is in the text");
        }
    }

    pub fn script(&mut self, script: &mut Script) {
        for statement in &mut script.statements {
            self.pipeline(&mut statement.first);
            for (_, pipeline) in &mut statement.rest {
                self.pipeline(pipeline);
            }
        }
    }

    /// A program that we start without a shell.
    pub fn words_of_a_program(&mut self, words: &[Word]) {
        self.invocation(words, StartedBy::Server);
    }

    fn pipeline(&mut self, pipeline: &mut Pipeline) {
        for command in &mut pipeline.commands {
            self.command(command);
        }
    }

    fn command(&mut self, command: &mut Command) {
        if self.findings.len() >= MOST_COMMANDS {
            self.findings.truncate(MOST_COMMANDS);
            self.findings.push(Finding::opaque("the whole text", "it has too many commands", Verdict::Deny));
            return;
        }
        match &mut command.kind {
            Kind::Simple(simple) => {
                self.input = command.redirections.iter().rev().find_map(Redirection::input_text).cloned();
                self.simple(simple);
                self.input = None;
            }
            Kind::Subshell(body) | Kind::Group(body) => self.script(body),
            Kind::If(arms, otherwise) => {
                for (condition, body) in arms {
                    self.script(condition);
                    self.script(body);
                }
                otherwise.iter_mut().for_each(|body| self.script(body));
            }
            Kind::Loop { condition, body, .. } => self.repeatedly(|judge| {
                judge.script(condition);
                judge.script(body);
            }),
            Kind::For { name, words, body } => {
                words.iter_mut().flatten().for_each(|word| self.word(word));
                self.assignment(name, None);
                self.repeatedly(|judge| judge.script(body));
            }
            Kind::Case { subject, arms } => {
                self.word(subject);
                for arm in arms {
                    arm.patterns.iter_mut().for_each(|pattern| self.word(pattern));
                    self.script(&mut arm.body);
                }
            }
            Kind::Function { name, body } => {
                self.functions.extend(name.text());
                // A function may be called in any directory, any number of times.
                self.repeatedly(|judge| judge.command(body));
            }
            Kind::Coprocess(body) => self.command(body),
            Kind::Evaluation { words, evaluates, body } => {
                words.iter_mut().for_each(|word| self.word(word));
                if *evaluates {
                    self.evaluates.get_or_insert_with(|| "arithmetic".to_owned());
                }
                self.repeatedly(|judge| body.iter_mut().for_each(|body| judge.script(body)));
            }
        }
        command.redirections.iter_mut().for_each(|redirection| self.redirection(redirection));
    }

    fn repeatedly(&mut self, walk: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.looping, true);
        walk(self);
        self.looping = outer;
    }

    /// Looks for commands inside a word.
    fn word(&mut self, word: &mut Word) {
        for piece in &mut word.pieces {
            match piece {
                Piece::Substitution { script, .. } | Piece::Process { script, .. } => self.script(script),
                Piece::Other { text, inner, evaluates } => {
                    if *evaluates {
                        self.evaluates.get_or_insert_with(|| text.clone());
                    }
                    inner.iter_mut().for_each(|word| self.word(word));
                }
                Piece::Literal(text) => self.holds_code |= text.contains("$(") || text.contains('`'),
                Piece::Glob(_)
                | Piece::Tilde(_)
                | Piece::Parameter { .. }
                | Piece::Derived { .. }
                | Piece::Number { .. } => {}
            }
        }
    }

    fn simple(&mut self, simple: &mut Simple) {
        // A command inside a word has an input of its own.
        let input = self.input.take();
        for assignment in &mut simple.assignments {
            self.word(&mut assignment.value);
            self.assignment(&assignment.name, Some(&assignment.value));
        }
        simple.words.iter_mut().for_each(|word| self.word(word));
        self.input = input;
        if let Some(rewrite) = self.invocation(&simple.words, StartedBy::Shell) {
            for pattern in rewrite.patterns {
                // `*` becomes `./*`, so that a file called `-x` becomes `./-x` and not an option.
                simple.words[pattern + 1].pieces.insert(0, Piece::Literal("./".to_owned()));
            }
            if let Some(file) = rewrite.file {
                simple.words[0] = Word::literal(file);
            }
        }
    }

    /// `value` is `None` for the variable of a `for` loop.
    fn assignment(&mut self, name: &str, value: Option<&Word>) {
        match (variables::value_use(name), value) {
            (ValueUse::Data, _) => {}
            (ValueUse::Command, Some(value)) => {
                self.if_strict(&format!("{name}=…"), "the variable names a command that some program will run");
                self.carried(&Carried::Text(value.clone()));
            }
            _ => self.if_strict(&format!("{name}=…"), "the variable may change what a program does"),
        }
    }

    fn opaque(&mut self, what: &str, reason: &str) {
        self.findings.push(Finding::opaque(what, reason, self.policy.on_opaque()));
    }

    /// Adds a finding that only counts where every command has to be allowed by name.
    fn if_strict(&mut self, what: &str, reason: &str) {
        if self.policy.is_strict() {
            let verdict = self.policy.unlisted().max(Verdict::Ask);
            self.findings.push(Finding::opaque(what, reason, verdict));
        }
    }
}

/// A word as people read it: written out again, with `…` for the parts that cannot be.
fn readable(word: &Word) -> String {
    shell::emit::word(word).unwrap_or_else(|_| {
        let parts = word.pieces.iter().map(|piece| match piece {
            Piece::Literal(text) | Piece::Glob(text) | Piece::Other { text, .. } => text.clone(),
            other => shell::emit::word(&Word { pieces: vec![other.clone()] }).unwrap_or_else(|_| "…".to_owned()),
        });
        parts.collect()
    })
}
