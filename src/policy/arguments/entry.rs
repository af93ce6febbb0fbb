use super::super::shell::Word;

/// What is known of one program, or of several that are alike.
#[derive(Debug)]
pub struct Entry {
    /// Names, blanks between them.
    pub programs: &'static str,
    /// Why it has an entry.
    pub reason: &'static str,
    /// Options that are only what they seem; a value glued on with `=` is data. `-#` stands for a number.
    pub flags: &'static str,
    /// Options whose value, glued or the next word, is only data.
    pub values: &'static str,
    /// Options that do something with their value.
    pub effects: &'static [(&'static str, Effect)],
    /// What an option that is not listed means.
    pub others: Others,
    pub operands: Operands,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Others {
    Unvetted,
    /// The program has no option that could hurt but those listed.
    Plain,
}

/// What an option does with its value.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Effect {
    /// Runs it as a command.
    Run,
    /// Runs the words that follow, up to `;` or `+` or the end.
    RunWords,
    /// Runs what follows `exec=` in it.
    RunAction,
    /// Writes the file of that name.
    Write,
    /// Writes it, unless a colon in it makes it another machine's.
    Archive,
    /// Works in that directory, so it must be in the project.
    Inside,
    /// Evaluates it as code that cannot be judged here.
    Code,
    /// Evaluates it as a script of which the harmless part is known.
    Script(Language),
    /// Writes the operands: `sed -i`.
    InPlace,
    /// Takes no value, and cannot be vetted.
    Refuse,
    /// Takes a value, and cannot be vetted.
    RefuseValue,
    /// Reads code from a variable's name: a subscript in it is evaluated.
    Subscript,
    /// `python -m`: the named module is run.
    Module,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Language {
    Sed,
    Awk,
}

/// What the words that are not options mean.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Operands {
    Plain,
    /// As `Plain`; the very first may be options without their dash.
    Bundle,
    /// Files that are written, the last of them, the first of them.
    Write,
    WriteLast,
    WriteFirst,
    /// `of=FILE`.
    WriteOf,
    /// After so many, a command follows.
    Command(usize),
    /// As `Command(0)`, with arguments that come from elsewhere.
    FedCommand,
    /// Assignments, then a command.
    Environment,
    /// A shell: its text follows `-c`, otherwise a file or its input is run.
    Shell,
    /// The first is a script unless an option gave one.
    Script(Language),
    /// Files that are run as code.
    Code,
    /// Without `=`, `+` or `!` in front, which would be settings or commands.
    Names,
    /// An address such as `ext::command` runs something.
    Addresses,
    Refuse,
    /// Data; the first of them ends the options.
    Rest,
}

impl Entry {
    /// Flags alone, everything else unvetted.
    pub const BASE: Self = Self {
        programs: "",
        reason: "",
        flags: "",
        values: "",
        effects: &[],
        others: Others::Unvetted,
        operands: Operands::Plain,
    };

    pub fn names(&self, program: &str) -> bool {
        lists(self.programs, program)
    }
}

/// Whether a list with blanks between its items has this one.
pub fn lists(list: &str, item: &str) -> bool {
    list.split(' ').any(|listed| listed == item)
}

/// A command within a command.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Carried {
    Words(Vec<Word>),
    /// Text that a shell will read.
    Text(Word),
}

/// What a program's arguments carry.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Vetted {
    pub carried: Vec<Carried>,
    /// Variables it sets for what it runs.
    pub assignments: Vec<(String, Word)>,
    /// Files it writes.
    pub writes: Vec<Word>,
    /// Directories it works in.
    pub inside: Vec<Word>,
    /// Code in another language: searched for the names of denied programs.
    pub code: Vec<Word>,
    /// An argument that nobody has vetted: no rule that allows the bare program covers it.
    pub unvetted: Option<String>,
    /// It runs what cannot be seen, whatever the rules are.
    pub opaque: Option<String>,
    /// Arguments that begin with a pattern, by their index; a file name with a dash in front could pass as an option.
    pub patterns: Vec<usize>,
}

impl Vetted {
    pub fn unvetted(&mut self, why: impl Into<String>) {
        self.unvetted.get_or_insert(why.into());
    }

    pub fn opaque(&mut self, why: impl Into<String>) {
        self.opaque.get_or_insert(why.into());
    }
}
