//! Compares the words of a rule with the arguments of a command. The words that are not options have an order, and the
//! options are a set: `rm -rf` names `rm -f -r x`, `git push --force` names `git push origin main --force`.

use std::collections::BTreeSet;

use super::super::arguments::is_one_option;
use super::super::shell::{Piece, Word};
use super::Match;

/// The words of a rule behind the program's name.
pub struct Wanted<'a> {
    program: &'a str,
    operands: Vec<&'a str>,
    options: Vec<&'a str>,
}

/// Options of git before the subcommand that take the next word as their value.
const GIT_VALUED: [&str; 8] =
    ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--attr-source"];

/// Programs whose short options are the first letters of their long ones: `-f` is `--force`.
const FIRST_LETTERS: [&str; 9] = ["rm", "cp", "mv", "ln", "chmod", "chown", "chgrp", "rmdir", "git"];

impl<'a> Wanted<'a> {
    pub fn new(program: &'a str, words: &'a [String]) -> Self {
        let (options, operands) = words.iter().map(String::as_str).partition(|word| is_option(word));
        Self { program, operands, options }
    }

    /// How many arguments a rule that allows covers, if it names the command for certain: its words come first, and no
    /// other word is among them. Another word might be an option whose value only looks like a word of the rule.
    pub fn certain(&self, arguments: &[Word]) -> Option<usize> {
        self.starts(arguments).into_iter().find_map(|start| Some(start + self.leading(&arguments[start..])?))
    }

    /// How certain it is that a rule that restricts names the command. Wherever it is possible, it counts.
    pub fn possible(&self, arguments: &[Word]) -> Match {
        let options = self.options.iter().map(|option| self.has_option(option, arguments)).min().unwrap_or(Match::Yes);
        options.min(self.in_order(arguments))
    }

    /// The indices at which the words of a rule that allows may begin: at the first argument, or behind the options that
    /// git has before its subcommand.
    fn starts(&self, arguments: &[Word]) -> Vec<usize> {
        let mut starts = vec![0];
        let mut at = 0;
        while self.program == "git" && arguments.get(at).is_some_and(|word| word.literal_start().starts_with('-')) {
            at += 1 + usize::from(GIT_VALUED.contains(&arguments[at].literal_start().as_str()));
            if at < arguments.len() {
                starts.push(at);
            }
        }
        starts
    }

    /// How many words in front are exactly those of the rule.
    fn leading(&self, arguments: &[Word]) -> Option<usize> {
        let (mut operands, mut options) = (self.operands.as_slice(), self.options.clone());
        let mut letters: Vec<char> = Vec::new();
        let mut at = 0;
        let satisfied = |option: &str, letters: &[char]| {
            cluster(option).is_some_and(|wanted| wanted.chars().all(|letter| letters.contains(&letter)))
        };
        while !operands.is_empty() || !options.iter().all(|option| satisfied(option, &letters)) {
            let word = arguments.get(at).filter(|word| !word.may_split())?;
            match word.text() {
                Some(text) if is_option(&text) => {
                    if let Some(exact) = options.iter().position(|option| **option == text) {
                        options.remove(exact);
                    } else {
                        let given = cluster(&text)?;
                        let wanted =
                            |letter| options.iter().any(|option| cluster(option).is_some_and(|o| o.contains(letter)));
                        if !given.chars().all(wanted) {
                            return None;
                        }
                        letters.extend(given.chars());
                    }
                }
                text => {
                    let (first, rest) = operands.split_first()?;
                    if *first != "*" && text.as_deref() != Some(*first) {
                        return None;
                    }
                    operands = rest;
                }
            }
            at += 1;
        }
        Some(at)
    }

    /// Whether the operands of the rule come first among the operands of the command. An option may take the word behind
    /// it as its value, so every index is tried at which the next operand can be.
    fn in_order(&self, arguments: &[Word]) -> Match {
        let mut maybe = false;
        let mut positions = BTreeSet::from([0]);
        for wanted in &self.operands {
            let mut next = BTreeSet::new();
            while let Some(at) = positions.pop_first() {
                let Some(word) = arguments.get(at) else { continue };
                let start = word.literal_start();
                if is_option(&start) || (self.program == "cargo" && start.starts_with('+')) {
                    // Which options of git before its subcommand have a value is known.
                    let known = self.program == "git" && at_front(arguments, at);
                    let valued = known && GIT_VALUED.contains(&start.as_str());
                    if !valued {
                        positions.insert(at + 1);
                    }
                    if valued || (!known && !start.contains('=')) {
                        positions.insert(at + 2);
                    }
                } else if word.may_split() {
                    maybe = true;
                } else if *wanted == "*" || word.text().as_deref() == Some(*wanted) {
                    next.insert(at + 1);
                } else {
                    maybe |= word.text().is_none();
                }
            }
            positions = next;
        }
        match positions.is_empty() {
            false => Match::Yes,
            true if maybe => Match::Maybe,
            true => Match::No,
        }
    }

    /// Whether the command has this option, anywhere among its arguments.
    fn has_option(&self, wanted: &str, arguments: &[Word]) -> Match {
        let letters = cluster(wanted).filter(|_| !is_one_option(self.program, wanted));
        let whole = |word: &Word| self.is_option(wanted, word);
        let whole = best(arguments, whole);
        let Some(letters) = letters else { return whole };
        let each = letters.chars().map(|letter| best(arguments, |word| self.has_letter(letter, word)));
        whole.max(each.min().unwrap_or(Match::No))
    }

    /// Whether the word is this option. A long option may be abbreviated, and a value may follow it.
    fn is_option(&self, wanted: &str, word: &Word) -> Match {
        let start = word.literal_start();
        let name = start.split('=').next().unwrap_or_default();
        let long = wanted.starts_with("--");
        let abbreviated = long && name.len() > 2 && wanted.starts_with(name);
        if start == wanted || name == wanted || (abbreviated && word.text().is_some()) {
            return Match::Yes;
        }
        let related = long && FIRST_LETTERS.contains(&self.program);
        let first = wanted.trim_start_matches('-').chars().next();
        let letter = cluster(&start).is_some_and(|letters| letters.chars().any(|letter| Some(letter) == first));
        if (related && letter) || (abbreviated && word.text().is_none()) || may_be_option(word) {
            return Match::Maybe;
        }
        Match::No
    }

    /// Whether the word has this letter among its options.
    fn has_letter(&self, wanted: char, word: &Word) -> Match {
        let start = word.literal_start();
        if cluster(&start).is_some_and(|letters| letters.contains(wanted)) {
            return Match::Yes;
        }
        let related = |letter: char| letter.eq_ignore_ascii_case(&wanted);
        let known = FIRST_LETTERS.contains(&self.program);
        let long = start.strip_prefix("--").and_then(|name| name.chars().next());
        let other =
            known && (cluster(&start).is_some_and(|letters| letters.contains(related)) || long.is_some_and(related));
        if other || may_be_option(word) { Match::Maybe } else { Match::No }
    }
}

/// The best match among the arguments. Behind `--` there are no options, unless `--` is itself the value of one.
fn best(arguments: &[Word], matches: impl Fn(&Word) -> Match) -> Match {
    let end = arguments.iter().position(|word| word.text().as_deref() == Some("--")).unwrap_or(arguments.len());
    let options = arguments[..end].iter().map(&matches).max().unwrap_or(Match::No);
    let behind = arguments[end..].iter().map(&matches).max().unwrap_or(Match::No);
    options.max(behind.min(Match::Maybe))
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && word != "--"
}

/// Whether every argument before this one is an option, or the value of one.
fn at_front(arguments: &[Word], at: usize) -> bool {
    let mut front = 0;
    while front < at && is_option(&arguments[front].literal_start()) {
        front += 1 + usize::from(GIT_VALUED.contains(&arguments[front].literal_start().as_str()));
    }
    front == at
}

/// The letters of an option with one dash.
fn cluster(word: &str) -> Option<&str> {
    let letters = word.strip_prefix('-')?;
    (!letters.is_empty() && letters.bytes().all(|byte| byte.is_ascii_alphanumeric())).then_some(letters)
}

/// Whether bash may make an option of it. Text that no option has in its name, such as the dot of `*.o`, rules it out.
fn may_be_option(word: &Word) -> bool {
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'=');
    let literal = |piece: &Piece| match piece {
        Piece::Literal(text) => plain(text),
        _ => true,
    };
    let start = word.literal_start();
    word.text().is_none() && (start.is_empty() || start.starts_with('-')) && word.pieces.iter().all(literal)
}
