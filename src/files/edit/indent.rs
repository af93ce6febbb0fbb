//! Converts the indentation an agent wrote to the file's: tabs for spaces, another width, or everything deeper.

use std::collections::HashMap;

use super::lines::{indent_of, split};

/// How each indentation in the agent's text is written in the file.
#[derive(Debug, Eq, PartialEq)]
pub struct Indents {
    /// The agent's indentation and the file's, from the shallowest to the deepest.
    pairs: Vec<(String, String)>,
    written: Unit,
    found: Unit,
}

/// One level of indentation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Unit {
    Tab,
    Spaces(usize),
}

/// What one level is in the agent's text, and usually in the file.
#[derive(Clone, Copy, Debug)]
pub struct IndentUnits {
    written: Unit,
    usual: Unit,
}

impl IndentUnits {
    pub fn of(written: &str, file: &[u8]) -> Self {
        let written = Unit::of(written.lines().map(|line| &line[..indent_of(line.as_bytes())]));
        Self { written, usual: Unit::usual(file) }
    }
}

impl Indents {
    /// Takes the agent's indentation and the file's for each line. `None` if they do not have the same shape: one depth of
    /// the agent's is two depths in the file, or a deeper line is a shallower one in the file.
    pub fn new<'a>(lines: impl Iterator<Item = (&'a str, &'a str)>, units: IndentUnits) -> Option<Self> {
        let IndentUnits { written, usual } = units;
        let mut known: HashMap<&str, &str> = HashMap::new();
        for (from, to) in lines {
            if *known.entry(from).or_insert(to) != to {
                return None;
            }
        }
        let mut pairs: Vec<(String, String)> =
            known.into_iter().map(|(from, to)| (from.to_owned(), to.to_owned())).collect();
        pairs.sort_by_key(|(from, _)| width(from));
        if pairs.windows(2).any(|two| width(&two[0].0) >= width(&two[1].0) || width(&two[0].1) >= width(&two[1].1)) {
            return None;
        }
        let steps = pairs.windows(2).map(|two| two[1].1.strip_prefix(two[0].1.as_str()).unwrap_or(&two[1].1));
        let found = if pairs.iter().any(|(_, to)| to.contains('\t')) {
            Unit::Tab
        } else if pairs.len() > 1 {
            Unit::of(steps)
        } else if pairs.iter().any(|(from, _)| from.contains('\t')) {
            usual
        } else {
            written
        };
        Some(Self { pairs, written, found })
    }

    /// The file's form of an indentation that the agent wrote.
    pub fn apply(&self, indent: &str) -> String {
        if let Some((_, to)) = self.pairs.iter().find(|(from, _)| from == indent) {
            return to.clone();
        }
        let shallower = self.pairs.iter().rev().find_map(|(from, to)| Some((indent.strip_prefix(from.as_str())?, to)));
        if let Some((rest, to)) = shallower {
            return format!("{to}{}", self.convert(rest));
        }
        let deeper = self.pairs.iter().find_map(|(from, to)| Some((from.strip_prefix(indent)?, to)));
        match deeper {
            Some((rest, to)) => to.strip_suffix(self.convert(rest).as_str()).unwrap_or("").to_owned(),
            None => self.convert(indent),
        }
    }

    fn convert(&self, rest: &str) -> String {
        let (steps, odd) = match self.written {
            Unit::Tab => (rest.matches('\t').count(), rest.matches(' ').count()),
            Unit::Spaces(count) => (width(rest) / count, width(rest) % count),
        };
        let step = match self.found {
            Unit::Tab => "\t".to_owned(),
            Unit::Spaces(count) => " ".repeat(count),
        };
        step.repeat(steps) + &" ".repeat(odd)
    }
}

impl Unit {
    fn of<'a>(indents: impl Iterator<Item = &'a str>) -> Self {
        let mut step = 0;
        for indent in indents {
            if indent.contains('\t') {
                return Self::Tab;
            }
            step = greatest_common_divisor(step, indent.len());
        }
        if step == 0 { Self::Spaces(4) } else { Self::Spaces(step) }
    }

    /// The most common step from one line of the file to the next.
    fn usual(file: &[u8]) -> Self {
        const LOOKED_AT: usize = 2_000;
        let mut counts = [0_usize; 9];
        let mut before = 0;
        for line in split(file).take(LOOKED_AT).filter(|line| !line.trim_ascii().is_empty()) {
            let now = indent_of(line);
            if let Some(count) = now.checked_sub(before).and_then(|step| counts.get_mut(step)) {
                *count += 1;
            }
            before = now;
        }
        (1..counts.len())
            .rev()
            .max_by_key(|step| counts[*step])
            .filter(|step| counts[*step] > 0)
            .map_or(Self::Spaces(4), Self::Spaces)
    }
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// The width in columns; a tab counts four.
fn width(indent: &str) -> usize {
    indent.chars().map(|c| if c == '\t' { 4 } else { 1 }).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_indentation_is_converted_to_the_files_style() {
        type Pairs<'a> = &'a [(&'a str, &'a str)];
        let rows: [(Pairs<'_>, &str, Pairs<'_>); 6] = [
            // Spaces written, tabs found.
            (
                &[("    ", "\t"), ("        ", "\t\t")],
                "    a\n        b",
                &[("", ""), ("            ", "\t\t\t"), ("      ", "\t  ")],
            ),
            // Tabs written, spaces found.
            (&[("\t", "  "), ("\t\t", "    ")], "\ta\n\t\tb", &[("\t\t\t", "      "), ("", "")]),
            // Everything deeper.
            (&[("", "    "), ("    ", "        ")], "a\n    b", &[("        ", "            ")]),
            // Everything shallower.
            (&[("        ", "    ")], "        a\n    b", &[("    ", ""), ("            ", "        ")]),
            // Another width.
            (&[("  ", "    "), ("    ", "        ")], "  a\n    b", &[("      ", "            ")]),
            // One line only: the file's tab is all there is to go by.
            (&[("  ", "\t")], "  a\n    b", &[("    ", "\t\t"), ("", "")]),
        ];
        for (pairs, written, want) in rows {
            let indents = Indents::new(pairs.iter().copied(), IndentUnits::of(written, b"")).unwrap();
            for (from, to) in want {
                assert_eq!(indents.apply(from), *to, "{from:?} by {pairs:?}");
            }
        }
    }

    #[test]
    fn another_shape_is_no_match() {
        let rows: [&[(&str, &str)]; 3] =
            [&[("  ", "\t"), ("  ", "\t\t")], &[("", "\t"), ("  ", "")], &[("", "  "), ("  ", "  ")]];
        for pairs in rows {
            assert_eq!(Indents::new(pairs.iter().copied(), IndentUnits::of("  x", b"")), None, "{pairs:?}");
        }
    }

    #[test]
    fn the_usual_step_of_a_file_is_found() {
        assert_eq!(Unit::usual(b"a\n  b\n    c\n  d\ne\n  f\n"), Unit::Spaces(2));
        assert_eq!(Unit::usual(b"a\nb\n"), Unit::Spaces(4));
    }
}
