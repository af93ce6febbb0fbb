use crate::files::FileError;
use crate::gate::Refusal;

/// What a tool answers when it could not do what was asked, written for an agent: what happened, the evidence, what to
/// do next. It becomes a result with `isError: true`, never a protocol error.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToolError {
    message: String,
    hints: Vec<String>,
}

impl ToolError {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hints: Vec::new() }
    }

    /// What to try next, on a line of its own.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl std::fmt::Display for ToolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)?;
        self.hints.iter().try_for_each(|hint| write!(f, "\n{hint}"))
    }
}

impl From<Refusal> for ToolError {
    fn from(refusal: Refusal) -> Self {
        let hint = match &refusal {
            Refusal::Denied { .. } => {
                "A deny rule is final: ask the user to change it (--deny, [policy] deny) or do without."
            }
            Refusal::NobodyToAsk { .. } => "The user can allow it with --allow or [policy] allow.",
        };
        Self::new(refusal.to_string()).hint(hint)
    }
}

impl From<FileError> for ToolError {
    fn from(error: FileError) -> Self {
        error.hints().into_iter().fold(Self::new(error.to_string()), Self::hint)
    }
}
