//! Reads the arguments of a program by its [`Usage`], as `getopt` would. [`effects`] says what the options do,
//! [`operands`] what the other words do.

mod effects;
mod operands;

use super::super::shell::{Piece, Word};
use super::shells;
use super::usage::{Alone, Effect, Operands, Others, Style, Usage, lists};
use super::vetted::Vetted;

pub fn by(usage: &Usage, arguments: &[Word]) -> Vetted {
    if usage.operands == Operands::Shell {
        return shells::vet(usage, arguments);
    }
    let mut reader = ArgumentReader {
        usage,
        arguments,
        at: 0,
        read: 0,
        operands: Vec::new(),
        scripted: false,
        informed: false,
        in_place: false,
        placeholders: vec!["{}".to_owned()],
        vetted: Vetted::default(),
    };
    reader.read();
    if usage.alone == Alone::RunsInput && !reader.scripted && !reader.informed {
        reader.vetted.runs_input = true;
    }
    reader.vetted
}

struct ArgumentReader<'a> {
    usage: &'a Usage,
    arguments: &'a [Word],
    /// The index of the next argument.
    at: usize,
    /// The index of the last argument that was read: an option, its value, or an operand.
    read: usize,
    /// The indices of the arguments that are not options.
    operands: Vec<usize>,
    /// Whether the arguments say what to run: a script, code, a command.
    scripted: bool,
    /// Whether an option makes the program only say something about itself.
    informed: bool,
    /// Whether an option makes the program write its operands.
    in_place: bool,
    /// Texts that the program replaces by what it finds or reads: `{}`, and the value of `xargs -I`.
    placeholders: Vec<String>,
    vetted: Vetted,
}

impl ArgumentReader<'_> {
    fn read(&mut self) {
        if self.usage.operands == Operands::Bundle {
            self.bundle();
        }
        let mut options = true;
        while let Some(word) = self.arguments.get(self.at) {
            let start = word.literal_start();
            self.read = self.at;
            if options && word.text().as_deref() == Some("--") {
                options = false;
                self.at += 1;
            } else if options && start.len() > 1 && start.starts_with('-') {
                self.option(&start);
            } else {
                if options && may_begin_with_dash(word) {
                    self.maybe_option();
                }
                self.operands.push(self.at);
                if self.command_follows() {
                    return;
                }
                self.at += 1;
            }
        }
        self.judge_operands();
    }

    /// A word that may become an option when bash expands it.
    fn maybe_option(&mut self) {
        let word = &self.arguments[self.at];
        if matches!(word.pieces.first(), Some(Piece::Glob(_))) {
            self.vetted.patterns.push(self.at);
        } else {
            self.completed_by_bash();
        }
    }

    /// The word may become an option that runs the words behind it, so those are searched for restricted programs.
    fn completed_by_bash(&mut self) {
        self.unvetted("bash expands an argument, which may become an option");
        self.vetted.code.extend_from_slice(&self.arguments[self.at..]);
    }

    fn option(&mut self, start: &str) {
        let written = start.split('=').next().unwrap_or(start);
        let one_dash = |name: &str| name.strip_prefix('-').filter(|name| name.starts_with('-')).map(str::to_owned);
        let words = self.usage.style == Style::Words;
        let name = one_dash(written).filter(|_| words).unwrap_or_else(|| written.to_owned());
        let long = start.starts_with("--") || words;
        self.informed |= lists(self.usage.informs, &name);
        if self.arguments[self.at].pieces.len() > 1 && !start.contains('=') {
            // Bash appends something to the option's name.
            if !long {
                return self.letters(start);
            }
            self.completed_by_bash();
            self.at += 1;
            return;
        }
        // An option of one dash and several letters, such as `-name`, comes before single letters written together.
        if let Some(effect) = self.effect(&name, long) {
            let glued = (written.len() < start.len()).then(|| tail(&self.arguments[self.at], written.len() + 1));
            self.at += 1;
            return self.apply(effect, glued);
        }
        if lists(self.usage.values, &name) {
            self.skip_value(written.len() < start.len());
        } else if lists(self.usage.flags, &name) || lists(self.usage.informs, &name) {
            self.at += 1;
        } else if long {
            self.unlisted(&name);
            self.at += 1;
        } else {
            self.letters(start);
        }
    }

    /// Goes past an option and its value.
    fn skip_value(&mut self, glued: bool) {
        self.at += 1;
        if !glued {
            let value = self.arguments.get(self.at);
            self.read = self.at;
            if value.is_some_and(Word::may_split) {
                self.unvetted("an option's value may become several words; put it in quotes");
            }
            // If the program takes no value here, this word is a dangerous option. It is read as one.
            if value.is_some_and(|word| self.effect(&word.literal_start(), false).is_some()) {
                return self.unvetted("there is an option where a value is expected");
            }
            self.at += 1;
        }
    }

    /// The first word of old commands such as `tar czf FILE`. Each letter takes its value from the words that follow.
    fn bundle(&mut self) {
        let Some(letters) = self.arguments.first().and_then(Word::text).filter(|text| !text.starts_with('-')) else {
            return;
        };
        self.at = 1;
        for letter in letters.chars() {
            let name = format!("-{letter}");
            if let Some(effect) = self.effect(&name, false) {
                self.apply(effect, None);
            } else if lists(self.usage.values, &name) {
                self.at -= 1;
                self.skip_value(false);
            } else if !lists(self.usage.flags, &name) {
                self.unlisted(&name);
            }
        }
    }

    /// Single letters written together: `-la`, `-n5`, `-ofile`.
    fn letters(&mut self, start: &str) {
        if start[1..].bytes().all(|byte| byte.is_ascii_digit()) && lists(self.usage.flags, "-#") {
            self.at += 1;
            return;
        }
        let word = &self.arguments[self.at];
        for (offset, letter) in start.char_indices().skip(1) {
            let name = format!("-{letter}");
            let behind = offset + letter.len_utf8();
            let rest = (behind < start.len() || word.pieces.len() > 1).then(|| tail(word, behind));
            self.informed |= lists(self.usage.informs, &name);
            if let Some((listed, effect)) = self.several_letters(&start[offset..]) {
                let value = offset + listed;
                let rest = (value < start.len() || word.pieces.len() > 1).then(|| tail(word, value));
                self.at += 1;
                return self.apply(effect, rest);
            }
            if let Some(effect) = self.effect(&name, false) {
                if effect == Effect::Refuse {
                    self.apply(effect, None);
                    continue;
                }
                self.at += 1;
                return self.apply(effect, rest);
            } else if lists(self.usage.values, &name) {
                return self.skip_value(rest.is_some());
            } else if offset > 1 && start[offset..].bytes().all(|byte| byte.is_ascii_digit()) {
                // `-j4`: a number runs nothing.
                break;
            } else if !lists(self.usage.flags, &name) && !lists(self.usage.informs, &name) {
                self.unlisted(&name);
            }
        }
        if word.pieces.len() > 1 {
            self.completed_by_bash();
        }
        self.at += 1;
    }

    /// The effect of an option. Programs accept the first letters of a long option for the whole.
    fn effect(&self, name: &str, long: bool) -> Option<Effect> {
        let effects = self.usage.effects.iter();
        let exact = effects.clone().find(|(listed, _)| *listed == name);
        let known = lists(self.usage.flags, name) || lists(self.usage.values, name) || lists(self.usage.informs, name);
        let short = || effects.clone().find(|(listed, _)| long && !known && name.len() > 2 && listed.starts_with(name));
        exact.or_else(short).map(|(_, effect)| *effect)
    }

    /// An option of one dash and several letters that the text begins with, and its length: `TT` in `zip -rTTprogram`.
    fn several_letters(&self, text: &str) -> Option<(usize, Effect)> {
        let mut listed =
            self.usage.effects.iter().filter_map(|(name, effect)| Some((name.strip_prefix('-')?, *effect)));
        let (name, effect) =
            listed.find(|(name, _)| name.len() > 1 && !name.starts_with('-') && text.starts_with(name))?;
        Some((name.len(), effect))
    }

    /// Notes a reason that is about the arguments up to the last one that was read.
    fn unvetted(&mut self, why: impl Into<String>) {
        self.vetted.unvetted(self.read, why);
    }

    fn unlisted(&mut self, name: &str) {
        if self.usage.others == Others::Unvetted {
            self.unvetted(format!("its option {name} is not among the vetted ones"));
        }
    }
}

/// A word without the first bytes of its literal start.
pub fn tail(word: &Word, bytes: usize) -> Word {
    let mut pieces = word.pieces.clone();
    if let Some(Piece::Literal(first)) = pieces.first_mut() {
        *first = first.get(bytes..).unwrap_or_default().to_owned();
    }
    Word { pieces }
}

/// Whether the word may begin with a dash once bash has expanded it. The variables named here hold absolute paths.
fn may_begin_with_dash(word: &Word) -> bool {
    match word.pieces.first() {
        Some(Piece::Literal(text)) => (text.is_empty() || text == "-") && word.pieces.len() > 1,
        Some(Piece::Tilde(_)) | None => false,
        Some(Piece::Parameter { name, .. }) => !lists("HOME PWD OLDPWD TMPDIR", name),
        Some(_) => true,
    }
}
