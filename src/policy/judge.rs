//! The walk over a parsed text: every command, assignment and redirection gets its finding.

mod invocation;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::arguments::Carried;
use super::shell::ast::{Access, Command, Kind, Pipeline, Redirection, Simple};
use super::shell::{self, Piece, Script, Word};
use super::{Finding, Policy, Programs, Scene, Verdict, variables, write_targets};
use crate::base::lexical;

/// More than this is no command line; refused rather than asked about, so that size cannot wear out a prohibition.
const MOST_COMMANDS: usize = 2_000;
/// Directories a script may be in at once, after `cd` here and there.
const MOST_DIRECTORIES: usize = 8;

pub struct Judge<'a> {
    policy: &'a Policy,
    scene: &'a Scene,
    programs: &'a dyn Programs,
    pub findings: Vec<Finding>,
    functions: HashSet<String>,
    /// Every directory the shell may be in by now, since a `cd` may fail; `None` when it can be anywhere.
    cwds: Option<Vec<PathBuf>>,
    depth: usize,
    looping: bool,
    /// Something evaluates what a variable holds.
    evaluates: Option<String>,
    /// Some literal text looks like a command that only waits to be evaluated.
    holds_code: bool,
}

impl<'a> Judge<'a> {
    pub fn new(policy: &'a Policy, scene: &'a Scene, programs: &'a dyn Programs) -> Self {
        Self {
            policy,
            scene,
            programs,
            findings: Vec::new(),
            functions: HashSet::new(),
            cwds: Some(vec![scene.cwd.clone()]),
            depth: 0,
            looping: false,
            evaluates: None,
            holds_code: false,
        }
    }

    /// What only shows when the whole text has been seen.
    pub fn finish(&mut self) {
        if let (Some(text), true) = (self.evaluates.take(), self.holds_code) {
            self.opaque(&text, "it evaluates a variable, and the text holds a command for one to hold");
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
            Kind::Simple(simple) => self.simple(simple),
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
                // It may be called from anywhere, any number of times.
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
                Piece::Glob(_) | Piece::Tilde(_) | Piece::Parameter { .. } | Piece::Number { .. } => {}
            }
        }
    }

    fn simple(&mut self, simple: &mut Simple) {
        for assignment in &mut simple.assignments {
            self.word(&mut assignment.value);
            self.assignment(&assignment.name, Some(&assignment.value));
        }
        simple.words.iter_mut().for_each(|word| self.word(word));
        if let Some(vetted) = self.invocation(&simple.words, false) {
            for pattern in vetted.patterns {
                // A file called `-x` is then `./-x`, and no option.
                simple.words[pattern + 1].pieces.insert(0, Piece::Literal("./".to_owned()));
            }
            if let Some(file) = vetted.file {
                simple.words[0] = Word::literal(file);
            }
        }
    }

    /// A program that is started without a shell, by its first word alone.
    pub fn words_of_a_program(&mut self, words: &[Word]) {
        self.invocation(words, true);
    }

    fn assignment(&mut self, name: &str, value: Option<&Word>) {
        match (variables::kind(name), value) {
            (variables::Kind::Data, _) => {}
            (variables::Kind::Command, Some(value)) => {
                self.strictly(&format!("{name}=…"), "the variable names a command that some program will run");
                self.carried(&Carried::Text(value.clone()));
            }
            _ => self.strictly(&format!("{name}=…"), "the variable may change what a program does"),
        }
    }

    fn redirection(&mut self, redirection: &mut Redirection) {
        match redirection {
            Redirection::File { access, target, .. } => {
                self.word(target);
                let network = |start: &str| ["/dev/tcp/", "/dev/udp/"].iter().any(|device| start.starts_with(device));
                if *access != Access::Read {
                    self.write(target);
                } else if network(&target.literal_start()) {
                    self.strictly(&shown(target), "bash opens a network connection for it");
                }
            }
            Redirection::Both { target, .. } => {
                self.word(target);
                self.write(target);
            }
            Redirection::Text { word, .. } => self.word(word),
            Redirection::Duplicate { .. } => {}
        }
    }

    /// A file that will be written.
    fn write(&mut self, target: &Word) {
        // Into a process substitution: the commands in it have been judged.
        if matches!(target.pieces.as_slice(), [Piece::Process { .. }]) {
            return;
        }
        let objection = match self.path(target) {
            Some(path) => write_targets::objection(&path, self.cwds.as_deref(), self.scene, self.programs),
            None => Some("its name is only known to bash".to_owned()),
        };
        if let Some(objection) = objection {
            self.strictly(&format!("writes {}", shown(target)), &objection);
        }
    }

    /// A word as a path, if that can be known.
    fn path(&self, word: &Word) -> Option<PathBuf> {
        match word.pieces.split_first() {
            Some((Piece::Tilde(user), rest)) if user.is_empty() => {
                let rest = Word { pieces: rest.to_vec() }.text()?;
                Some(self.scene.home.as_deref()?.join(rest.trim_start_matches('/')))
            }
            _ => word.text().filter(|text| !text.is_empty()).map(PathBuf::from),
        }
    }

    /// `cd` may fail, so the shell may be where it was as well.
    fn move_to(&mut self, arguments: &[Word]) {
        let target = match arguments {
            [] => self.scene.home.clone(),
            [target] => self.path(target).filter(|path| path != Path::new("-")),
            _ => None,
        };
        let (Some(target), false) = (target, self.looping) else {
            self.cwds = None;
            return;
        };
        let Some(cwds) = &mut self.cwds else { return };
        let more: Vec<PathBuf> = cwds.iter().map(|cwd| lexical::normal(&cwd.join(&target))).collect();
        let physical: Vec<PathBuf> = cwds.iter().map(|cwd| self.programs.real(&cwd.join(&target))).collect();
        for cwd in more.into_iter().chain(physical) {
            if !cwds.contains(&cwd) {
                cwds.push(cwd);
            }
        }
        if cwds.len() > MOST_DIRECTORIES {
            self.cwds = None;
        }
    }

    fn opaque(&mut self, what: &str, reason: &str) {
        self.findings.push(Finding::opaque(what, reason, self.policy.opaque()));
    }

    /// Something that only matters where every command has to be allowed by name.
    fn strictly(&mut self, what: &str, reason: &str) {
        if self.policy.is_strict() {
            let verdict = self.policy.unlisted().max(Verdict::Ask);
            self.findings.push(Finding::opaque(what, reason, verdict));
        }
    }
}

/// A word for people: as it would be written out, or with a mark where bash decides.
fn shown(word: &Word) -> String {
    shell::emit::word(word).unwrap_or_else(|_| {
        let parts = word.pieces.iter().map(|piece| match piece {
            Piece::Literal(text) | Piece::Glob(text) | Piece::Other { text, .. } => text.clone(),
            other => shell::emit::word(&Word { pieces: vec![other.clone()] }).unwrap_or_else(|_| "…".to_owned()),
        });
        parts.collect()
    })
}
