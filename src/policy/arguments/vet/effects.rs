//! What an option does with its value.

use super::super::super::shell::{Piece, Word};
use super::super::scripts;
use super::super::usage::{Effect, Language};
use super::super::vetted::Carried;
use super::ArgumentReader;

impl ArgumentReader<'_> {
    /// `glued` is the value if it is part of the option's own word.
    pub(super) fn apply(&mut self, effect: Effect, glued: Option<Word>) {
        match effect {
            Effect::Refuse => return self.unvetted(format!("that option lets it {}", self.usage.reason)),
            Effect::InPlace => {
                self.in_place = true;
                // `sed -i../x/*` moves the old file into another directory.
                if glued.is_some_and(|suffix| suffix.text().is_none_or(|suffix| suffix.contains(['/', '*']))) {
                    self.unvetted("that suffix may move files to another directory");
                }
                return;
            }
            Effect::RunWords => return self.run_words(),
            // Whatever the server has set for the command is gone, and so are the settings that make git safe.
            Effect::UnsetAll => {
                return self.vetted.assignments.push(("GIT_CONFIG_COUNT".to_owned(), Word::literal("")));
            }
            Effect::GluedPlaceholder => {
                self.placeholders.extend(glued.and_then(|value| value.text()));
                return;
            }
            _ => {}
        }
        let value = glued.or_else(|| {
            let value = self.arguments.get(self.at).cloned()?;
            self.read = self.at;
            self.at += 1;
            Some(value)
        });
        match value {
            Some(value) => self.apply_value(effect, value),
            None => self.unvetted("an option lacks its value"),
        }
    }

    fn apply_value(&mut self, effect: Effect, value: Word) {
        match effect {
            Effect::Run => {
                self.scripted = true;
                self.vetted.carried.push(Carried::Text(value));
            }
            Effect::Unset => match value.text() {
                Some(name) => self.vetted.assignments.push((name, Word::literal(""))),
                None => self.unvetted("it removes a variable whose name is known only after bash has expanded it"),
            },
            Effect::RunAction => match value.text() {
                Some(text) => {
                    if let Some(command) = text.strip_prefix("exec=") {
                        self.vetted.carried.push(Carried::Text(Word::literal(command)));
                    }
                }
                None => self.vetted.opaque("it runs a text that is known only after bash has expanded it"),
            },
            Effect::Archive if value.literal_start().contains(':') => {
                self.unvetted("a colon in an archive's name makes it reach another machine");
            }
            Effect::Write | Effect::Archive => self.vetted.writes.push(value),
            Effect::Inside => self.vetted.inside.push(value),
            Effect::Code => {
                self.scripted = true;
                self.unvetted("it runs code that cannot be judged");
                self.vetted.code.push(value);
            }
            Effect::Script(language) => {
                self.scripted = true;
                self.script(language, value);
            }
            Effect::Placeholder => {
                if value.may_split() {
                    self.unvetted("an option's value may become several words; put it in quotes");
                }
                self.placeholders.extend(value.text());
            }
            Effect::Subscript => {
                self.vetted.opaque("bash evaluates a subscript in a variable's name, which may run a command");
            }
            Effect::Module => {
                self.scripted = true;
                // The remaining words are arguments of the module.
                self.at = self.arguments.len();
                self.unvetted("it may load the module from the working directory");
            }
            Effect::Refuse
            | Effect::RefuseValue
            | Effect::InPlace
            | Effect::RunWords
            | Effect::UnsetAll
            | Effect::GluedPlaceholder => {
                self.unvetted(format!("that option lets it {}", self.usage.reason));
            }
        }
    }

    pub(super) fn script(&mut self, language: Language, value: Word) {
        if let Some(files) = value.text().and_then(|text| scripts::written_files(language, &text)) {
            self.vetted.writes.extend(files.into_iter().map(Word::literal));
        } else {
            self.unvetted("its script may run a command or write a file");
            self.vetted.code.push(value);
        }
    }

    /// The words of `find -exec`. `find` replaces `{}` by a path below the directory that it searches.
    fn run_words(&mut self) {
        let rest = &self.arguments[self.at..];
        let ends = |word: &Word| matches!(word.text().as_deref(), Some(";" | "+"));
        let end = rest.iter().position(ends).unwrap_or(rest.len());
        let words = rest[..end].iter().map(|word| self.filled_in(word, "./")).collect();
        self.vetted.carried.push(Carried::Words(words));
        self.at += (end + 1).min(rest.len());
    }

    /// A word as the program uses it. Where it contains a placeholder, its text is unknown. A word that is nothing but a
    /// placeholder begins with `start`.
    pub(super) fn filled_in(&self, word: &Word, start: &str) -> Word {
        let text = word.text().unwrap_or_default();
        if !self.placeholders.iter().any(|placeholder| !placeholder.is_empty() && text.contains(placeholder)) {
            return word.clone();
        }
        let unknown = Piece::Other { text: "what it is given".to_owned(), inner: Vec::new(), evaluates: false };
        let whole = self.placeholders.contains(&text) && !start.is_empty();
        let start = whole.then(|| Piece::Literal(start.to_owned()));
        Word { pieces: start.into_iter().chain([unknown]).collect() }
    }
}
