//! Simple commands: assignments, a program and its arguments.

use brush_parser::ast as brush;

use super::super::ast::{Assignment, Command, Kind, Piece, Redirection, Simple, Word};
use super::super::{Opaque, word};
use super::Converter;

impl Converter<'_> {
    pub(super) fn simple(&self, simple: &brush::SimpleCommand) -> Result<Command, Opaque> {
        let (mut result, mut redirections) = (Simple::default(), Vec::new());
        for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
            match item {
                brush::CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) => {
                    result.assignments.push(self.assignment(assignment)?);
                }
                item => self.item(item, &mut result, &mut redirections)?,
            }
        }
        if let Some(name) = &simple.word_or_name {
            result.words.extend(self.expanded(&name.value)?);
        }
        for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.item(item, &mut result, &mut redirections)?;
        }
        Ok(Command { kind: Kind::Simple(result), redirections })
    }

    fn item(
        &self,
        item: &brush::CommandPrefixOrSuffixItem,
        simple: &mut Simple,
        redirections: &mut Vec<Redirection>,
    ) -> Result<(), Opaque> {
        match item {
            brush::CommandPrefixOrSuffixItem::IoRedirect(redirection) => {
                redirections.push(self.redirection(redirection)?);
            }
            brush::CommandPrefixOrSuffixItem::Word(word) => simple.words.extend(self.expanded(&word.value)?),
            brush::CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => match &assignment.value {
                brush::AssignmentValue::Scalar(_) => simple.words.extend(self.expanded(&word.value)?),
                brush::AssignmentValue::Array(_) => simple.words.push(self.assignment(assignment)?.value),
            },
            brush::CommandPrefixOrSuffixItem::ProcessSubstitution(kind, subshell) => {
                simple.words.push(self.process(kind, subshell)?);
            }
        }
        Ok(())
    }

    pub(super) fn process(
        &self,
        kind: &brush::ProcessSubstitutionKind,
        subshell: &brush::SubshellCommand,
    ) -> Result<Word, Opaque> {
        let output = matches!(kind, brush::ProcessSubstitutionKind::Write);
        Ok(Word { pieces: vec![Piece::Process { script: self.script(&subshell.list)?, output }] })
    }

    fn assignment(&self, assignment: &brush::Assignment) -> Result<Assignment, Opaque> {
        let mut evaluated = Vec::new();
        let name = match &assignment.name {
            brush::AssignmentName::VariableName(name) => name.clone(),
            brush::AssignmentName::ArrayElementName(name, index) => {
                evaluated.push(word::parse_quoted(index, self.depth)?);
                name.clone()
            }
        };
        let value = match &assignment.value {
            brush::AssignmentValue::Scalar(value) if evaluated.is_empty() => self.word(value)?,
            value => {
                let (evaluates, text) = (!evaluated.is_empty(), assignment.to_string());
                match value {
                    brush::AssignmentValue::Scalar(value) => evaluated.push(self.word(value)?),
                    brush::AssignmentValue::Array(elements) => {
                        for (key, value) in elements {
                            evaluated.extend(key.as_ref().map(|key| self.word(key)).transpose()?);
                            evaluated.push(self.word(value)?);
                        }
                    }
                }
                Word { pieces: vec![Piece::Other { text, inner: evaluated, evaluates }] }
            }
        };
        Ok(Assignment { name, append: assignment.append, value })
    }
}
