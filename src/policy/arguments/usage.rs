/// How a program, or several that are alike, reads its arguments: one entry of the tables.
#[derive(Debug, Eq, PartialEq)]
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
    pub style: Style,
    pub operands: Operands,
    /// Options with which the program only says something about itself. They are flags too.
    pub informs: &'static str,
    /// What the program does if its arguments give it nothing to run.
    pub alone: Alone,
}

/// How options are written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Style {
    /// Single letters that may be written together, and long options that may be abbreviated.
    Getopt,
    /// Whole words behind one dash or two: `-run`, `--run`.
    Words,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Alone {
    Harmless,
    /// It runs the program, or the commands, that it reads from its standard input.
    RunsInput,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Others {
    Unvetted,
    /// Every other word that begins with a dash is data.
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
    /// Runs the module of that name, and the words that follow are its arguments: `python -m`. Python looks for modules
    /// in the working directory first, so the name says nothing about the code.
    Module,
    /// Removes the variable of that name.
    Unset,
    /// Takes no value, and removes all variables.
    UnsetAll,
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
    /// The program writes the second one.
    WriteSecond,
    /// The program writes FILE of `of=FILE`.
    WriteOf,
    /// A command follows after so many operands.
    Command(usize),
    /// As `Command(0)`, and the program comes from a package: from one of the project, or from one that is fetched.
    Package,
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
        style: Style::Getopt,
        operands: Operands::Plain,
        informs: "--version --help",
        alone: Alone::Harmless,
    };

    pub fn names(&self, program: &str) -> bool {
        lists(self.programs, program)
    }
}

/// Whether a list, separated by blanks, contains an item.
pub fn lists(list: &str, item: &str) -> bool {
    list.split(' ').any(|listed| listed == item)
}
