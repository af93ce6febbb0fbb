pub use crate::files::Image;

/// What a tool gives back. The text is complete by itself: clients differ in what else they show the model.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ToolOutput {
    Text(String),
    /// A picture; its note, where there is one, is the text.
    Image(Image),
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl ToolOutput {
    /// One more line at the end of the text.
    pub fn add_line(&mut self, line: &str) {
        let text = match self {
            Self::Text(text) => text,
            Self::Image(image) => image.note.get_or_insert_default(),
        };
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(line);
        text.push('\n');
    }
}
