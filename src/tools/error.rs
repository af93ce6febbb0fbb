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
        let text = refusal.to_string();
        let (hint, change) = match refusal {
            Refusal::Denied { change, .. } => ("The user can change that; until then, do without it.", change),
            Refusal::NobodyToAsk { change, .. } => ("The user can allow it with --allow or [policy] allow.", change),
        };
        let change = change.map(|change| format!("What would change it: {change}."));
        Self::new(text).hint(change.unwrap_or_else(|| hint.to_owned()))
    }
}

impl From<FileError> for ToolError {
    fn from(error: FileError) -> Self {
        error.hints().into_iter().fold(Self::new(error.to_string()), Self::hint)
    }
}
