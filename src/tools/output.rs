/// What a tool gives back. The text is complete by itself: clients differ in what else they show the model.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ToolOutput {
    Text(String),
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl ToolOutput {
    /// One more line at the end of the text.
    pub fn add_line(&mut self, line: &str) {
        let Self::Text(text) = self;
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(line);
        text.push('\n');
    }
}
