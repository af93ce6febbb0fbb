//! How a line of the file differs from the line an agent expected, in words.

use super::lines::{indent_of, without_trailing_blanks};
use super::punctuation::made_plain;

/// How two lines differ. The most harmless kind of difference is tried first.
pub fn how(file: &[u8], old: &[u8]) -> String {
    let squeezed = |line: &[u8]| line.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect::<Vec<u8>>();
    if without_trailing_blanks(file) == without_trailing_blanks(old) {
        "trailing blanks".to_owned()
    } else if file.trim_ascii() == old.trim_ascii() {
        let (in_file, in_old) = (IndentKind::of(file), IndentKind::of(old));
        if in_file == in_old {
            let name = in_file.name();
            format!("indentation: {} {name} in the file, {} in old_str", indent_of(file), indent_of(old))
        } else {
            format!("indentation: {} in the file, {} in old_str", in_file.name(), in_old.name())
        }
    } else if squeezed(file) == squeezed(old) {
        "tabs or spaces inside the line".to_owned()
    } else if made_plain(file) == made_plain(old) {
        "typographic quotes, dashes or spaces".to_owned()
    } else if String::from_utf8_lossy(file).to_lowercase() == String::from_utf8_lossy(old).to_lowercase() {
        "upper and lower case".to_owned()
    } else {
        let (file, old) = (String::from_utf8_lossy(file), String::from_utf8_lossy(old));
        let same = file.chars().zip(old.chars()).take_while(|(a, b)| a == b).count();
        format!("wording, from column {}", same + 1)
    }
}

/// Both lines, one below the other.
pub fn side_by_side(file: &[u8], old: &[u8]) -> String {
    format!("  the file has: {}\n  old_str has:  {}", visible(file), visible(old))
}

/// A line with its tabs and trailing spaces made visible.
pub fn visible(line: &[u8]) -> String {
    const LONGEST: usize = 200;
    let text = String::from_utf8_lossy(line);
    let shown: String = text.chars().take(LONGEST).collect();
    let end = shown.trim_end_matches(' ').len();
    let dots = "·".repeat(shown.len() - end);
    format!("{}{dots}{}", shown[..end].replace('\t', "→"), if text.chars().count() > LONGEST { "…" } else { "" })
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum IndentKind {
    None,
    Tabs,
    Spaces,
    Mixed,
}

impl IndentKind {
    fn of(line: &[u8]) -> Self {
        let indent = &line[..indent_of(line)];
        match (indent.contains(&b'\t'), indent.contains(&b' ')) {
            (false, false) => Self::None,
            (true, false) => Self::Tabs,
            (false, true) => Self::Spaces,
            (true, true) => Self::Mixed,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Tabs => "tabs",
            Self::Spaces => "spaces",
            Self::Mixed => "tabs and spaces",
        }
    }
}
