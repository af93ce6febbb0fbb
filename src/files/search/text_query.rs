use std::path::Path;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::{Types, TypesBuilder};

use crate::files::FileError;

/// Which text to search in which files, and which page of the matches to show.
#[derive(Clone, Debug)]
pub struct TextQuery {
    pub pattern: String,
    pub glob: Option<String>,
    pub kind: Option<String>,
    pub mode: GrepMode,
    pub context: usize,
    pub ignore_case: bool,
    pub multiline: bool,
    pub max_results: usize,
    pub offset: usize,
    pub no_ignore: bool,
}

/// What is shown of a file with matches.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum GrepMode {
    /// The number of matches and the first match.
    #[default]
    Files,
    /// The matching lines.
    Content,
    /// The number of matches.
    Count,
}

impl GrepMode {
    /// How many results of a file with `count` matches lie before the page, and how many on it. The page leaves out `skip`
    /// results and has room for `take`.
    pub fn share(self, count: usize, skip: usize, take: usize) -> (usize, usize) {
        let results = if self == Self::Content { count } else { 1 };
        let passed = results.min(skip);
        (passed, (results - passed).min(take))
    }

    /// Which matches of a file are shown as lines: how many are left out first, and how many follow.
    pub fn lines(self, count: usize, passed: usize, taken: usize) -> (usize, usize) {
        match self {
            Self::Files => (0, 1),
            Self::Content => (passed, taken.min(count)),
            Self::Count => (0, 0),
        }
    }
}

impl TextQuery {
    /// Whether a match may cross lines. A pattern that contains a line ending cannot match otherwise.
    pub fn is_multiline(&self) -> bool {
        self.multiline || self.has_line_ending()
    }

    fn has_line_ending(&self) -> bool {
        let mut characters = self.pattern.chars();
        while let Some(character) = characters.next() {
            // A backslash takes the next character with it: `\\n` is a backslash and an n.
            if character == '\n' || character == '\\' && characters.next() == Some('n') {
                return true;
            }
        }
        false
    }

    /// Whether matches may cross lines although nobody asked for it.
    pub fn became_multiline(&self) -> bool {
        !self.multiline && self.has_line_ending()
    }

    /// The query that finds the pattern as plain text. `None` if that is the same.
    pub fn literal(&self) -> Option<Self> {
        let pattern = regex::escape(&self.pattern);
        (pattern != self.pattern).then(|| Self { pattern, mode: GrepMode::Count, ..self.clone() })
    }

    pub fn context(&self) -> usize {
        if self.mode == GrepMode::Content { self.context } else { 0 }
    }

    pub fn matcher(&self) -> Result<RegexMatcher, FileError> {
        let bad = |message: String, hint: &str| Err(FileError::BadSearch { message, hint: hint.to_owned() });
        if self.pattern.is_empty() {
            return bad("pattern must not be empty".to_owned(), "");
        }
        let mut builder = RegexMatcherBuilder::new();
        builder.multi_line(true).crlf(true).case_insensitive(self.ignore_case);
        if self.is_multiline() {
            builder.line_terminator(None).dot_matches_new_line(self.multiline);
        }
        match builder.build(&self.pattern) {
            Ok(matcher) => Ok(matcher),
            Err(error) => bad(
                format!("invalid pattern: {error}"),
                "The pattern is a regular expression: escape ( ) [ ] { } . * + ? | ^ $ \\ to match them as text.",
            ),
        }
    }

    /// Which files are searched, by type and by glob. The glob only narrows the search; it does not include ignored files.
    pub fn files(&self, base: &Path) -> Result<(Types, Override), FileError> {
        let mut types = TypesBuilder::new();
        types.add_defaults();
        if let Some(kind) = &self.kind {
            let known: Vec<String> = types.definitions().iter().map(|known| known.name().to_owned()).collect();
            if !known.iter().any(|name| name == kind) {
                let near = crate::base::spelling::nearest(kind, known.iter().map(String::as_str));
                let hint = near.map(|name| format!("Did you mean \"{name}\"? ")).unwrap_or_default();
                return Err(FileError::BadSearch {
                    message: format!("unknown file type \"{kind}\""),
                    hint: format!(
                        "{hint}The types are those of ripgrep: rust, py, js, ts, go, java, c, cpp, md, json, …"
                    ),
                });
            }
            types.select(kind);
        }
        let mut globs = OverrideBuilder::new(base);
        for glob in self.glob.iter().flat_map(|glob| glob.split_whitespace()) {
            globs.add(glob).map_err(|error| bad_glob(glob, &error))?;
        }
        let bad = |error: ignore::Error| bad_glob(self.glob.as_deref().unwrap_or_default(), &error);
        Ok((types.build().map_err(bad)?, globs.build().map_err(bad)?))
    }
}

fn bad_glob(glob: &str, error: &ignore::Error) -> FileError {
    FileError::BadSearch {
        message: format!("invalid glob {glob:?}: {error}"),
        hint: "Examples of globs: *.rs, src/**/*.ts, !*.min.js.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_takes_its_share_of_each_file() {
        let rows = [
            (GrepMode::Content, 10, 0, 4, (0, 4)),
            (GrepMode::Content, 10, 7, 4, (7, 3)),
            (GrepMode::Content, 2, 7, 4, (2, 0)),
            (GrepMode::Files, 10, 0, 4, (0, 1)),
            (GrepMode::Files, 10, 3, 4, (1, 0)),
            (GrepMode::Count, 10, 0, 0, (0, 0)),
        ];
        for (mode, count, skip, take, want) in rows {
            assert_eq!(mode.share(count, skip, take), want, "{mode:?} {count} {skip} {take}");
        }
    }
}
