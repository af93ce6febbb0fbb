use super::super::shell::Word;

/// A command inside the arguments of another one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Carried {
    /// A program and its arguments.
    Words(Vec<Word>),
    /// The same for a program of a package. A rule for a program of that name means another program, unless it restricts.
    Package(Vec<Word>),
    /// Text that a shell will read.
    Text(Word),
}

/// What the arguments of one command make its program do.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Vetted {
    /// Commands that it runs.
    pub carried: Vec<Carried>,
    /// Variables that it sets for the commands it runs.
    pub assignments: Vec<(String, Word)>,
    /// Files that it writes.
    pub writes: Vec<Word>,
    /// Directories that it works in.
    pub inside: Vec<Word>,
    /// Code in another language. It is searched for the names of restricted programs.
    pub code: Vec<Word>,
    /// Why a rule that allows the bare program does not cover these arguments.
    pub unvetted: Vec<Unvetted>,
    /// Whether it runs the program or the commands that it reads from its standard input.
    pub runs_input: bool,
    /// Why nobody can tell what it runs. This counts under every policy.
    pub opaque: Option<String>,
    /// The indices of arguments that begin with a pattern such as `*`. A file name that begins with a dash would become
    /// an option there.
    pub patterns: Vec<usize>,
}

/// Arguments that a rule for the bare program does not cover. A rule that names these very words does.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unvetted {
    /// The index of the last argument that it is about.
    pub at: usize,
    pub why: String,
}

impl Vetted {
    /// `at` is the index of the last argument that the reason is about.
    pub fn unvetted(&mut self, at: usize, why: impl Into<String>) {
        self.unvetted.push(Unvetted { at, why: why.into() });
    }

    /// Notes the first reason and ignores later ones.
    pub fn opaque(&mut self, why: impl Into<String>) {
        self.opaque.get_or_insert(why.into());
    }

    /// Both results together. Every field of `other` is named, so that a new field cannot be forgotten here: a dropped one
    /// would hide a command or a written file from the judge.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        let Self { carried, assignments, writes, inside, code, unvetted, runs_input, opaque, patterns } = other;
        self.carried.extend(carried);
        self.assignments.extend(assignments);
        self.writes.extend(writes);
        self.inside.extend(inside);
        self.code.extend(code);
        self.patterns.extend(patterns);
        self.unvetted.extend(unvetted);
        self.runs_input |= runs_input;
        // One reason is enough for a refusal, and the first one is shown.
        self.opaque = self.opaque.or(opaque);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A result in which every field is filled.
    fn filled(text: &str) -> Vetted {
        let word = || Word::literal(text);
        Vetted {
            carried: vec![Carried::Text(word())],
            assignments: vec![(text.to_owned(), word())],
            writes: vec![word()],
            inside: vec![word()],
            code: vec![word()],
            unvetted: vec![Unvetted { at: text.len(), why: text.to_owned() }],
            runs_input: true,
            opaque: Some(text.to_owned()),
            patterns: vec![text.len()],
        }
    }

    #[test]
    fn nothing_is_lost_when_two_results_are_joined() {
        assert_eq!(Vetted::default().and(filled("a")), filled("a"));
        assert_eq!(filled("a").and(Vetted::default()), filled("a"));
        let both = filled("a").and(filled("bb"));
        let lengths = [both.carried.len(), both.assignments.len(), both.writes.len(), both.inside.len()];
        assert_eq!((lengths, both.code.len(), both.patterns), ([2; 4], 2, vec![1, 2]));
        assert_eq!((both.unvetted.len(), both.opaque.as_deref()), (2, Some("a")));
    }
}
