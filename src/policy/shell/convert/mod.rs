//! Turns the parser's tree into ours. A kind of node that is not handled here makes the text [`Opaque`].
//!
//! This file has statements and pipelines, [`compound`], [`simple`] and [`redirections`] the rest.

mod compound;
mod redirections;
mod simple;

use brush_parser::ast as brush;
use brush_parser::{Parser, ParserOptions};

use super::ast::{Command, Kind, Link, Pipeline, Script, Statement, Word};
use super::{Opaque, braces, word};

/// The most substitutions inside one another.
const DEEPEST: usize = 8;

/// Parses a text. It runs on the worker's thread, whose stack is large enough for the parser's recursion.
pub fn script(text: &str, depth: usize) -> Result<Script, Opaque> {
    if depth > DEEPEST {
        return Err(Opaque::hostile("substitutions are nested too deeply"));
    }
    let options = ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() };
    let program = Parser::new(text.as_bytes(), &options)
        .parse_program()
        .map_err(|error| Opaque::broken(format!("it does not parse as bash: {error}")))?;
    let converter = Converter { text, depth };
    let mut statements = Vec::new();
    for list in &program.complete_commands {
        statements.extend(converter.script(list)?.statements);
    }
    Ok(Script { statements })
}

struct Converter<'a> {
    text: &'a str,
    depth: usize,
}

impl Converter<'_> {
    fn script(&self, list: &brush::CompoundList) -> Result<Script, Opaque> {
        let statements = list.0.iter().map(|item| self.statement(item)).collect::<Result<_, _>>()?;
        Ok(Script { statements })
    }

    fn statement(&self, item: &brush::CompoundListItem) -> Result<Statement, Opaque> {
        let brush::CompoundListItem(list, separator) = item;
        let rest = list.additional.iter().map(|next| match next {
            brush::AndOr::And(pipeline) => Ok((Link::And, self.pipeline(pipeline)?)),
            brush::AndOr::Or(pipeline) => Ok((Link::Or, self.pipeline(pipeline)?)),
        });
        Ok(Statement {
            first: self.pipeline(&list.first)?,
            rest: rest.collect::<Result<_, Opaque>>()?,
            background: matches!(separator, brush::SeparatorOperator::Async),
        })
    }

    fn pipeline(&self, pipeline: &brush::Pipeline) -> Result<Pipeline, Opaque> {
        Ok(Pipeline {
            negated: pipeline.bang,
            timed: pipeline.timed.is_some(),
            commands: pipeline.seq.iter().map(|command| self.command(command)).collect::<Result<_, _>>()?,
        })
    }

    fn command(&self, command: &brush::Command) -> Result<Command, Opaque> {
        let (kind, redirections) = match command {
            brush::Command::Simple(simple) => return self.simple(simple),
            brush::Command::Compound(compound, redirections) => (self.compound(compound)?, redirections.as_ref()),
            brush::Command::Function(function) => {
                let brush::FunctionBody(body, redirections) = &function.body;
                let redirections = self.redirections(redirections.as_ref())?;
                let body = Box::new(Command { kind: self.compound(body)?, redirections });
                (Kind::Function { name: self.word(&function.fname)?, body }, None)
            }
            brush::Command::ExtendedTest(test, redirections) => (self.test(&test.expr)?, redirections.as_ref()),
        };
        Ok(Command { kind, redirections: self.redirections(redirections)? })
    }

    fn words(&self, words: &[brush::Word]) -> Result<Vec<Word>, Opaque> {
        let words = words.iter().map(|word| self.expanded(&word.value)).collect::<Result<Vec<_>, _>>()?;
        Ok(words.into_iter().flatten().collect())
    }

    /// The words that one argument becomes when its brace expressions are expanded.
    fn expanded(&self, raw: &str) -> Result<Vec<Word>, Opaque> {
        let raws = braces::expand(raw).ok_or_else(|| Opaque::new("a brace expression is too large or unusual"))?;
        // An empty part without quotes, as in `{a,}`, does not become a word.
        let kept = raws.iter().filter(|part| !part.is_empty() || raws.len() == 1);
        kept.map(|part| word::parse(part, self.depth)).collect()
    }

    fn word(&self, word: &brush::Word) -> Result<Word, Opaque> {
        word::parse(&word.value, self.depth)
    }
}
