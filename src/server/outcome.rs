//! What a tool call comes to: an answer, an error, or a question that a person has to answer first.

use super::OpenQuestion;
use crate::files::{FileError, Image};
use crate::gate::Refusal;

/// What a tool answers. The text is complete by itself: clients differ in what else they show the model.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToolOutput {
    pub content: Content,
    /// Lines that were added after the tool had answered.
    lines: Vec<String>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Content {
    Text(String),
    /// Text in a format that programs parse (YAML, JSON). Added lines go into a block of their own, so it stays valid.
    Document(String),
    /// A picture; its note, where there is one, is the text.
    Image(Image),
}

impl ToolOutput {
    pub fn document(text: String) -> Self {
        Self { content: Content::Document(text), lines: Vec::new() }
    }

    pub fn image(image: Image) -> Self {
        Self { content: Content::Image(image), lines: Vec::new() }
    }

    /// One more line at the end of the result.
    pub fn add_line(&mut self, line: String) {
        self.lines.push(line);
    }

    /// Bytes of its content.
    pub fn size(&self) -> usize {
        let content = match &self.content {
            Content::Text(text) | Content::Document(text) => text.len(),
            Content::Image(image) => image.data.len(),
        };
        content + self.lines.iter().map(|line| line.len() + 1).sum::<usize>()
    }

    /// The picture, if there is one, and the text blocks in their order.
    pub fn into_blocks(self) -> (Option<Image>, Vec<String>) {
        let added = self.lines.join("\n");
        match self.content {
            Content::Text(text) => (None, vec![with_lines(text, &self.lines)]),
            Content::Document(text) => {
                (None, std::iter::once(text).chain((!added.is_empty()).then_some(added)).collect())
            }
            Content::Image(mut image) => {
                let note = with_lines(image.note.take().unwrap_or_default(), &self.lines);
                (Some(image), (!note.is_empty()).then_some(note).into_iter().collect())
            }
        }
    }
}

fn with_lines(mut text: String, lines: &[String]) -> String {
    for line in lines {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(line);
        text.push('\n');
    }
    text
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self { content: Content::Text(text), lines: Vec::new() }
    }
}

/// Why a tool gave no answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Stop {
    Error(ToolError),
    /// Nothing is wrong: the client has to ask its person and call again with the answer.
    Ask(Box<OpenQuestion>),
}

impl Stop {
    /// Changes the error, if it is one. A question passes through untouched.
    #[must_use]
    pub fn map_error(self, change: impl FnOnce(ToolError) -> ToolError) -> Self {
        match self {
            Self::Error(error) => Self::Error(change(error)),
            Self::Ask(question) => Self::Ask(question),
        }
    }
}

impl<E: Into<ToolError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// Why a tool could not do what was asked, written for an agent: what happened, the evidence, what to do next. It becomes
/// a result with `isError: true`, never a protocol error.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToolError {
    message: String,
    hints: Vec<String>,
}

impl ToolError {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hints: Vec::new() }
    }

    /// Adds a line: what to try next, or what else happened.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// What happened, without hints, in so many characters.
    pub fn first_line(&self, longest: usize) -> String {
        self.message.lines().next().unwrap_or_default().chars().take(longest).collect()
    }

    #[must_use]
    pub fn prefixed(mut self, prefix: &str) -> Self {
        self.message.insert_str(0, prefix);
        self
    }
}

impl std::fmt::Display for ToolError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.message.trim_end_matches('\n'))?;
        self.hints.iter().try_for_each(|hint| write!(f, "\n{hint}"))
    }
}

impl From<Refusal> for ToolError {
    fn from(refusal: Refusal) -> Self {
        let text = refusal.to_string();
        let (hint, change) = match refusal {
            Refusal::Denied { way_out, .. } => ("The user can change that; until then, do without it.", way_out.change),
            Refusal::NobodyToAsk { way_out, .. } | Refusal::CannotBeAsked { way_out, .. } => {
                ("Nothing was run. The user can allow it with --allow or [policy] allow.", way_out.change)
            }
            Refusal::ByThePerson { .. } => {
                ("Nothing was run. Do without it, or ask the user what they would prefer.", None)
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_added_to_text_and_set_apart_from_documents() {
        let mut text = ToolOutput::from("exit_code: 0\n\nstdout:\nx".to_owned());
        text.add_line("[one]".to_owned());
        text.add_line("[two]".to_owned());
        assert_eq!(text.into_blocks().1, ["exit_code: 0\n\nstdout:\nx\n[one]\n[two]\n"]);
        let mut document = ToolOutput::document("{}".to_owned());
        assert_eq!(document.clone().into_blocks().1, ["{}"]);
        document.add_line("[one]".to_owned());
        assert_eq!(document.into_blocks().1, ["{}", "[one]"]);
    }
}
