//! Reads a program's arguments by its entry, as `getopt` would.

use super::super::shell::{Piece, Word};
use super::entry::{Carried, Effect, Entry, Operands, Others, Vetted, lists};
use super::{scripts, shells};

pub fn by(entry: &Entry, arguments: &[Word]) -> Vetted {
    if entry.operands == Operands::Shell {
        return shells::vet(entry, arguments);
    }
    let mut reader = Reader {
        entry,
        arguments,
        at: 0,
        operands: Vec::new(),
        scripted: false,
        in_place: false,
        replaced: vec!["{}".to_owned()],
        vetted: Vetted::default(),
    };
    reader.read();
    reader.vetted
}

struct Reader<'a> {
    entry: &'a Entry,
    arguments: &'a [Word],
    at: usize,
    operands: Vec<usize>,
    /// Whether an option has given the script, so that the first operand is none.
    scripted: bool,
    in_place: bool,
    /// What `xargs -I` replaces.
    replaced: Vec<String>,
    vetted: Vetted,
}

impl Reader<'_> {
    fn read(&mut self) {
        if self.entry.operands == Operands::Bundle {
            self.bundle();
        }
        let mut options = true;
        while let Some(word) = self.arguments.get(self.at) {
            let start = word.literal_start();
            if options && word.text().as_deref() == Some("--") {
                options = false;
                self.at += 1;
            } else if options && start.len() > 1 && start.starts_with('-') {
                self.option(&start);
            } else {
                if options && is_unclear(word) {
                    self.unclear();
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

    /// A word that may turn out to be an option.
    fn unclear(&mut self) {
        let word = &self.arguments[self.at];
        if matches!(word.pieces.first(), Some(Piece::Glob(_))) {
            self.vetted.patterns.push(self.at);
        } else {
            self.completed_by_bash();
        }
    }

    /// Should it become an option that runs the words behind it, their names count.
    fn completed_by_bash(&mut self) {
        self.vetted.unvetted("an argument that only bash can expand may become an option");
        self.vetted.code.extend_from_slice(&self.arguments[self.at..]);
    }

    fn option(&mut self, start: &str) {
        let name = start.split('=').next().unwrap_or(start).to_owned();
        let long = start.starts_with("--");
        if self.arguments[self.at].pieces.len() > 1 && !start.contains('=') {
            // What stands there is not the option's whole name.
            if !long {
                return self.letters(start);
            }
            self.completed_by_bash();
            self.at += 1;
            return;
        }
        // A whole word such as `-name` first, then letters that stand together.
        if let Some(effect) = self.effect(&name, long) {
            let glued = (name.len() < start.len()).then(|| tail(&self.arguments[self.at], name.len() + 1));
            self.at += 1;
            return self.apply(effect, glued);
        }
        if lists(self.entry.values, &name) {
            self.pass_value(name.len() < start.len());
        } else if lists(self.entry.flags, &name) {
            self.at += 1;
        } else if long {
            self.other(&name);
            self.at += 1;
        } else {
            self.letters(start);
        }
    }

    /// Past an option and the value it takes.
    fn pass_value(&mut self, glued: bool) {
        self.at += 1;
        if !glued {
            let value = self.arguments.get(self.at);
            if value.is_some_and(Word::may_split) {
                self.vetted.unvetted("an option's value may become several words; put it in quotes");
            }
            // Should the program see it otherwise, this is the option that hurts: it is looked at as one.
            if value.is_some_and(|word| self.effect(&word.literal_start(), false).is_some()) {
                return self.vetted.unvetted("an option stands where a value belongs");
            }
            self.at += 1;
        }
    }

    /// The letters in front of old commands such as `tar czf FILE`: each takes its value from the words that follow.
    fn bundle(&mut self) {
        let Some(letters) = self.arguments.first().and_then(Word::text).filter(|text| !text.starts_with('-')) else {
            return;
        };
        self.at = 1;
        for letter in letters.chars() {
            let name = format!("-{letter}");
            if let Some(effect) = self.effect(&name, false) {
                self.apply(effect, None);
            } else if lists(self.entry.values, &name) {
                self.at -= 1;
                self.pass_value(false);
            } else if !lists(self.entry.flags, &name) {
                self.other(&name);
            }
        }
    }

    /// `-la`, `-n5`, `-ofile`.
    fn letters(&mut self, start: &str) {
        if start[1..].bytes().all(|byte| byte.is_ascii_digit()) && lists(self.entry.flags, "-#") {
            self.at += 1;
            return;
        }
        let word = &self.arguments[self.at];
        for (offset, letter) in start.char_indices().skip(1) {
            let name = format!("-{letter}");
            let behind = offset + letter.len_utf8();
            let rest = (behind < start.len() || word.pieces.len() > 1).then(|| tail(word, behind));
            if let Some(effect) = self.effect(&name, false) {
                if effect == Effect::Refuse {
                    self.apply(effect, None);
                    continue;
                }
                self.at += 1;
                return self.apply(effect, rest);
            } else if lists(self.entry.values, &name) {
                if name == "-I" {
                    let value = rest.as_ref().or(self.arguments.get(self.at + 1)).and_then(Word::text);
                    self.replaced.extend(value);
                }
                return self.pass_value(rest.is_some());
            } else if offset > 1 && start[offset..].bytes().all(|byte| byte.is_ascii_digit()) {
                // `-j4`: a number runs nothing.
                break;
            } else if !lists(self.entry.flags, &name) {
                self.other(&name);
            }
        }
        if word.pieces.len() > 1 {
            self.completed_by_bash();
        }
        self.at += 1;
    }

    /// The effect of an option; programs accept a long one cut short.
    fn effect(&self, name: &str, long: bool) -> Option<Effect> {
        let effects = self.entry.effects.iter();
        let exact = effects.clone().find(|(listed, _)| *listed == name);
        let known = lists(self.entry.flags, name) || lists(self.entry.values, name);
        let short = || effects.clone().find(|(listed, _)| long && !known && name.len() > 3 && listed.starts_with(name));
        exact.or_else(short).map(|(_, effect)| *effect)
    }

    fn other(&mut self, name: &str) {
        if self.entry.others == Others::Unvetted {
            self.vetted.unvetted(format!("its option {name} is not among the vetted ones"));
        }
    }

    fn apply(&mut self, effect: Effect, glued: Option<Word>) {
        match effect {
            Effect::Refuse => return self.vetted.unvetted(format!("that option lets it {}", self.entry.reason)),
            Effect::InPlace => {
                self.in_place = true;
                return;
            }
            Effect::RunWords => return self.run_words(),
            _ => {}
        }
        let Some(value) = glued.or_else(|| self.arguments.get(self.at).cloned().inspect(|_| self.at += 1)) else {
            return self.vetted.unvetted("an option lacks its value");
        };
        self.apply_value(effect, value);
    }

    fn apply_value(&mut self, effect: Effect, value: Word) {
        match effect {
            Effect::Run => self.vetted.carried.push(Carried::Text(value)),
            Effect::RunAction => match value.text() {
                Some(text) => {
                    if let Some(command) = text.strip_prefix("exec=") {
                        self.vetted.carried.push(Carried::Text(Word::literal(command)));
                    }
                }
                None => self.vetted.opaque("it runs what only bash can expand"),
            },
            Effect::Archive if value.literal_start().contains(':') => {
                self.vetted.unvetted("a colon in an archive's name makes it reach another machine");
            }
            Effect::Write | Effect::Archive => self.vetted.writes.push(value),
            Effect::Inside => self.vetted.inside.push(value),
            Effect::Code => {
                self.vetted.unvetted("it runs code that cannot be judged");
                self.vetted.code.push(value);
            }
            Effect::Script(language) => {
                self.scripted = true;
                self.script(language, value);
            }
            Effect::Subscript => {
                self.vetted.opaque("a subscript in a variable's name is evaluated, and may run something");
            }
            Effect::Module => {
                let module = value.text().unwrap_or_default();
                // The rest of the words are the module's own.
                self.at = self.arguments.len();
                if !lists(super::interpreters::MODULES, &module) {
                    self.vetted.unvetted(format!("the module {module:?} is not among the vetted ones"));
                }
            }
            Effect::Refuse | Effect::RefuseValue | Effect::InPlace | Effect::RunWords => {
                self.vetted.unvetted(format!("that option lets it {}", self.entry.reason));
            }
        }
    }

    fn script(&mut self, language: super::entry::Language, value: Word) {
        let harmless = value.text().is_some_and(|text| scripts::is_harmless(language, &text));
        if !harmless {
            self.vetted.unvetted("its script may run a command or write a file");
            self.vetted.code.push(value);
        }
    }

    /// The words of `find -exec`, whose `{}` is a path below the place that is searched.
    fn run_words(&mut self) {
        let rest = &self.arguments[self.at..];
        let ends = |word: &Word| matches!(word.text().as_deref(), Some(";" | "+"));
        let end = rest.iter().position(ends).unwrap_or(rest.len());
        let words = rest[..end].iter().map(|word| self.fed(word, "./")).collect();
        self.vetted.carried.push(Carried::Words(words));
        self.at += (end + 1).min(rest.len());
    }

    /// A word in which something is replaced before it is used.
    fn fed(&self, word: &Word, start: &str) -> Word {
        let text = word.text().unwrap_or_default();
        if !self.replaced.iter().any(|replaced| !replaced.is_empty() && text.contains(replaced)) {
            return word.clone();
        }
        let unknown = Piece::Other { text: "what it is given".to_owned(), inner: Vec::new(), evaluates: false };
        let whole = self.replaced.contains(&text) && !start.is_empty();
        let start = whole.then(|| Piece::Literal(start.to_owned()));
        Word { pieces: start.into_iter().chain([unknown]).collect() }
    }

    /// For a wrapper: hands over what it runs once its own words are over.
    fn command_follows(&mut self) -> bool {
        let here = self.at;
        match self.entry.operands {
            Operands::Command(leading) if self.operands.len() > leading => {
                // A text after the operands, as in `flock FILE -c TEXT`.
                self.vetted.carried.push(Carried::Words(self.arguments[here..].to_vec()));
            }
            Operands::FedCommand => {
                let mut words: Vec<Word> = self.arguments[here..].iter().map(|word| self.fed(word, "")).collect();
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

    fn judge_operands(&mut self) {
        let operands: Vec<Word> = self.operands.iter().map(|index| self.arguments[*index].clone()).collect();
        let mut rest = operands.into_iter();
        match self.entry.operands {
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
                    self.vetted.unvetted(format!("an argument lets it {}", self.entry.reason));
                }
            }
            Operands::Addresses => {
                let start = |word: Word| word.literal_start();
                if rest.any(|word| start(word).contains("::")) {
                    self.vetted.unvetted("an address with `::` in it runs a helper");
                }
            }
            Operands::Refuse => {
                if rest.next().is_some() {
                    self.vetted.unvetted(format!("it can {}", self.entry.reason));
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

/// What is left of a word behind the first bytes of its literal start.
pub fn tail(word: &Word, bytes: usize) -> Word {
    let mut pieces = word.pieces.clone();
    if let Some(Piece::Literal(first)) = pieces.first_mut() {
        *first = first.get(bytes..).unwrap_or_default().to_owned();
    }
    Word { pieces }
}

/// Whether bash may make it begin with a dash. Directories of the shell's own begin with a slash.
fn is_unclear(word: &Word) -> bool {
    match word.pieces.first() {
        Some(Piece::Literal(text)) => (text.is_empty() || text == "-") && word.pieces.len() > 1,
        Some(Piece::Tilde(_)) | None => false,
        Some(Piece::Parameter { name, .. }) => !lists("HOME PWD OLDPWD TMPDIR", name),
        Some(_) => true,
    }
}
