//! Refuses texts that must not reach the parser, or that people and bash read differently.

use super::Opaque;
use crate::base::invisible::{is_control, reorders};

/// Twice the limit of the tools, so that a command always exceeds the limit of its tool first.
const LONGEST: usize = 2 << 20;
/// Every unclosed parenthesis doubles the time that the parser takes. No honest text has more than this.
const DEEPEST_PARENTHESES: usize = 18;
/// The most braces, or words such as `if`, inside one another. This bounds the recursion of the parser.
const DEEPEST: usize = 200;

/// Words that begin and end a compound command.
const OPENERS: [&str; 5] = ["if", "while", "until", "for", "case"];
const CLOSERS: [&str; 3] = ["fi", "done", "esac"];

pub fn check(text: &str) -> Result<(), Opaque> {
    if text.len() > LONGEST {
        return Err(Opaque::hostile(format!("the text is longer than {LONGEST} bytes")));
    }
    if let Some(c) = text.chars().find(|c| is_misleading(*c)) {
        return Err(Opaque::new(format!("it contains {}, which hides what would run", c.escape_unicode())));
    }
    depth(text)
}

/// Whether a character makes people read another command than bash does. Blanks beyond ASCII count, because to bash they
/// are ordinary letters: in `ls\u{a0}x` it looks for a program of that whole name. Characters that are only invisible do
/// not count. Emoji and several scripts need them in ordinary text, and in the name of a program the judge refuses every
/// character beyond ASCII.
fn is_misleading(c: char) -> bool {
    let blank_to_bash = matches!(c, ' ' | '\t' | '\n');
    is_control(c) || reorders(c) || (c.is_whitespace() && !blank_to_bash)
}

/// Counts brackets and words in quotes too. A text with so many of them in quotes is rare, and refusing it does no harm.
fn depth(text: &str) -> Result<(), Opaque> {
    let too_deep = || Opaque::hostile("it is nested too deeply");
    let (mut parentheses, mut braces, mut words) = (0_usize, 0_usize, 0_usize);
    for byte in text.bytes() {
        match byte {
            b'(' => parentheses += 1,
            b')' => parentheses = parentheses.saturating_sub(1),
            b'{' => braces += 1,
            b'}' => braces = braces.saturating_sub(1),
            _ => {}
        }
        if parentheses > DEEPEST_PARENTHESES || braces > DEEPEST {
            return Err(too_deep());
        }
    }
    for word in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-') {
        if OPENERS.contains(&word) {
            words += 1;
        } else if CLOSERS.contains(&word) {
            words = words.saturating_sub(1);
        }
        if words > DEEPEST {
            return Err(too_deep());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn ordinary_texts_pass_and_hostile_ones_do_not() {
        for text in ["ls -la", "echo 'grüße' \"日本\"", "for i in 1 2; do (cd x && ls); done", "a\tb\nc"] {
            assert_eq!(check(text), Ok(()), "{text}");
        }
        let deep = ["(".repeat(200), "if ".repeat(3000), "{ ".repeat(3000), "$(".repeat(40), "x".repeat(3 << 20)];
        for text in &deep {
            assert!(check(text).unwrap_err().hostile, "{}", &text[..20]);
        }
        for text in ["echo a\r\npwn", "ls \u{1b}[2K", "ls\u{a0}x", "echo \u{202e}x", "ls\0"] {
            assert!(check(text).is_err(), "{text:?}");
        }
    }
}
