use super::lines::{body, ending_of, indent_of, without_trailing_blanks};
use super::punctuation;

/// A difference in style between the agent's text and the file's, which does not keep the text from matching.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Difference {
    LineEndings,
    TrailingBlanks,
    Indentation,
    Punctuation,
}

impl Difference {
    pub const ALL: [Self; 4] = [Self::LineEndings, Self::TrailingBlanks, Self::Indentation, Self::Punctuation];

    /// What replies and errors call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::LineEndings => "line endings",
            Self::TrailingBlanks => "trailing blanks",
            Self::Indentation => "indentation",
            Self::Punctuation => "typographic punctuation",
        }
    }

    /// Whether two lines differ in this way.
    pub fn is_between(self, a: &[u8], b: &[u8]) -> bool {
        self.part_of(a) != self.part_of(b)
    }

    /// The part of a line in which this difference shows.
    fn part_of(self, line: &[u8]) -> Vec<u8> {
        match self {
            Self::LineEndings => ending_of(line).to_owned(),
            Self::TrailingBlanks => body(line)[without_trailing_blanks(body(line)).len()..].to_owned(),
            Self::Indentation => line[..indent_of(line)].to_owned(),
            Self::Punctuation => {
                let typographic = |c: &char| punctuation::plain(*c).is_some();
                String::from_utf8_lossy(line).chars().filter(typographic).collect::<String>().into_bytes()
            }
        }
    }
}

/// The names of several differences, for a text.
pub fn names(differences: &[Difference], separator: &str) -> String {
    differences.iter().map(|difference| difference.name()).collect::<Vec<_>>().join(separator)
}
