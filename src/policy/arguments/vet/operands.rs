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
            Operands::Package => {
                self.unvetted("it runs a program of the project, or fetches one");
                self.vetted.carried.push(Carried::Package(self.arguments[here..].to_vec()));
            }
            // `parallel ::: 'ls x'` runs what it is given.
            Operands::FedCommand if self.arguments[here].literal_start().starts_with("::") => {
                self.vetted.runs_input = true;
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
            // The words behind a script are its own arguments.
            Operands::Code => {
                self.unvetted("it runs code that cannot be judged");
                if is_standard_input(&self.arguments[here]) {
                    return true;
                }
            }
            Operands::Rest => {}
            _ => return false,
        }
        self.scripted = true;
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
            Operands::WriteSecond => self.vetted.writes.extend(rest.nth(1)),
            Operands::WriteFirst => self.vetted.writes.extend(rest.next()),
            Operands::WriteOf => {
                let output = |word: Word| word.literal_start().starts_with("of=").then(|| tail(&word, 3));
                self.vetted.writes.extend(rest.filter_map(output));
            }
            Operands::Script(language) => {
                if !self.scripted
                    && let Some(script) = rest.next()
                {
                    self.read = self.operands[0];
                    self.script(language, script);
                    self.vetted.patterns.retain(|pattern| Some(pattern) != self.operands.first());
                }
                if self.in_place {
                    self.vetted.writes.extend(rest);
                }
            }
            Operands::Names => self.refuse_operands("an argument lets it", |start| {
                start.contains('=') || start.starts_with(['+', '!']) || start.contains("::")
            }),
            Operands::Addresses => {
                for index in self.operands.clone() {
                    self.read = index;
                    if self.arguments[index].literal_start().contains("::") {
                        self.unvetted("an address with `::` in it runs a helper program");
                    }
                }
            }
            Operands::Refuse => {
                self.scripted |= rest.next().is_some();
                self.refuse_operands("it can", |_| true);
            }
            Operands::Plain
            | Operands::Bundle
            | Operands::Command(_)
            | Operands::FedCommand
            | Operands::Package
            | Operands::Environment
            | Operands::Shell
            | Operands::Code
            | Operands::Rest => {}
        }
    }
    /// Notes every operand that begins like this. `can` comes before the reason of the entry.
    fn refuse_operands(&mut self, can: &str, refused: impl Fn(&str) -> bool) {
        for index in self.operands.clone() {
            self.read = index;
            if refused(&self.arguments[index].literal_start()) {
                self.unvetted(format!("{can} {}", self.usage.reason));
            }
        }
    }
}

/// Names of the standard input, which interpreters open like a script.
fn is_standard_input(word: &Word) -> bool {
    let names = ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
    word.text().is_some_and(|text| names.contains(&text.as_str()))
}
