//! What a text can leave behind in the shell that runs it. Most texts of agents only call programs, change the directory or
//! export variables. A shell that has run such a text is as a new shell of the session would be, so it takes the next text too.
//!
//! This does not parse shell text. It goes through the characters and says yes only where nothing can be meant but words,
//! quotes, variables, pipes and lists of commands. After any other text the shell reports everything and ends.

use super::ShellState;
use super::shell_variables::{is_only_the_sessions, is_the_same_in_every_shell};

/// What bash runs itself. None of these starts a command of such a text, except for [`HARMLESS`], `cd`, `export` and `printf`.
const OF_THE_SHELL: &str = ". : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo \
     enable eval exec exit export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf \
     pushd pwd read readarray readonly return set shift shopt source suspend test times trap true type typeset ulimit \
     umask unalias unset wait \
     ! [[ ]] case coproc do done elif else esac fi for function if in select then time until while { }";
/// They set no variable and stay in their directory, whatever their arguments are.
const HARMLESS: &str = ": echo false kill pwd true type";
/// What `cd` changes.
const MOVED: [&str; 2] = ["PWD", "OLDPWD"];

/// What a text may have changed. Everything else is as before.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Traces {
    /// Exported variables, `PWD` for the directory among them.
    pub variables: Vec<String>,
    /// Whether it may have started processes.
    pub programs: bool,
}

impl Traces {
    /// `None` if the text may leave something else behind in a shell with this state.
    pub fn of(text: &str, state: &ShellState) -> Option<Self> {
        // A function in the environment can have the name of a program.
        let has_functions =
            state.environment.iter().any(|(name, _)| name.as_encoded_bytes().starts_with(b"BASH_FUNC_"));
        if has_functions {
            return None;
        }
        let mut scan = Scan { rest: text.as_bytes(), state, traces: Self::default() };
        while !scan.rest.is_empty() {
            scan.command()?;
        }
        Some(scan.traces)
    }

    fn changes(&mut self, name: &str) {
        if !self.variables.iter().any(|known| known == name) {
            self.variables.push(name.to_owned());
        }
    }
}

struct Scan<'a> {
    rest: &'a [u8],
    state: &'a ShellState,
    traces: Traces,
}

/// What a word may be made of.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Of {
    Anything,
    /// No expansion, so that its bytes are known.
    ItsBytes,
}

impl<'a> Scan<'a> {
    /// One command and the operator behind it.
    fn command(&mut self) -> Option<()> {
        self.skip(|byte| matches!(byte, b' ' | b'\t'));
        let name = self.take(is_plain_byte);
        // Quotes, patterns and redirections in a name could make any other name of it.
        if !ends_word(self.rest) {
            return None;
        }
        let listed = |list: &str| list.split_ascii_whitespace().any(|item| item.as_bytes() == name);
        match name {
            b"" => {}
            b"cd" => {
                MOVED.iter().for_each(|name| self.traces.changes(name));
                self.arguments(Self::any_word)?;
            }
            b"export" => self.arguments(Self::assignment)?,
            b"printf" => {
                self.skip(|byte| matches!(byte, b' ' | b'\t'));
                self.format()?;
                self.arguments(Self::any_word)?;
            }
            _ if listed(HARMLESS) => self.arguments(Self::any_word)?,
            b"test" => self.arguments(Self::word_of_test)?,
            _ if listed(OF_THE_SHELL) || name.starts_with(b"__testudo") => return None,
            _ => {
                self.traces.programs = true;
                self.arguments(Self::any_word)?;
            }
        }
        self.operator()
    }

    fn operator(&mut self) -> Option<()> {
        self.rest = match self.rest {
            [] => &[],
            [b'&', b'&', rest @ ..] | [b'|', b'|', rest @ ..] | [b'\n' | b';', rest @ ..] => rest,
            [b'|', rest @ ..] if !rest.starts_with(b"&") => {
                // Both sides are processes.
                self.traces.programs = true;
                rest
            }
            // A process in the background is left behind, and the shell knows its number.
            _ => return None,
        };
        Some(())
    }

    /// Words and redirections up to an operator.
    fn arguments(&mut self, word: impl Fn(&mut Self) -> Option<()>) -> Option<()> {
        loop {
            match self.rest {
                [] | [b'\n' | b';' | b'|' | b'&', ..] => return Some(()),
                [b' ' | b'\t', rest @ ..] => self.rest = rest,
                // Our own descriptors have numbers of several digits.
                [b'>' | b'<', b'&', b'0'..=b'9' | b'-', rest @ ..] if ends_word(rest) => self.rest = rest,
                // A second `<` would begin a text of its own, and a parenthesis a process.
                [b'<', b'<' | b'(' | b'&', ..] | [b'>', b'(' | b'&', ..] => return None,
                [b'>', b'>' | b'|', rest @ ..] | [b'>' | b'<', rest @ ..] => {
                    self.rest = rest;
                    self.skip(|byte| matches!(byte, b' ' | b'\t'));
                    self.any_word()?;
                }
                [b'0'..=b'9', b'>' | b'<', ..] => self.rest = &self.rest[1..],
                _ => word(self)?,
            }
        }
    }

    fn any_word(&mut self) -> Option<()> {
        let before = self.rest;
        self.word(Of::Anything)?;
        let word = &before[..before.len() - self.rest.len()];
        let is_descriptor = matches!(self.rest.first(), Some(b'<' | b'>')) && word.iter().all(u8::is_ascii_digit);
        (!is_descriptor).then_some(())
    }

    /// `test -v` evaluates what is in the brackets of its argument, and an option can be written in many ways.
    fn word_of_test(&mut self) -> Option<()> {
        let word = self.take(|byte| is_plain_byte(byte) || byte == b'=');
        let is_harmless = !word.is_empty() && !matches!(word, b"-v" | b"-R");
        (is_harmless && ends_word(self.rest)).then_some(())
    }

    /// The format of `printf`: some of its letters set a variable, and its options do.
    fn format(&mut self) -> Option<()> {
        let before = self.rest;
        self.word(Of::ItsBytes)?;
        let format = &before[..before.len() - self.rest.len()];
        if !ends_word(self.rest) {
            return None;
        }
        let begins_as_option = format.iter().find(|byte| !matches!(byte, b'\'' | b'"')) == Some(&b'-');
        let mut letters = format.split(|byte| *byte == b'%').skip(1);
        // What follows `%%` is no letter of a format; to take it for one is only too careful.
        let harmless = letters.all(|part| part.first().is_none_or(|first| b"sdiuxXcbq".contains(first)));
        (!begins_as_option && harmless).then_some(())
    }

    /// `NAME=value`, as an argument of `export`.
    fn assignment(&mut self) -> Option<()> {
        let name = self.name()?;
        self.rest = self.rest.strip_prefix(b"=")?;
        if !ends_word(self.rest) {
            self.any_word()?;
        }
        is_only_the_sessions(&name).then(|| self.traces.changes(&name))
    }

    /// At least one character of a word, up to a blank or an operator.
    fn word(&mut self, of: Of) -> Option<()> {
        let mut length = 0;
        loop {
            match self.rest {
                [] | [b' ' | b'\t' | b'\n' | b';' | b'|' | b'&' | b'<' | b'>', ..] => {
                    return (length > 0).then_some(());
                }
                [quote @ (b'\'' | b'"'), rest @ ..] => {
                    self.rest = rest;
                    self.quoted(*quote, of)?;
                }
                [b'$', ..] if of == Of::Anything => self.expansion()?,
                [b'*' | b'?' | b'[' | b']' | b'=' | b'~' | b'^', rest @ ..] => self.rest = rest,
                [byte, rest @ ..] if is_plain_byte(*byte) => self.rest = rest,
                _ => return None,
            }
            length += 1;
        }
    }

    /// What is in quotes, and the closing quote.
    fn quoted(&mut self, quote: u8, of: Of) -> Option<()> {
        loop {
            match self.rest {
                [] => return None,
                [byte, rest @ ..] if *byte == quote => {
                    self.rest = rest;
                    return Some(());
                }
                [b'$', ..] if quote == b'"' && of == Of::Anything => self.expansion()?,
                [b'\\', _, rest @ ..] if quote == b'"' => self.rest = rest,
                [b'$' | b'`', ..] if quote == b'"' => return None,
                [_, rest @ ..] => self.rest = rest,
            }
        }
    }

    /// `$NAME`, `${NAME}`, `$?` or `$((A + 1))`.
    fn expansion(&mut self) -> Option<()> {
        self.rest = match &self.rest[1..] {
            [b'?', rest @ ..] => rest,
            [b'{', rest @ ..] => {
                self.rest = rest;
                let name = self.name()?;
                let rest = self.rest.strip_prefix(b"}")?;
                return is_the_same_in_every_shell(&name).then(|| self.rest = rest);
            }
            [b'(', b'(', rest @ ..] => {
                self.rest = rest;
                return self.arithmetic();
            }
            rest => {
                self.rest = rest;
                let name = self.name()?;
                return is_the_same_in_every_shell(&name).then_some(());
            }
        };
        Some(())
    }

    /// Numbers and variables that have one, with `+`, `-` or `*` between them. An error in an expression would end the shell.
    fn arithmetic(&mut self) -> Option<()> {
        loop {
            self.skip(|byte| byte == b' ');
            let number = self.take(|byte| byte.is_ascii_digit());
            let value = if number.is_empty() {
                let name = self.name()?;
                let value = self.state.variable(&name).unwrap_or_default();
                let is_known = is_only_the_sessions(&name) && !self.traces.variables.contains(&name);
                is_known.then(|| value.as_encoded_bytes().to_vec())?
            } else {
                number.to_vec()
            };
            if !(value.is_empty() || is_small_number(&value)) {
                return None;
            }
            self.skip(|byte| byte == b' ');
            match self.rest {
                [b')', b')', rest @ ..] => {
                    self.rest = rest;
                    return Some(());
                }
                [b'+' | b'-' | b'*', rest @ ..] => self.rest = rest,
                _ => return None,
            }
        }
    }

    fn name(&mut self) -> Option<String> {
        let name = self.take(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let begins_right = name.first().is_some_and(|first| !first.is_ascii_digit());
        begins_right.then(|| String::from_utf8_lossy(name).into_owned())
    }

    fn take(&mut self, wanted: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self.rest.iter().position(|byte| !wanted(*byte)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn skip(&mut self, unwanted: impl Fn(u8) -> bool) {
        self.take(unwanted);
    }
}

/// Whether what follows is a blank or an operator, or nothing.
fn ends_word(rest: &[u8]) -> bool {
    matches!(rest.first(), None | Some(b' ' | b'\t' | b'\n' | b';' | b'|' | b'&'))
}

/// These mean nothing to a shell, wherever they are.
fn is_plain_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-./:,@%+".contains(&byte)
}

/// A decimal number that every shell can count with.
fn is_small_number(digits: &[u8]) -> bool {
    let is_octal = digits.len() > 1 && digits[0] == b'0';
    digits.len() < 18 && !is_octal && digits.iter().all(u8::is_ascii_digit)
}

#[cfg(test)]
#[path = "traces_tests.rs"]
mod tests;
