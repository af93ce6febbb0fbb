//! Reads and writes git's configuration as git itself does. The parser follows `git_parse_source` in git's `config.c`
//! character by character; a property test compares it with the real git.

/// One setting. Everything is bytes: git does not require UTF-8.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Setting {
    /// In lower case.
    pub section: String,
    pub subsection: Option<Vec<u8>>,
    /// In lower case.
    pub key: String,
    /// `None` for a key without `=`, which means true.
    pub value: Option<Vec<u8>>,
}

/// git could not read the file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Unreadable {
    pub line: usize,
}

impl Setting {
    /// As in the arguments of `git config`: `remote.origin.url`.
    pub fn name(&self) -> String {
        match &self.subsection {
            Some(subsection) => format!("{}.{}.{}", self.section, String::from_utf8_lossy(subsection), self.key),
            None => format!("{}.{}", self.section, self.key),
        }
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.value.as_deref().unwrap_or(b"true")).into_owned()
    }
}

/// All settings in the order of the file.
pub fn parse(bytes: &[u8]) -> Result<Vec<Setting>, Unreadable> {
    // git ends strings at a NUL, so a file with one means something else to git than it seems to say.
    if let Some(at) = memchr::memchr(0, bytes) {
        return Err(Unreadable { line: memchr::memchr_iter(b'\n', &bytes[..at]).count() + 1 });
    }
    let mut reader = Reader { rest: bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes), line: 1, ended: false };
    reader.settings().ok_or(Unreadable { line: reader.line })
}

/// The text of a configuration with exactly these settings.
pub fn write(settings: &[Setting]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut current: Option<(&str, Option<&[u8]>)> = None;
    for setting in settings {
        let header = (setting.section.as_str(), setting.subsection.as_deref());
        if current.replace(header) != Some(header) {
            out.push(b'[');
            out.extend_from_slice(setting.section.as_bytes());
            if let Some(subsection) = &setting.subsection {
                out.extend_from_slice(b" \"");
                for byte in subsection {
                    out.extend(matches!(byte, b'"' | b'\\').then_some(b'\\'));
                    out.push(*byte);
                }
                out.push(b'"');
            }
            out.extend_from_slice(b"]\n");
        }
        out.push(b'\t');
        out.extend_from_slice(setting.key.as_bytes());
        if let Some(value) = &setting.value {
            out.extend_from_slice(b" = ");
            put_value(&mut out, value);
        }
        out.push(b'\n');
    }
    out
}

fn put_value(out: &mut Vec<u8>, value: &[u8]) {
    let plain = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'#' | b';');
    if !value.is_empty() && value.iter().all(plain) {
        return out.extend_from_slice(value);
    }
    out.push(b'"');
    for byte in value {
        match byte {
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\t' => out.extend_from_slice(b"\\t"),
            8 => out.extend_from_slice(b"\\b"),
            b'"' | b'\\' => out.extend([b'\\', *byte]),
            byte => out.push(*byte),
        }
    }
    out.push(b'"');
}

struct Reader<'a> {
    rest: &'a [u8],
    line: usize,
    ended: bool,
}

impl Reader<'_> {
    /// The end of the file counts as a newline.
    fn next(&mut self) -> u8 {
        let (c, rest) = match self.rest {
            [] => {
                self.ended = true;
                return b'\n';
            }
            [b'\r', b'\n', rest @ ..] => (b'\n', rest),
            [c, rest @ ..] => (*c, rest),
        };
        self.rest = rest;
        self.line += usize::from(c == b'\n');
        c
    }

    /// `None` where git gives up.
    fn settings(&mut self) -> Option<Vec<Setting>> {
        let mut settings = Vec::new();
        let mut header: Option<(String, Option<Vec<u8>>)> = None;
        let mut comment = false;
        loop {
            match self.next() {
                b'\n' if self.ended => return Some(settings),
                b'\n' => comment = false,
                _ if comment => {}
                c if is_space(c) => {}
                b'#' | b';' => comment = true,
                b'[' => header = Some(self.header()?),
                c if c.is_ascii_alphabetic() => {
                    // git accepts a key before the first header, and then finds no use for it. We do not accept it.
                    let (section, subsection) = header.clone()?;
                    let (key, value) = self.setting(c)?;
                    settings.push(Setting { section, subsection, key, value });
                }
                _ => return None,
            }
        }
    }

    /// `section]`, `section.sub]` or `section "sub"]`.
    fn header(&mut self) -> Option<(String, Option<Vec<u8>>)> {
        let mut name = String::new();
        let subsection = loop {
            let c = self.next();
            match c {
                _ if self.ended => return None,
                b']' => break None,
                c if is_space(c) => break Some(self.subsection(c)?),
                c if is_key(c) || c == b'.' => name.push(char::from(c.to_ascii_lowercase())),
                _ => return None,
            }
        };
        if name.is_empty() && subsection.is_none() {
            return None;
        }
        // git joins all parts with dots, and takes the first and the last of them as the limits of the subsection.
        match name.split_once('.') {
            Some((section, more)) => {
                let mut joined = more.as_bytes().to_vec();
                if let Some(subsection) = subsection {
                    joined.push(b'.');
                    joined.extend(subsection);
                }
                Some((section.to_owned(), Some(joined)))
            }
            None => Some((name, subsection)),
        }
    }

    fn subsection(&mut self, mut c: u8) -> Option<Vec<u8>> {
        while is_space(c) {
            if c == b'\n' {
                return None;
            }
            c = self.next();
        }
        if c != b'"' {
            return None;
        }
        let mut name = Vec::new();
        loop {
            let c = match self.next() {
                b'"' => break,
                b'\\' => self.next(),
                b'\n' => return None,
                c => {
                    name.push(c);
                    continue;
                }
            };
            if c == b'\n' {
                return None;
            }
            name.push(c);
        }
        (self.next() == b']').then_some(name)
    }

    fn setting(&mut self, first: u8) -> Option<(String, Option<Vec<u8>>)> {
        let mut key = String::from(char::from(first.to_ascii_lowercase()));
        let mut c = self.next();
        while !self.ended && is_key(c) {
            key.push(char::from(c.to_ascii_lowercase()));
            c = self.next();
        }
        while c == b' ' || c == b'\t' {
            c = self.next();
        }
        match c {
            b'\n' => Some((key, None)),
            b'=' => Some((key, Some(self.value()?))),
            _ => None,
        }
    }

    fn value(&mut self) -> Option<Vec<u8>> {
        let (mut value, mut quoted, mut comment) = (Vec::new(), false, false);
        // Where trailing blanks begin.
        let mut end: Option<usize> = None;
        loop {
            match self.next() {
                b'\n' if quoted => return None,
                b'\n' => {
                    value.truncate(end.unwrap_or(value.len()));
                    return Some(value);
                }
                _ if comment => {}
                c if is_space(c) && !quoted => {
                    if !value.is_empty() {
                        end.get_or_insert(value.len());
                        value.push(c);
                    }
                }
                b';' | b'#' if !quoted => comment = true,
                c => {
                    end = None;
                    match c {
                        b'\\' => match self.next() {
                            b'\n' => {}
                            b't' => value.push(b'\t'),
                            b'b' => value.push(8),
                            b'n' => value.push(b'\n'),
                            c @ (b'\\' | b'"') => value.push(c),
                            _ => return None,
                        },
                        b'"' => quoted = !quoted,
                        c => value.push(c),
                    }
                }
            }
        }
    }
}

/// git's own `isspace`.
fn is_space(c: u8) -> bool {
    matches!(c, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_key(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'-'
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::{Command, Stdio};

    use proptest::prelude::*;

    use super::*;

    /// What git reads: each setting as `name\nvalue`, or `None` if git reports an error.
    fn by_git(text: &[u8]) -> Option<Vec<Vec<u8>>> {
        let mut git = Command::new("git")
            .args(["config", "--file", "-", "--no-includes", "--list", "-z"])
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let _ = git.stdin.take().unwrap().write_all(text);
        let output = git.wait_with_output().unwrap();
        let settings = output.stdout.split(|byte| *byte == 0).filter(|part| !part.is_empty());
        output.status.success().then(|| settings.map(<[u8]>::to_vec).collect())
    }

    fn by_us(text: &[u8]) -> Option<Vec<Vec<u8>>> {
        let line = |setting: Setting| {
            let mut line = setting.section.into_bytes();
            for part in [setting.subsection, Some(setting.key.into_bytes())].into_iter().flatten() {
                line.push(b'.');
                line.extend(part);
            }
            if let Some(value) = setting.value {
                line.push(b'\n');
                line.extend(value);
            }
            line
        };
        parse(text).ok().map(|settings| settings.into_iter().map(line).collect())
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        let pieces: &[&[u8]] = &[
            b"[core]\n",
            b"[CORE]",
            b"[remote \"a b\"]\n",
            b"[remote\t\"a\\\"\\x\"] ",
            b"[a.B.c]\n",
            b"[a.b \"C\"]\n",
            b"[",
            b"]",
            b"\tkey = value\n",
            b"fsMonitor=x",
            b"k",
            b"\n",
            b"\r\n",
            b"\r",
            b" ",
            b"\t",
            b"=",
            b"\"",
            b"\\",
            b"\\\n",
            b"\\n",
            b"#",
            b";",
            b"-",
            b".",
            b"\xff",
            b"\xef\xbb\xbf",
            b"x = a # \\\n[core] fsmonitor = y\n",
        ];
        let piece = proptest::sample::select(pieces);
        proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]
        /// We may refuse more than git (a key before the first header), but never read something else.
        #[test]
        fn git_reads_the_same(text in text()) {
            let (ours, gits) = (by_us(&text), by_git(&text));
            let stray = gits.as_ref().is_some_and(|gits| gits.iter().any(|line| {
                !line.split(|byte| *byte == b'\n').next().unwrap().contains(&b'.')
            }));
            if !(stray && ours.is_none()) {
                prop_assert_eq!(ours, gits, "{:?}", String::from_utf8_lossy(&text));
            }
        }

        #[test]
        fn what_we_write_reads_the_same(text in text()) {
            if let Ok(settings) = parse(&text) {
                prop_assert_eq!(parse(&write(&settings)), Ok(settings));
            }
        }
    }

    #[test]
    fn a_file_that_git_reads_differently_than_it_looks_is_refused() {
        assert_eq!(parse(b"[core]\n\tx = a\0b\n"), Err(Unreadable { line: 2 }));
        assert!(parse(b"[core\n").is_err() && parse(b"[core]\n\tx = \"open\n").is_err());
    }
}
