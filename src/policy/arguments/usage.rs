/// How a program, or several that are alike, reads its arguments: one entry of the tables.
#[derive(Debug)]
pub struct Usage {
    /// The names of the programs, separated by blanks.
    pub programs: &'static str,
    /// What the program can be made to do, as a phrase that follows "that option lets it".
    pub reason: &'static str,
    /// Options that neither run a program nor write a file. A value after `=` is data. `-#` stands for any number.
    pub flags: &'static str,
    /// Options with a value, glued on or the next word, where the value is only data.
    pub values: &'static str,
    /// Options that do something with their value.
    pub effects: &'static [(&'static str, Effect)],
    /// What to think of an option that is not listed.
    pub others: Others,
    pub operands: Operands,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Others {
    Unvetted,
    /// All dangerous options of the program are listed, so every other one is harmless.
    Plain,
}

/// What a program does with the value of an option.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Effect {
    /// Runs the value as a command.
    Run,
    /// Runs the words that follow, up to `;` or `+` or the end.
    RunWords,
    /// Runs what follows `exec=` in the value.
    RunAction,
    /// Writes the file of that name.
    Write,
    /// Writes the file of that name. A name with a colon is on another machine.
    Archive,
    /// Works in that directory, which must be in the project.
    Inside,
    /// Evaluates the value as code, which we cannot judge.
    Code,
    /// Evaluates the value as a script. We know which scripts in that language are harmless.
    Script(Language),
    /// Takes no value, and makes the program write its operands: `sed -i`.
    InPlace,
    /// The value is the text that the program replaces by what it reads: `xargs -I {}`.
    Placeholder,
    /// As `Placeholder`, but the next word is never the value: `xargs --replace`, `xargs --replace={}`.
    GluedPlaceholder,
    /// Takes no value, and cannot be vetted.
    Refuse,
    /// Takes a value, and cannot be vetted.
    RefuseValue,
    /// The value is the name of a variable. Bash evaluates a subscript in it.
    Subscript,
    /// Runs the Python module of that name: `python -m`.
    Module,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Language {
    Sed,
    Awk,
}

/// What a program does with the words that are not options.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Operands {
    /// They are data.
    Plain,
    /// As `Plain`, but the first word may be options without a dash: `tar czf`.
    Bundle,
    /// The program writes all of them as files.
    Write,
    /// The program writes the last one.
    WriteLast,
    /// The program writes the first one.
    WriteFirst,
    /// The program writes FILE of `of=FILE`.
    WriteOf,
    /// A command follows after so many operands.
    Command(usize),
    /// As `Command(0)`, and the command gets more arguments from a file or from standard input.
    FedCommand,
    /// Assignments, then a command.
    Environment,
    /// The program is a shell: `-c` is followed by its text, otherwise it runs a file or its standard input.
    Shell,
    /// The first one is a script, unless an option has given the script.
    Script(Language),
    /// The program runs them as code.
    Code,
    /// They are names, unless they contain `=` or `::` or begin with `+` or `!`: then they are settings or commands.
    Names,
    /// They are addresses. One with `::`, such as `ext::command`, runs a helper program.
    Addresses,
    /// They cannot be vetted.
    Refuse,
    /// They are data, and there are no options after the first one.
    Rest,
}

impl Usage {
    /// No known options, plain operands. The entries of the tables fill in the rest.
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

/// Whether a list, separated by blanks, contains an item.
pub fn lists(list: &str, item: &str) -> bool {
    list.split(' ').any(|listed| listed == item)
}
