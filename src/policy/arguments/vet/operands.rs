//! What a program does with the words that are not options.

use super::super::super::shell::{Piece, Word};
use super::super::usage::Operands;
use super::super::vetted::Carried;
use super::{ArgumentReader, tail};

impl ArgumentReader<'_> {
    /// Called at every operand. True if the command that a wrapper runs begins here; all words from here on belong to it.
    pub(super) fn command_follows(&mut self) -> bool {
        let here = self.at;
        match self.usage.operands {
            Operands::Command(leading) if self.operands.len() > leading => {
                self.vetted.carried.push(Carried::Words(self.arguments[here..].to_vec()));
            }
            Operands::FedCommand => {
                let mut words: Vec<Word> = self.arguments[here..].iter().map(|word| self.filled_in(word, "")).collect();
                let text = "what it reads".to_owned();
                words.push(Word { pieces: vec![Piece::Other { text, inner: Vec::new(), evaluates: false }] });
                self.vetted.carried.push(Carried::Words(words));
            }
            Operands::Environment => {
                let start = self.arguments[here].literal_start();
                if let Some((name, _)) = start.split_once('=').filter(|(name, _)| !name.is_empty()) {
                    let value = tail(&self.arguments[here], name.len() + 1);
                    self.vetted.assignments.push((name.to_owned(), value));
                    return false;
                }
                self.vetted.carried.push(Carried::Words(self.arguments[here..].to_vec()));
            }
            Operands::Rest => {}
            _ => return false,
        }
        true
    }

    pub(super) fn judge_operands(&mut self) {
        let operands: Vec<Word> = self.operands.iter().map(|index| self.arguments[*index].clone()).collect();
        let mut rest = operands.into_iter();
        match self.usage.operands {
            Operands::Write => self.vetted.writes.extend(rest),
            // `cp -t DIRECTORY` has named its target already.
            Operands::WriteLast => {
                let several = rest.len() > 1 && self.vetted.writes.is_empty();
                self.vetted.writes.extend(rest.last().filter(|_| several));
            }
            Operands::WriteFirst => self.vetted.writes.extend(rest.next()),
            Operands::WriteOf => {
                let output = |word: Word| word.literal_start().starts_with("of=").then(|| tail(&word, 3));
                self.vetted.writes.extend(rest.filter_map(output));
            }
            Operands::Script(language) => {
                if !self.scripted
                    && let Some(script) = rest.next()
                {
                    self.script(language, script);
                    self.vetted.patterns.retain(|pattern| Some(pattern) != self.operands.first());
                }
                if self.in_place {
                    self.vetted.writes.extend(rest);
                }
            }
            Operands::Code => {
                if rest.next().is_some() {
                    self.vetted.unvetted("it runs code that cannot be judged");
                }
            }
            Operands::Names => {
                let setting = |word: Word| {
                    let start = word.literal_start();
                    start.contains('=') || start.starts_with(['+', '!']) || start.contains("::")
                };
                if rest.any(setting) {
                    self.vetted.unvetted(format!("an argument lets it {}", self.usage.reason));
                }
            }
            Operands::Addresses => {
                if rest.any(|word| word.literal_start().contains("::")) {
                    self.vetted.unvetted("an address with `::` in it runs a helper program");
                }
            }
            Operands::Refuse => {
                if rest.next().is_some() {
                    self.vetted.unvetted(format!("it can {}", self.usage.reason));
                }
            }
            Operands::Plain
            | Operands::Bundle
            | Operands::Command(_)
            | Operands::FedCommand
            | Operands::Environment
            | Operands::Shell
            | Operands::Rest => {}
        }
    }
}
