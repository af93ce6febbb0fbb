//! Characters that a reader does not see, or that change the order of what they see.

/// Whether a character has no shape of its own or reorders the text around it. Control characters are a separate matter:
/// see [`char::is_control`].
pub fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Invisible and control characters written out as `<U+202E>`; newlines and tabs stay.
pub fn made_visible(text: &str) -> String {
    let hidden = |c: char| (c.is_control() && c != '\n' && c != '\t') || is_invisible(c);
    text.chars().map(|c| if hidden(c) { format!("<U+{:04X}>", u32::from(c)) } else { c.to_string() }).collect()
}

#[cfg(test)]
mod tests {
    use super::made_visible;

    #[test]
    fn what_hides_or_reorders_is_written_out() {
        assert_eq!(made_visible("a\u{202e}b\u{1b}[1m\nc\td"), "a<U+202E>b<U+001B>[1m\nc\td");
    }
}
