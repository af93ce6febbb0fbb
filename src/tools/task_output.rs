use regex::bytes::Regex;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Hints, Tool, ToolError, ToolOutput, blocks};
use crate::exec::{Page, PageRequest, read_page};
use crate::server::Context;

/// Reads a stored output again, without running anything again.
pub struct TaskOutput;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The id that a result named, such as `o1`.
    task_id: String,
    /// First line to show, from 1.
    from_line: Option<u64>,
    /// How many lines at most.
    max_lines: Option<u64>,
    /// Only the last so many lines.
    tail: Option<u64>,
    /// Only lines that match this regular expression.
    grep: Option<String>,
    /// The session the id belongs to.
    session: Option<String>,
}

impl Tool for TaskOutput {
    const NAME: &'static str = "task_output";
    const TITLE: &'static str = "Read output again";
    const DESCRIPTION: &'static str = "Read a stored output by its id: a page (from_line, max_lines), the end (tail), or the \
        lines that match (grep). Line numbers of what is shown stand in the header.";
    const HINTS: Hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: &Context) -> Result<ToolOutput, ToolError> {
        let session = context.session(arguments.session.as_deref())?;
        let id = &arguments.task_id;
        let Some(output) = session.output(id) else {
            let known = session.output_ids();
            let hint =
                if known.is_empty() { "There are none.".to_owned() } else { format!("Known: {}.", known.join(", ")) };
            return Err(ToolError::new(format!("task not found: {id}")).hint(hint));
        };
        let grep = arguments.grep.as_deref().map(pattern).transpose()?;
        let request = PageRequest {
            from_line: arguments.from_line,
            max_lines: arguments.max_lines,
            tail: arguments.tail,
            grep,
            budget: context.server.config().exec.output.view_characters,
        };
        let recording = output.recording.clone();
        let (page, loss) = tokio::task::spawn_blocking(move || {
            Ok::<_, crate::exec::PageError>((read_page(&recording, &request)?, blocks::loss_text(&recording)))
        })
        .await
        .map_err(|error| ToolError::new(error.to_string()))?
        .map_err(|error| ToolError::new(error.to_string()))?;
        Ok(text(output.exit_code, output.stream, &page, loss).into())
    }
}

fn pattern(text: &str) -> Result<Regex, ToolError> {
    Regex::new(text).map_err(|error| ToolError::new(format!("invalid grep pattern: {error}")))
}

fn text(exit_code: i32, stream: &str, page: &Page, loss: Option<String>) -> String {
    let lines = match (page.numbers.first(), page.numbers.last()) {
        (Some(first), Some(last)) if last - first + 1 == page.numbers.len() as u64 => format!("{first}-{last}"),
        (Some(_), Some(_)) => page.numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
        _ => "none".to_owned(),
    };
    let mut text = format!("status: completed\nexit_code: {exit_code}\nlines: {lines} of {}\n", page.total_lines);
    if !page.text.is_empty() {
        text.push_str(&format!("\n{stream}:\n{}", page.text));
    }
    if page.cut {
        let next = page.numbers.last().map_or(1, |last| last + 1);
        text.push_str(&format!("\n[Cut here: the next page starts with from_line={next}]\n"));
    }
    if let Some(loss) = loss {
        text.push_str(&format!("\n[{loss}]\n"));
    }
    text
}
