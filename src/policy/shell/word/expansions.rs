//! Expansions inside a word: `$x`, `${…}`, `$(…)`, `$((…))`, backticks and `$'…'`.

use super::super::ast::Piece;
use super::super::{Opaque, ansi, convert, extent};
use super::{Context, Scanner, displaced, parse_quoted, unclosed};

impl Scanner<'_> {
    pub(super) fn dollar(&mut self, context: Context) -> Result<(), Opaque> {
        let quoted = context != Context::Plain;
        let next = self.bytes.get(self.at + 1).copied();
        match next {
            // Bash joins the lines first, and then the `$` may begin an expansion.
            Some(b'\\') if self.bytes.get(self.at + 2) == Some(&b'\n') => {
                Err(Opaque::new("a line that is continued ends with `$`"))
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
                    .ok_or_else(|| Opaque::new("it has an escape in $'…' that is not supported"))?;
                self.literal(&text);
                self.at = end + 1;
                Ok(())
            }
            // Without a message catalogue `$"…"` means `"…"`, and it is written out as `"…"`.
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

    pub(super) fn backticks(&mut self, context: Context) -> Result<(), Opaque> {
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
            return Err(Opaque::new("newer shells run the commands in `${ …; }`"));
        }
        if !quoted && (inside.contains("<(") || inside.contains(">(")) {
            return Err(Opaque::new("there is a process substitution inside `${…}`"));
        }
        let length = inside.strip_prefix('#').is_some_and(is_name);
        if length || is_plain_default_or_cut(&inside) {
            self.pieces.push(Piece::Derived { inside, quoted });
            return Ok(());
        }
        let name = inside.bytes().take_while(|byte| *byte == b'_' || byte.is_ascii_alphanumeric()).count();
        let operator = inside[name..].chars().next();
        // Defaults, alternatives, prefixes, suffixes, replacements and letter case only change a value. All other forms
        // may evaluate a subscript, another variable or a prompt.
        let only_changes = name > 0
            && (matches!(operator, Some('-' | '+' | '?' | '%' | '#' | '/' | '^' | ','))
                || (operator == Some(':') && matches!(inside.as_bytes().get(name + 1), Some(b'-' | b'+' | b'?'))));
        let inner = vec![parse_quoted(&inside, self.depth)?];
        self.pieces.push(Piece::Other { text: format!("${{{inside}}}"), inner, evaluates: !only_changes });
        Ok(())
    }
}

/// `NAME:-WORD`, `NAME-WORD`, `NAME:+WORD`, `NAME+WORD`, `NAME%PATTERN`, `NAME#PATTERN`, where the word has no character
/// that bash expands, quotes or splits. So it means the same with and without quotes around it.
fn is_plain_default_or_cut(inside: &str) -> bool {
    let name = inside.bytes().take_while(|byte| *byte == b'_' || byte.is_ascii_alphanumeric()).count();
    let operators = [":-", ":+", "-", "+", "%%", "%", "##", "#"];
    let behind = operators.iter().find_map(|operator| Some((*operator, inside[name..].strip_prefix(operator)?)));
    let Some((operator, word)) = behind.filter(|_| name > 0) else { return false };
    let pattern = operator.starts_with(['%', '#']);
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || b"_./:=@,+-".contains(&byte) || (pattern && b"*?".contains(&byte));
    word.bytes().all(plain)
}
