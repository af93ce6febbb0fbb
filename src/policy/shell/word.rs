//! One raw word, as the parser cut it out of the text, → its pieces.

use super::ast::{Piece, Word};
use super::{Opaque, ansi, convert, extent};

/// What quotes mean where the text stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Context {
    /// An ordinary word.
    Plain,
    /// Between double quotes, in arithmetic: only `$`, backticks and some backslashes matter.
    Quoted,
    /// A here-document: as between double quotes, but a double quote is nothing special.
    Document,
}

/// A word of a command, brace expressions already expanded.
pub fn parse(raw: &str, depth: usize) -> Result<Word, Opaque> {
    Scanner { raw, bytes: raw.as_bytes(), at: 0, depth, pieces: Vec::new() }.scan(Context::Plain)
}

/// The body of a here-document whose delimiter is not quoted.
pub fn parse_document(raw: &str, depth: usize) -> Result<Word, Opaque> {
    Scanner { raw, bytes: raw.as_bytes(), at: 0, depth, pieces: Vec::new() }.scan(Context::Document)
}

/// The inside of double quotes, or any text of which only the expansions matter.
pub fn parse_quoted(raw: &str, depth: usize) -> Result<Word, Opaque> {
    Scanner { raw, bytes: raw.as_bytes(), at: 0, depth, pieces: Vec::new() }.scan(Context::Quoted)
}

struct Scanner<'a> {
    raw: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    pieces: Vec<Piece>,
}

impl Scanner<'_> {
    fn scan(mut self, context: Context) -> Result<Word, Opaque> {
        if context == Context::Plain {
            self.tilde();
        }
        while self.at < self.bytes.len() {
            match (self.bytes[self.at], context) {
                (b'$', _) => self.dollar(context)?,
                (b'`', _) => self.backticks(context)?,
                (b'\\', Context::Plain) => self.backslash(),
                (b'\\', _) => self.quoted_backslash(context),
                (b'\'', Context::Plain) => {
                    let end = extent::single_quote(self.bytes, self.at + 1).ok_or_else(|| unclosed("'"))?;
                    self.literal(&self.raw[self.at + 1..end]);
                    self.at = end + 1;
                }
                (b'"', Context::Plain) => self.double_quotes(self.at + 1)?,
                (b'*' | b'?' | b'[', Context::Plain) => self.glob(),
                (b'<' | b'>', Context::Plain) if self.bytes.get(self.at + 1) == Some(&b'(') => self.process()?,
                (b'(' | b')' | b'<' | b'>' | b'|' | b'&' | b';', Context::Plain) => {
                    return Err(Opaque::new(format!("`{}` stands where a word belongs", &self.raw[self.at..=self.at])));
                }
                _ => self.ordinary(context),
            }
        }
        Ok(Word { pieces: self.pieces })
    }

    fn process(&mut self) -> Result<(), Opaque> {
        let (output, from) = (self.bytes[self.at] == b'>', self.at + 2);
        let end = extent::parenthesis(self.bytes, from).ok_or_else(|| unclosed("<("))?;
        let script = convert::script(&self.raw[from..end], self.depth + 1)?;
        self.pieces.push(Piece::Process { script, output });
        self.at = end + 1;
        Ok(())
    }

    fn literal(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Literal(last)) => last.push_str(text),
            _ => self.pieces.push(Piece::Literal(text.to_owned())),
        }
    }

    fn ordinary(&mut self, context: Context) {
        let special: &[u8] = if context == Context::Plain { b"$`\\'\"*?[()<>|&;" } else { b"$`\\" };
        let end = self.bytes[self.at + 1..].iter().position(|byte| special.contains(byte));
        let end = end.map_or(self.bytes.len(), |found| self.at + 1 + found);
        // A special byte is ASCII, so the cut is between characters.
        self.literal(&self.raw[self.at..end]);
        self.at = end;
    }

    fn tilde(&mut self) {
        if self.bytes.first() != Some(&b'~') {
            return;
        }
        let end = self.bytes.iter().position(|byte| *byte == b'/').unwrap_or(self.bytes.len());
        let user = &self.raw[1..end];
        if user.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-+".contains(&byte)) {
            self.pieces.push(Piece::Tilde(user.to_owned()));
            self.at = end;
        }
    }

    fn backslash(&mut self) {
        let Some(next) = self.raw[self.at + 1..].chars().next() else {
            self.literal("\\");
            self.at += 1;
            return;
        };
        // A backslash before a newline joins the lines.
        if next != '\n' {
            self.literal(next.encode_utf8(&mut [0; 4]));
        }
        self.at += 1 + next.len_utf8();
    }

    fn quoted_backslash(&mut self, context: Context) {
        match self.bytes.get(self.at + 1) {
            Some(b'\n') => self.at += 2,
            Some(b'"') if context == Context::Document => {
                self.literal("\\\"");
                self.at += 2;
            }
            Some(b'$' | b'`' | b'\\' | b'"') => {
                let next = &self.raw[self.at + 1..self.at + 2];
                self.literal(next);
                self.at += 2;
            }
            _ => {
                self.literal("\\");
                self.at += 1;
            }
        }
    }

    fn double_quotes(&mut self, from: usize) -> Result<(), Opaque> {
        let end = extent::double_quote(self.bytes, from).ok_or_else(|| unclosed("\""))?;
        let inside = parse_quoted(&self.raw[from..end], self.depth)?;
        // An empty pair of quotes is still a word.
        self.literal("");
        for piece in inside.pieces {
            match piece {
                Piece::Literal(text) => self.literal(&text),
                piece => self.pieces.push(piece),
            }
        }
        self.at = end + 1;
        Ok(())
    }

    /// Pattern characters. A simple set is kept as it is; an odd one is seen but not written out again.
    fn glob(&mut self) {
        let byte = self.bytes[self.at];
        if byte != b'[' {
            self.pieces.push(Piece::Glob(char::from(byte).to_string()));
            self.at += 1;
            return;
        }
        let simple = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.,:!^-".contains(byte);
        let inside = self.bytes[self.at + 1..].iter().take_while(|byte| simple(byte)).count();
        let end = self.at + 1 + inside;
        if inside > 0 && self.bytes.get(end) == Some(&b']') {
            self.pieces.push(Piece::Glob(self.raw[self.at..=end].to_owned()));
            self.at = end + 1;
        } else if self.bytes[self.at..].contains(&b']') {
            self.pieces.push(Piece::Other { text: "[".to_owned(), inner: Vec::new(), evaluates: false });
            self.at += 1;
        } else {
            self.literal("[");
            self.at += 1;
        }
    }

    fn dollar(&mut self, context: Context) -> Result<(), Opaque> {
        let quoted = context != Context::Plain;
        let next = self.bytes.get(self.at + 1).copied();
        match next {
            // Bash joins the lines first, and then it may be an expansion.
            Some(b'\\') if self.bytes.get(self.at + 2) == Some(&b'\n') => {
                Err(Opaque::new("a `$` stands at the end of a line that goes on"))
            }
            Some(b'(') if self.bytes.get(self.at + 2) == Some(&b'(') => self.arithmetic(quoted),
            Some(b'(') => {
                let from = self.at + 2;
                let end = extent::parenthesis(self.bytes, from).ok_or_else(|| unclosed("$("))?;
                self.substitution(&self.raw[from..end], quoted, end + 1)
            }
            Some(b'{') => self.braced(quoted),
            Some(b'[') => Err(Opaque::new("it uses the old arithmetic $[…]; write $((…))")),
            Some(b'\'') if !quoted => {
                let end = extent::escaped(self.bytes, self.at + 2, b'\'').ok_or_else(|| unclosed("$'"))?;
                let text = ansi::decode(&self.raw[self.at + 2..end])
                    .ok_or_else(|| Opaque::new("it uses an escape in $'…' that is not understood here"))?;
                self.literal(&text);
                self.at = end + 1;
                Ok(())
            }
            // Without a message catalogue `$"…"` is `"…"`, and it is written out as that.
            Some(b'"') if !quoted => self.double_quotes(self.at + 2),
            Some(c) if c == b'_' || c.is_ascii_alphabetic() => {
                let name = |byte: &&u8| **byte == b'_' || byte.is_ascii_alphanumeric();
                let end = self.at + 1 + self.bytes[self.at + 1..].iter().take_while(name).count();
                let name = self.raw[self.at + 1..end].to_owned();
                self.pieces.push(Piece::Parameter { name, quoted });
                self.at = end;
                Ok(())
            }
            Some(c) if b"@*#?$!-0123456789".contains(&c) => {
                self.pieces.push(Piece::Parameter { name: char::from(c).to_string(), quoted });
                self.at += 2;
                Ok(())
            }
            _ => {
                self.literal("$");
                self.at += 1;
                Ok(())
            }
        }
    }

    fn substitution(&mut self, inside: &str, quoted: bool, behind: usize) -> Result<(), Opaque> {
        let script = convert::script(inside, self.depth + 1)?;
        if script.statements.is_empty() {
            return Err(displaced());
        }
        self.pieces.push(Piece::Substitution { script, quoted });
        self.at = behind;
        Ok(())
    }

    fn backticks(&mut self, context: Context) -> Result<(), Opaque> {
        let end = extent::escaped(self.bytes, self.at + 1, b'`').ok_or_else(|| unclosed("`"))?;
        let mut inside = String::new();
        let mut rest = self.raw[self.at + 1..end].chars().peekable();
        while let Some(c) = rest.next() {
            let quote = context == Context::Quoted && rest.peek() == Some(&'"');
            match (c, rest.peek()) {
                ('\\', Some('`' | '$' | '\\')) => inside.extend(rest.next()),
                ('\\', _) if quote => inside.extend(rest.next()),
                (c, _) => inside.push(c),
            }
        }
        self.substitution(&inside, context != Context::Plain, end + 1)
    }

    fn arithmetic(&mut self, quoted: bool) -> Result<(), Opaque> {
        let from = self.at + 3;
        let ambiguous =
            || Opaque::new("`$((` is neither clearly arithmetic nor clearly a command; put a blank after `$(`");
        let end = extent::parenthesis(self.bytes, from).ok_or_else(|| unclosed("$(("))?;
        if self.bytes.get(end + 1) != Some(&b')') {
            return Err(ambiguous());
        }
        let text = &self.raw[from..end];
        if text.trim().is_empty() {
            return Err(displaced());
        }
        let plain = text.bytes().all(|byte| byte.is_ascii_digit() || b" +-*/%<>=!&|^~?:,()".contains(&byte));
        let piece = if plain {
            Piece::Number { text: text.trim().to_owned(), quoted }
        } else {
            let text = text.to_owned();
            Piece::Other {
                inner: vec![parse_quoted(&text, self.depth)?],
                text: format!("$(({text}))"),
                evaluates: true,
            }
        };
        self.pieces.push(piece);
        self.at = end + 2;
        Ok(())
    }

    fn braced(&mut self, quoted: bool) -> Result<(), Opaque> {
        let from = self.at + 2;
        let end = extent::brace(self.bytes, from).ok_or_else(|| unclosed("${"))?;
        let inside = self.raw[from..end].to_owned();
        self.at = end + 1;
        let is_name = |text: &str| {
            text.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric())
                && text
                    .bytes()
                    .next()
                    .is_some_and(|first| !first.is_ascii_digit() || text.bytes().all(|b| b.is_ascii_digit()))
        };
        let special = inside.len() == 1 && b"@*#?$!-".contains(&inside.as_bytes()[0]);
        if is_name(&inside) || special {
            self.pieces.push(Piece::Parameter { name: inside, quoted });
            return Ok(());
        }
        if inside.is_empty() {
            return Err(displaced());
        }
        if inside.starts_with([' ', '\t', '\n', '|']) {
            return Err(Opaque::new("newer shells run what stands in `${ …; }`"));
        }
        if !quoted && (inside.contains("<(") || inside.contains(">(")) {
            return Err(Opaque::new("a process substitution stands inside `${…}`"));
        }
        let length = inside.strip_prefix('#').is_some_and(is_name);
        let name = inside.bytes().take_while(|byte| *byte == b'_' || byte.is_ascii_alphanumeric()).count();
        let operator = inside[name..].chars().next();
        // Defaults, alternatives, prefixes, suffixes, replacements and letter case only shape a value. Everything else
        // may look into a subscript, another variable or a prompt.
        let shapes = name > 0
            && (matches!(operator, Some('-' | '+' | '?' | '%' | '#' | '/' | '^' | ','))
                || (operator == Some(':') && matches!(inside.as_bytes().get(name + 1), Some(b'-' | b'+' | b'?'))));
        let inner = vec![parse_quoted(&inside, self.depth)?];
        self.pieces.push(Piece::Other { text: format!("${{{inside}}}"), inner, evaluates: !(length || shapes) });
        Ok(())
    }
}

/// The parser takes the inside of an expansion for words of its own where a here-document began on the same line, and
/// leaves the brackets empty; nobody writes them so.
fn displaced() -> Opaque {
    Opaque::new("an expansion is empty, or stands behind a here-document: put the here-document last on its line")
}

fn unclosed(what: &str) -> Opaque {
    Opaque::new(format!("a `{what}` is not closed"))
}
