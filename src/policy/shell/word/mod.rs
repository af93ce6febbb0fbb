//! Splits one word, as it is in the source text, into its pieces. [`expansions`] handles everything that begins with `$`
//! and backticks.

mod expansions;

use super::ast::{Piece, Word};
use super::{Opaque, convert, extent};

/// Where the text is, which decides what its characters mean.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Context {
    /// An ordinary word.
    Plain,
    /// Inside double quotes or arithmetic. Only `$`, backticks and some backslashes are special.
    Quoted,
    /// Inside a here-document. As inside double quotes, but a double quote is an ordinary character.
    Document,
}

/// A word of a command. Its brace expressions have been expanded.
pub fn parse(raw: &str, depth: usize) -> Result<Word, Opaque> {
    Scanner { raw, bytes: raw.as_bytes(), at: 0, depth, pieces: Vec::new() }.scan(Context::Plain)
}

/// The body of a here-document whose delimiter is not quoted.
pub fn parse_document(raw: &str, depth: usize) -> Result<Word, Opaque> {
    Scanner { raw, bytes: raw.as_bytes(), at: 0, depth, pieces: Vec::new() }.scan(Context::Document)
}

/// The inside of double quotes, or another text of which only the expansions matter.
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
                    return Err(Opaque::new(format!(
                        "there is a `{}` where a word is expected",
                        &self.raw[self.at..=self.at]
                    )));
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
        // All special bytes are ASCII, so the slice ends between two characters.
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
        // A backslash before a newline joins the two lines.
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
        // An empty pair of quotes still makes a word.
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

    /// Pattern characters. A simple set such as `[a-z]` can be written out again, any other set cannot.
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
}

/// If a here-document began earlier on the same line, the parser reads the inside of an expansion as separate words and
/// leaves its brackets empty. No honest text has empty brackets there.
fn displaced() -> Opaque {
    Opaque::new("an expansion is empty, or follows a here-document on its line: put the here-document last")
}

fn unclosed(what: &str) -> Opaque {
    Opaque::broken(format!("a `{what}` is not closed"))
}
