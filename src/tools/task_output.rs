use std::sync::Arc;
use std::time::Duration;

use regex::bytes::Regex;
use schemars::JsonSchema;
use serde::Deserialize;

use super::task_text::{self, Part};
use super::time_limit::wait_limit;
use super::{Hints, Stop, Tool, ToolError, ToolOutput, task_pages, unknown_task};
use crate::exec::{PageRequest, Task, Until, WaitEnd};
use crate::server::{Context, Progress, Session};

/// Reads a task, a terminal or a stored output, and waits if asked to.
pub struct TaskOutput;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// A task (`t1`) or a stored output (`o1`).
    task_id: String,
    /// Wait up to so many milliseconds, for the end or for wait_for; 30000 with wait_for alone.
    wait_ms: Option<u64>,
    /// A regular expression in new output, or `port:N`.
    wait_for: Option<String>,
    /// Only what came since the last read.
    #[serde(default)]
    new: bool,
    /// First line to show, from 1.
    from_line: Option<u64>,
    /// How many lines at most.
    max_lines: Option<u64>,
    /// Only the last so many lines; for a terminal, with what scrolled off.
    tail: Option<u64>,
    /// Only lines that match this regular expression.
    grep: Option<String>,
    /// The session the id belongs to.
    session: Option<String>,
}

/// For `wait_for` without `wait_ms`.
const DEFAULT_WAIT: Duration = Duration::from_secs(30);

impl Tool for TaskOutput {
    const NAME: &'static str = "task_output";
    const TITLE: &'static str = "Read a task or stored output";
    const DESCRIPTION: &'static str = "Read a background task, a terminal's screen, or a stored output by its id: all of it, \
        only what is new, a page (from_line, max_lines), the end (tail), or matching lines (grep). With wait_ms it waits \
        instead of polling: for the end, or with wait_for for a pattern or an open port. A completed task is forgotten \
        once read.";
    const HINTS: Hints = Hints { read_only: true, destructive: false, idempotent: false, open_world: false };
    const RESULT_MAY_BE_LONG: bool = true;
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: &Context) -> Result<ToolOutput, Stop> {
        let id = arguments.task_id.as_str();
        let session = context.session_of(id, arguments.session.as_deref())?;
        let request = arguments.page_request(context.server.config().exec.output.view_characters)?;
        if let Some(output) = session.output(id) {
            return Ok(task_pages::of_output(output, request.unwrap_or_else(|| whole(context))).await?.into());
        }
        let task = session.tasks().get(id).ok_or_else(|| unknown_task(context, id))?;
        let waited = wait(&arguments, context, &task).await?;
        Ok(read(&arguments, context, &session, &task, request, waited).await?.into())
    }
}

impl Arguments {
    /// What part is wanted; `None` for everything.
    fn page_request(&self, budget: usize) -> Result<Option<PageRequest>, ToolError> {
        let grep = self.grep.as_deref().map(Regex::new).transpose();
        let grep = grep.map_err(|error| ToolError::new(format!("invalid grep pattern: {error}")))?;
        let any = self.from_line.is_some() || self.max_lines.is_some() || self.tail.is_some() || grep.is_some();
        Ok(any.then_some(PageRequest {
            from_line: self.from_line,
            max_lines: self.max_lines,
            tail: self.tail,
            grep,
            budget,
        }))
    }

    fn until(&self) -> Result<Until, ToolError> {
        let Some(condition) = &self.wait_for else { return Ok(Until::Exit) };
        if let Some(port) = condition.strip_prefix("port:") {
            let port = port.trim().parse().ok().filter(|port| *port > 0);
            return port
                .map(Until::Port)
                .ok_or_else(|| ToolError::new(format!("{condition:?} names no port; write port:8080")));
        }
        let pattern = regex::RegexBuilder::new(condition).multi_line(true).build();
        pattern.map(Until::Pattern).map_err(|error| ToolError::new(format!("invalid wait_for pattern: {error}")))
    }
}

fn whole(context: &Context) -> PageRequest {
    PageRequest { budget: context.server.config().exec.output.view_characters, ..PageRequest::default() }
}

/// Waits as the arguments say. Returns what ended the wait if a condition was given. Progress notifications keep the client
/// from giving up.
async fn wait(arguments: &Arguments, context: &Context, task: &Task) -> Result<Option<WaitEnd>, ToolError> {
    let until = arguments.until()?;
    let default = if arguments.wait_for.is_some() { DEFAULT_WAIT } else { Duration::ZERO };
    let limit = wait_limit(arguments.wait_ms, default);
    if limit.is_zero() && arguments.wait_for.is_none() {
        return Ok(None);
    }
    let waiting = task.wait(&until, limit, &context.cancel);
    let waited = Progress::default().while_running(context.progress.clone(), waiting).await;
    if waited == WaitEnd::Cancelled {
        return Err(ToolError::new("cancelled by the client; the task goes on"));
    }
    Ok(arguments.wait_for.is_some().then_some(waited))
}

async fn read(
    arguments: &Arguments,
    context: &Context,
    session: &Session,
    task: &Arc<Task>,
    request: Option<PageRequest>,
    waited: Option<WaitEnd>,
) -> Result<String, ToolError> {
    let header = task_text::header(task, waited).await;
    let completed = task.finished().is_some();
    let mut text = header;
    if let Some(request) = request {
        text.push_str(&task_pages::of_task(task, request).await?);
        task_text::mark_read(context, task);
        if completed {
            task_pages::keep_readable(&mut text, session, task);
        }
    } else {
        let part = if arguments.new { Part::Unread } else { Part::All };
        text.push_str(&task_text::body(context, session, task, part));
    }
    if completed {
        session.tasks().forget(&task.id);
    }
    Ok(text)
}
