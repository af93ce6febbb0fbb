//! Our own picture of shell text: small enough to judge and to write out again, and independent of the parser behind it.

/// Statements one after the other.
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

/// Commands joined by `|`; `|&` is written as a redirection of the command before it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Pipeline {
    pub negated: bool,
    pub timed: bool,
    pub commands: Vec<Command>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Command {
    pub kind: Kind,
    /// Of a compound command as a whole; a simple command has them among its words, and they are here too.
    pub redirections: Vec<Redirection>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Kind {
    Simple(Simple),
    Subshell(Script),
    Group(Script),
    /// Conditions with their branches, and what `else` holds.
    If(Vec<(Script, Script)>, Option<Script>),
    /// `while`, or `until` when the flag is set.
    Loop {
        until: bool,
        condition: Script,
        body: Script,
    },
    /// `for NAME in WORDS`; without words it goes over the positional parameters.
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
    /// `((…))`, the head of `for ((…))`, or `[[ … ]]`: what it expands, and the commands it repeats.
    Evaluation {
        words: Vec<Word>,
        /// Whether names in it are evaluated as arithmetic, subscripts included.
        evaluates: bool,
        body: Option<Script>,
    },
}

/// One branch of a `case`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Arm {
    pub patterns: Vec<Word>,
    pub body: Script,
    /// `;;`, `;&` or `;;&`.
    pub ending: &'static str,
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
    /// `2>&1`, `<&3`, `2>&-`: digits or a dash after the `&`.
    Duplicate {
        fd: Option<i32>,
        input: bool,
        source: String,
    },
    /// A here-document or here-string, by the text it gives, its last newline left out.
    Text {
        fd: Option<i32>,
        word: Word,
    },
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Access {
    Read,
    Write,
    Append,
    ReadWrite,
    Clobber,
}

/// The pieces that together make one word before bash splits and globs it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Word {
    pub pieces: Vec<Piece>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Piece {
    /// Text that stands for itself, however it was quoted.
    Literal(String),
    /// Unquoted pattern characters: `*`, `?`, `[a-z]`.
    Glob(String),
    /// `~` (empty) or `~user`.
    Tilde(String),
    /// `$NAME`, `${NAME}`, `$1`, `$@`.
    Parameter { name: String, quoted: bool },
    /// Any other `${…}`, `$((…))`, an array, an odd pattern: visible, but not written out again.
    Other {
        text: String,
        /// What bash expands inside it.
        inner: Vec<Word>,
        /// Whether bash may run what a variable holds while it expands this.
        evaluates: bool,
    },
    /// `$((…))` of digits and operators alone.
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

    /// The text, if bash can make nothing else of it.
    pub fn text(&self) -> Option<String> {
        self.pieces.iter().try_fold(String::new(), |mut text, piece| match piece {
            Piece::Literal(part) => {
                text.push_str(part);
                Some(text)
            }
            _ => None,
        })
    }

    /// The literal text before the first piece that only bash can expand.
    pub fn literal_start(&self) -> String {
        let literal = |piece: &Piece| match piece {
            Piece::Literal(part) => Some(part.clone()),
            _ => None,
        };
        self.pieces.iter().map_while(literal).collect()
    }

    /// Whether it may become several words, or none.
    pub fn may_split(&self) -> bool {
        self.pieces.iter().any(|piece| match piece {
            Piece::Literal(_) | Piece::Tilde(_) => false,
            Piece::Parameter { name, quoted } => !quoted || name == "@",
            Piece::Number { quoted, .. } | Piece::Substitution { quoted, .. } => !quoted,
            Piece::Glob(_) | Piece::Other { .. } | Piece::Process { .. } => true,
        })
    }
}
