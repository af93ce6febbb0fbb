//! What a command prints, made safe for the terminal of the person who watches: whole lines, in which colours stay and every
//! other escape sequence goes. No command can move the cursor, change the title or write to the clipboard this way.

use crate::base::invisible::{is_control, is_invisible};

/// One stream. Text comes in pieces, and only whole lines go out.
#[derive(Default)]
pub struct LiveText {
    line: String,
    escape: Escape,
    coloured: bool,
}

#[derive(Default)]
enum Escape {
    #[default]
    None,
    /// After ESC.
    Begun,
    /// `ESC [`, with its parameters so far.
    Control(String),
    /// `ESC ]` and others with a text, which ends with BEL or `ESC \`.
    Text,
    TextEnds,
}

const RESET: &str = "\u{1b}[0m";
/// A line that has no end is shown in parts of this size.
const LONGEST: usize = 4096;

impl LiveText {
    /// The lines that are complete now.
    pub fn push(&mut self, text: &str) -> String {
        let mut out = String::new();
        for c in text.chars() {
            self.add(c, &mut out);
            if self.line.len() > LONGEST {
                self.end_line(&mut out);
            }
        }
        out
    }

    /// The rest, when nothing comes any more.
    pub fn finish(&mut self) -> String {
        let mut out = String::new();
        if !self.line.is_empty() {
            self.end_line(&mut out);
        }
        out
    }

    fn end_line(&mut self, out: &mut String) {
        out.push_str("  ");
        out.push_str(&std::mem::take(&mut self.line));
        if std::mem::take(&mut self.coloured) {
            out.push_str(RESET);
        }
        out.push('\n');
    }

    fn add(&mut self, c: char, out: &mut String) {
        match &mut self.escape {
            Escape::None => match c {
                '\u{1b}' => self.escape = Escape::Begun,
                '\u{9b}' => self.escape = Escape::Control(String::new()),
                '\n' => self.end_line(out),
                // A progress bar overwrites its line. The last state of the line is shown.
                '\r' | '\u{8}' | '\u{7}' => {}
                c if is_control(c) || is_invisible(c) => self.line.push_str(&format!("<U+{:04X}>", u32::from(c))),
                c => self.line.push(c),
            },
            Escape::Begun => {
                self.escape = match c {
                    '[' => Escape::Control(String::new()),
                    ']' | 'P' | 'X' | '^' | '_' => Escape::Text,
                    // Others are two characters long, or three with one of these in the middle.
                    '(' | ')' | '#' | '%' => Escape::Begun,
                    _ => Escape::None,
                };
            }
            Escape::Control(parameters) => match c {
                '0'..='9' | ';' | ':' if parameters.len() < 64 => parameters.push(c),
                '@'..='~' => {
                    if c == 'm' {
                        self.line.push_str(&format!("\u{1b}[{parameters}m"));
                        self.coloured = true;
                    }
                    self.escape = Escape::None;
                }
                ' '..='?' => {}
                _ => self.escape = Escape::None,
            },
            Escape::Text => match c {
                '\u{7}' | '\u{9c}' => self.escape = Escape::None,
                '\u{1b}' => self.escape = Escape::TextEnds,
                _ => {}
            },
            Escape::TextEnds => self.escape = if c == '\\' { Escape::None } else { Escape::Text },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_stay_and_everything_else_goes() {
        let rows = [
            ("plain\n", "  plain\n"),
            ("\u{1b}[31mred\u{1b}[0m\n", "  \u{1b}[31mred\u{1b}[0m\u{1b}[0m\n"),
            ("a\u{1b}[2J\u{1b}[1;1Hb\n", "  ab\n"),
            ("a\u{1b}]0;title\u{7}b\u{1b}]52;c;eA==\u{1b}\\c\n", "  abc\n"),
            ("a\u{9b}31mb\u{202e}\n", "  a\u{1b}[31mb<U+202E>\u{1b}[0m\n"),
        ];
        for (text, want) in rows {
            assert_eq!(LiveText::default().push(text), want, "{text:?}");
            let mut live = LiveText::default();
            let pieces: String = text.chars().map(|c| live.push(&c.to_string())).collect();
            assert_eq!(pieces, want, "in pieces");
        }
        let mut live = LiveText::default();
        assert_eq!((live.push("no end").as_str(), live.finish().as_str()), ("", "  no end\n"));
    }
}
