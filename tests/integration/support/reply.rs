use serde_json::Value;

/// The result of a tool call.
#[derive(Clone, Debug)]
pub struct Reply {
    pub raw: Value,
}

impl Reply {
    /// All text blocks, joined.
    pub fn text(&self) -> String {
        let blocks = self.raw["content"].as_array().cloned().unwrap_or_default();
        blocks.iter().filter_map(|block| block["text"].as_str()).collect()
    }

    pub fn is_error(&self) -> bool {
        self.raw["isError"] == true
    }

    /// The text of a result that must not be an error.
    #[track_caller]
    pub fn ok(&self) -> String {
        assert!(!self.is_error(), "unexpected ERR: {}", self.text());
        self.text()
    }

    /// The text of a result that must be an error.
    #[track_caller]
    pub fn err(&self) -> String {
        assert!(self.is_error(), "should be ERR: {}", self.text());
        self.text()
    }

    /// The standard output of a `bash` result.
    #[track_caller]
    pub fn stdout(&self) -> String {
        self.ok().split_once("\nstdout:\n").map(|(_, out)| out.to_owned()).unwrap_or_default()
    }

    /// A line of the header: `exit_code`, `cwd`, …
    #[track_caller]
    pub fn field(&self, name: &str) -> Option<String> {
        let text = self.ok();
        let head = text.split("\nstderr:\n").next().unwrap().split("\nstdout:\n").next().unwrap();
        head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")).map(str::to_owned))
    }
}
