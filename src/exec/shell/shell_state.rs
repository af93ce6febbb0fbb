//! cwd and exported variables, as they come back from a shell over its private channel.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use super::exported::Exported;
use super::shell_report::ShellReport;

/// What one call leaves for the next.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ShellState {
    pub cwd: PathBuf,
    pub environment: Exported,
}

/// The kernel refuses a longer single string at `exec`; kept, it would make every later command fail.
const LONGEST_VARIABLE: usize = 128 * 1024;
/// What all variables together leave for the arguments of the next command.
const ROOM_FOR_ARGUMENTS: usize = 256 * 1024;

/// Every shell sets these anew, so they are not remembered.
const NOT_KEPT: [&[u8]; 5] = [b"_", b"SHLVL", b"PWD", b"BASH_ENV", b"BASHOPTS"];

impl ShellState {
    /// An exported variable, as the next command will see it.
    pub fn variable(&self, name: &str) -> Option<OsString> {
        self.environment.iter().rfind(|(key, _)| key == name).map(|(_, value)| value.clone())
    }

    /// Sets or removes an exported variable. Returns whether the session keeps it like that.
    pub fn set(&mut self, name: &str, value: Option<&[u8]>) -> bool {
        self.environment.retain(|(known, _)| known != name);
        let Some(value) = value else { return true };
        let size = |name: &OsStr, value: &OsStr| name.len() + value.len() + 2 + size_of::<usize>();
        let value = OsStr::from_bytes(value);
        let others: usize = self.environment.iter().map(|(name, value)| size(name, value)).sum();
        let new = size(OsStr::new(name), value);
        let keeps = new < LONGEST_VARIABLE && others + new <= largest_environment();
        if keeps {
            // Where `export -p` would list it.
            let place = self.environment.iter().position(|(known, _)| known.as_os_str() > OsStr::new(name));
            let place = place.unwrap_or(self.environment.len());
            self.environment.insert(place, (name.into(), value.to_owned()));
        }
        keeps
    }

    /// Adds the variables that the command started with and its shell could not report. A shell passes a variable named
    /// `a.b` on to its programs, but cannot name, change or unset it.
    #[must_use]
    pub fn with_unreportable(mut self, before: &Self) -> Self {
        let unreportable = |(name, _): &&(OsString, OsString)| {
            !is_identifier(name) && !self.environment.iter().any(|(reported, _)| reported == name)
        };
        let kept: Vec<_> = before.environment.iter().filter(unreportable).cloned().collect();
        self.environment.extend(kept);
        self
    }
}

impl ShellReport {
    /// Parses the bytes of the channel: `\0NONCE\0`, `!` if the cwd is gone, the cwd, `\0`, the exports, `\0NONCE\0`.
    /// Anything else, also a report cut short, gives `None`; the session then stays as it was.
    pub fn parse(bytes: &[u8], nonce: &str) -> Option<Self> {
        let mark = [b"\0", nonce.as_bytes(), b"\0"].concat();
        let end = memchr::memmem::rfind(bytes, &mark)?;
        let start = memchr::memmem::rfind(&bytes[..end], &mark)? + mark.len();
        let report = &bytes[start..end];
        let split = memchr::memchr(0, report)?;
        let cwd = report[..split].strip_suffix(b"\n")?;
        let (cwd, cwd_is_gone) = cwd.strip_prefix(b"!").map_or((cwd, false), |cwd| (cwd, true));
        if !cwd.starts_with(b"/") {
            return None;
        }
        let cwd = PathBuf::from(OsString::from_vec(cwd.to_vec()));
        Some(Self { state: ShellState { cwd, environment: exports(&report[split + 1..]).into() }, cwd_is_gone })
    }
}

/// `export -p` of bash (`declare -x NAME="…"`), of bash in posix mode and of dash (`export NAME='…'`).
fn exports(text: &[u8]) -> Vec<(OsString, OsString)> {
    let mut words = Words(text);
    let mut found = Vec::new();
    let (mut total, largest) = (0, largest_environment());
    while let Some(line) = words.line() {
        let Some(assignment) = line.iter().find(|word| memchr::memchr(b'=', word).is_some()) else { continue };
        let Some(split) = memchr::memchr(b'=', assignment) else { continue };
        let (name, value) = (&assignment[..split], &assignment[split + 1..]);
        // The kernel counts a NUL and a pointer with each string.
        total += assignment.len() + 1 + size_of::<usize>();
        if NOT_KEPT.contains(&name) || assignment.len() >= LONGEST_VARIABLE || total > largest {
            continue;
        }
        found.push((OsString::from_vec(name.to_vec()), OsString::from_vec(value.to_vec())));
    }
    found
}

/// The kernel gives a quarter of the stack to arguments and environment. A larger environment would make every later
/// command fail, so what does not fit is left behind.
fn largest_environment() -> usize {
    const USUAL_STACK: u64 = 8 << 20;
    let stack = rustix::process::getrlimit(rustix::process::Resource::Stack).current.unwrap_or(USUAL_STACK);
    let both = usize::try_from(stack.min(USUAL_STACK) / 4).unwrap_or_default();
    both.saturating_sub(ROOM_FOR_ARGUMENTS).max(both / 2)
}

/// Whether a shell can have a variable of that name.
fn is_identifier(name: &OsStr) -> bool {
    let name = name.as_bytes();
    let letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    name.first().is_some_and(letter) && name.iter().all(|byte| letter(byte) || byte.is_ascii_digit())
}

/// Splits shell output into lines of words, quotes removed.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn line(&mut self) -> Option<Vec<Vec<u8>>> {
        if self.0.is_empty() {
            return None;
        }
        let mut words = vec![Vec::new()];
        while let Some((first, rest)) = self.0.split_first() {
            self.0 = rest;
            let word = words.last_mut()?;
            match first {
                b'\n' => break,
                b' ' => words.push(Vec::new()),
                b'\'' => self.single(word),
                b'"' => self.double(word),
                b'$' if rest.first() == Some(&b'\'') => {
                    self.0 = &rest[1..];
                    self.ansi(word);
                }
                b'\\' => self.next_into(word),
                other => word.push(*other),
            }
        }
        Some(words)
    }

    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn next_into(&mut self, word: &mut Vec<u8>) {
        word.extend(self.next());
    }

    fn single(&mut self, word: &mut Vec<u8>) {
        while let Some(byte) = self.next() {
            match byte {
                b'\'' => return,
                other => word.push(other),
            }
        }
    }

    fn double(&mut self, word: &mut Vec<u8>) {
        while let Some(byte) = self.next() {
            match byte {
                b'"' => return,
                b'\\' => self.next_into(word),
                other => word.push(other),
            }
        }
    }

    /// `$'…'`: bash uses it for values with control characters, written as letters or three octal digits.
    fn ansi(&mut self, word: &mut Vec<u8>) {
        while let Some(byte) = self.next() {
            match byte {
                b'\'' => return,
                b'\\' => match self.next() {
                    Some(b'n') => word.push(b'\n'),
                    Some(b't') => word.push(b'\t'),
                    Some(b'r') => word.push(b'\r'),
                    Some(b'a') => word.push(7),
                    Some(b'b') => word.push(8),
                    Some(b'v') => word.push(11),
                    Some(b'f') => word.push(12),
                    Some(b'E' | b'e') => word.push(27),
                    Some(digit @ b'0'..=b'7') => word.push(self.octal(digit)),
                    Some(other) => word.push(other),
                    None => return,
                },
                other => word.push(other),
            }
        }
    }

    fn octal(&mut self, first: u8) -> u8 {
        let mut value = first - b'0';
        for _ in 0..2 {
            match self.0.first() {
                Some(digit @ b'0'..=b'7') => {
                    value = value.wrapping_mul(8).wrapping_add(digit - b'0');
                    self.0 = &self.0[1..];
                }
                _ => break,
            }
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(exports: &str) -> Vec<u8> {
        [b"noise\0aabbccdd\0/a b\nc\n\0", exports.as_bytes(), b"\0aabbccdd\0"].concat()
    }

    #[test]
    fn every_way_of_quoting_is_read() {
        let text = concat!(
            "declare -x A=\"plain\"\n",
            "declare -rx B=\"q\\\"b\\\\d\\$e\\`\"\n",
            "declare -x C=$'l1\\nl2\\t\\001\\377\\'x'\n",
            "declare -x UNSET\n",
            "export D='it'\"'\"'s'\n",
            "declare -x E=\"two\nlines = 1\"\n",
            "declare -x SHLVL=\"4\"\n",
            "export F='a'\\''b'\n",
        );
        let state = ShellReport::parse(&report(text), "aabbccdd").unwrap().state;
        assert_eq!(state.cwd, PathBuf::from("/a b\nc"));
        let got: Vec<(String, Vec<u8>)> = state
            .environment
            .iter()
            .cloned()
            .map(|(name, value)| (name.into_string().unwrap(), value.into_vec()))
            .collect();
        let want: [(&str, &[u8]); 6] = [
            ("A", b"plain"),
            ("B", b"q\"b\\d$e`"),
            ("C", b"l1\nl2\t\x01\xff'x"),
            ("D", b"it's"),
            ("E", b"two\nlines = 1"),
            ("F", b"a'b"),
        ];
        assert_eq!(got, want.map(|(name, value)| (name.to_owned(), value.to_vec())));
    }

    #[test]
    fn a_variable_that_no_shell_can_name_stays() {
        let state = |names: &[&str]| ShellState {
            cwd: "/".into(),
            environment: names.iter().map(|name| ((*name).into(), "1".into())).collect::<Vec<_>>().into(),
        };
        let before = state(&["a.b", "a-b", "2x", "", "BASH_FUNC_f%%", "unset", "\u{e9}"]);
        let after = state(&["new", "\u{e9}"]).with_unreportable(&before);
        assert_eq!(after, state(&["new", "\u{e9}", "a.b", "a-b", "2x", "", "BASH_FUNC_f%%"]));
    }

    #[test]
    fn without_the_nonce_or_the_end_nothing_is_believed() {
        let whole = report("declare -x A=\"1\"\n");
        assert!(ShellReport::parse(&whole, "00000000").is_none());
        assert!(ShellReport::parse(&whole[..whole.len() - 3], "aabbccdd").is_none());
        assert!(ShellReport::parse(b"", "aabbccdd").is_none());
    }

    #[test]
    fn a_variable_that_would_break_every_later_exec_is_left_behind() {
        let huge = "x".repeat(LONGEST_VARIABLE);
        let state =
            ShellReport::parse(&report(&format!("declare -x BIG=\"{huge}\"\ndeclare -x B=\"1\"\n")), "aabbccdd");
        assert_eq!(*state.unwrap().state.environment, [("B".into(), "1".into())]);
    }
}
