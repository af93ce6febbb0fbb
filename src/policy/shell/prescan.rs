//! What is refused before a parser sees it.

use super::Opaque;

/// Twice what a command may have, so that this limit is never the first to be met.
const LONGEST: usize = 2 << 20;
/// Open parentheses without their partner cost the parser twice the time each; more than this is no honest text.
const DEEPEST_PARENTHESES: usize = 18;
/// Everything that opens something, words included: bounds the recursion.
const DEEPEST: usize = 200;

/// Words that open a compound command, each with the one that closes it.
const OPENERS: [&str; 5] = ["if", "while", "until", "for", "case"];
const CLOSERS: [&str; 3] = ["fi", "done", "esac"];

pub fn check(text: &str) -> Result<(), Opaque> {
    if text.len() > LONGEST {
        return Err(Opaque::hostile(format!("the text is longer than {LONGEST} bytes")));
    }
    if let Some(c) = text.chars().find(|c| is_odd(*c)) {
        return Err(Opaque::new(format!("it contains {}, which hides what would run", c.escape_unicode())));
    }
    depth(text)
}

/// Characters that bash and a reader see differently.
fn is_odd(c: char) -> bool {
    match c {
        '\t' | '\n' | ' ' => false,
        c if c.is_control() => true,
        // Bidirectional controls.
        '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        // Blanks that are none to bash.
        c => c.is_whitespace(),
    }
}

/// Counts without regard to quotes: a string of brackets in quotes is as rare as it is harmless to refuse.
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
