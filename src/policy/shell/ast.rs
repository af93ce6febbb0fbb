//! The tree of a shell text. It is small enough to be judged and written out again, and independent of the parser.

/// Statements that run one after the other.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Script {
    pub statements: Vec<Statement>,
}

/// Pipelines joined by `&&` and `||`, ended by `;` or `&`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Statement {
    pub first: Pipeline,
    pub rest: Vec<(Link, Pipeline)>,
    pub background: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Link {
    And,
    Or,
}

/// Commands joined by `|`. `|&` becomes `|` and a redirection `2>&1` of the command before it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Pipeline {
    pub negated: bool,
    pub timed: bool,
    pub commands: Vec<Command>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Command {
    pub kind: Kind,
    /// The redirections of the whole command. Those among the words of a simple command are here too.
    pub redirections: Vec<Redirection>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Kind {
    Simple(Simple),
    Subshell(Script),
    Group(Script),
    /// Conditions with their branches, and the branch of `else`.
    If(Vec<(Script, Script)>, Option<Script>),
    /// `while`, or `until` when the flag is set.
    Loop {
        until: bool,
        condition: Script,
        body: Script,
    },
    /// `for NAME in WORDS`. Without words the loop runs over the positional parameters.
    For {
        name: String,
        words: Option<Vec<Word>>,
        body: Script,
    },
    Case {
        subject: Word,
        arms: Vec<Arm>,
    },
    Function {
        name: Word,
        body: Box<Command>,
    },
    Coprocess(Box<Command>),
    /// `((…))`, `[[ … ]]` or `for ((…))`: the words that it expands, and the body of the loop.
    Evaluation {
        words: Vec<Word>,
        /// Whether bash evaluates names in it as arithmetic, with their subscripts.
        evaluates: bool,
        body: Option<Script>,
    },
}

/// One branch of a `case`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Arm {
    pub patterns: Vec<Word>,
    pub body: Script,
    pub end: CaseEnd,
}

/// What bash does after a branch of a `case`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CaseEnd {
    /// `;;` leaves the `case`.
    Leave,
    /// `;&` runs the next branch.
    RunNext,
    /// `;;&` tests the next patterns.
    TestNext,
}

/// A program or builtin with its arguments, or assignments alone.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Simple {
    pub assignments: Vec<Assignment>,
    pub words: Vec<Word>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Assignment {
    pub name: String,
    pub append: bool,
    pub value: Word,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Redirection {
    File {
        fd: Option<i32>,
        access: Access,
        target: Word,
    },
    /// `&>` and `&>>`.
    Both {
        append: bool,
        target: Word,
    },
    /// `2>&1`, `<&3`, `2>&-`. The source is digits, a dash, or both.
    Duplicate {
        fd: Option<i32>,
        input: bool,
        source: String,
    },
    /// The text of a here-document or here-string, without its last newline.
    Text {
        fd: Option<i32>,
        word: Word,
    },
}

impl Redirection {
    /// The text that becomes the standard input.
    pub fn input_text(&self) -> Option<&Word> {
        match self {
            Self::Text { fd: None | Some(0), word } => Some(word),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Access {
    Read,
    Write,
    Append,
    ReadWrite,
    Clobber,
}

/// The pieces of one word, before bash splits it and expands its patterns.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Word {
    pub pieces: Vec<Piece>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Piece {
    /// Text that bash leaves as it is. The quotes have been removed.
    Literal(String),
    /// Unquoted pattern characters: `*`, `?`, `[a-z]`.
    Glob(String),
    /// `~user`, or `~` with an empty name.
    Tilde(String),
    /// `$NAME`, `${NAME}`, `$1`, `$@`.
    Parameter { name: String, quoted: bool },
    /// `${NAME:-0}`, `${#NAME}`, `${NAME%.c}`: a default, a length or a cut of a variable. `inside` is what the braces
    /// contain, and has nothing in it that bash expands but the name.
    Derived { inside: String, quoted: bool },
    /// Any other `${…}` or `$((…))`, an array, an unusual pattern. It can be judged, but not written out again.
    Other {
        text: String,
        /// The words that bash expands inside it.
        inner: Vec<Word>,
        /// Whether bash may evaluate the content of a variable when it expands this.
        evaluates: bool,
    },
    /// `$((…))` with only digits and operators.
    Number { text: String, quoted: bool },
    /// `$(…)` or backticks.
    Substitution { script: Script, quoted: bool },
    /// `<(…)`, or `>(…)` when the flag is set.
    Process { script: Script, output: bool },
}

impl Word {
    pub fn literal(text: impl Into<String>) -> Self {
        Self { pieces: vec![Piece::Literal(text.into())] }
    }

    /// The text, if bash expands nothing in it.
    pub fn text(&self) -> Option<String> {
        self.pieces.iter().try_fold(String::new(), |mut text, piece| match piece {
            Piece::Literal(part) => {
                text.push_str(part);
                Some(text)
            }
            _ => None,
        })
    }

    /// The literal text before the first piece that bash expands.
    pub fn literal_start(&self) -> String {
        let literal = |piece: &Piece| match piece {
            Piece::Literal(part) => Some(part.clone()),
            _ => None,
        };
        self.pieces.iter().map_while(literal).collect()
    }

    /// Whether bash may turn it into several words, or none.
    pub fn may_split(&self) -> bool {
        self.pieces.iter().any(|piece| match piece {
            Piece::Literal(_) | Piece::Tilde(_) => false,
            Piece::Parameter { name, quoted } => !quoted || name == "@",
            Piece::Number { quoted, .. } | Piece::Derived { quoted, .. } | Piece::Substitution { quoted, .. } => {
                !quoted
            }
            Piece::Glob(_) | Piece::Other { .. } | Piece::Process { .. } => true,
        })
    }
}
