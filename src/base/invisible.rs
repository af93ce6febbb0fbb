//! Characters that people do not see, or that change the order of the text that they see.

/// Whether a character is a control character, other than a newline or a tab. A terminal may act on it instead of showing
/// it.
pub fn is_control(c: char) -> bool {
    c.is_control() && c != '\n' && c != '\t'
}

/// Whether a character changes the order in which the text around it is shown: the bidirectional controls.
pub fn reorders(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Whether a character is not drawn, or reorders the text around it. Control characters are not included: see
/// [`is_control`].
pub fn is_invisible(c: char) -> bool {
    let not_drawn = matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200d}' | '\u{2028}' | '\u{2029}'
        | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}');
    not_drawn || reorders(c)
}

/// Writes invisible and control characters as `<U+202E>`.
pub fn made_visible(text: &str) -> String {
    let hidden = |c: char| is_control(c) || is_invisible(c);
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
