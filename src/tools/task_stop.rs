use schemars::JsonSchema;
use serde::Deserialize;

use super::task_text::{self, Part};
use super::{Hints, Stop, Tool, ToolError, ToolOutput, unknown_task};
use crate::server::Context;

/// Ends a task with everything it started.
pub struct TaskStop;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The task or terminal.
    task_id: String,
    /// TERM unless given; what is left after 5 seconds is killed.
    signal: Option<String>,
    /// The session the task belongs to.
    session: Option<String>,
}

impl Tool for TaskStop {
    const NAME: &'static str = "task_stop";
    const TITLE: &'static str = "Stop a task";
    const DESCRIPTION: &'static str = "End a task and everything it started: a signal (TERM) to the whole tree, 5 seconds, then \
        KILL. Answers with how it ended and what it had still to say.";
    const HINTS: Hints = Hints { read_only: false, destructive: true, idempotent: true, open_world: false };
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: &Context) -> Result<ToolOutput, Stop> {
        let id = arguments.task_id.as_str();
        let session = context.session_of(id, arguments.session.as_deref())?;
        let signal = signal_number(arguments.signal.as_deref().unwrap_or("TERM"))?;
        let task = session.tasks().get(id).ok_or_else(|| unknown_task(context, id))?;
        let survivors = task.process.stop(signal).await;
        if survivors.is_empty() {
            task.ended().await;
        }
        session.tasks().mark_known(id);
        let mut text = format!("task_id: {id}\n{}", task_text::header(&task, None).await);
        if !survivors.is_empty() {
            let pids: Vec<String> = survivors.iter().map(i32::to_string).collect();
            text.push_str(&format!(
                "survivors: {} (not even KILL ended them; they hang in the kernel)\n",
                pids.join(", ")
            ));
        }
        text.push_str(&task_text::body(context, &session, &task, Part::Unread));
        Ok(text.into())
    }
}

fn signal_number(written: &str) -> Result<i32, ToolError> {
    const SIGNALS: [(&str, i32); 9] = [
        ("TERM", libc::SIGTERM),
        ("INT", libc::SIGINT),
        ("HUP", libc::SIGHUP),
        ("QUIT", libc::SIGQUIT),
        ("KILL", libc::SIGKILL),
        ("USR1", libc::SIGUSR1),
        ("USR2", libc::SIGUSR2),
        ("ABRT", libc::SIGABRT),
        ("STOP", libc::SIGSTOP),
    ];
    let upper = written.to_ascii_uppercase();
    let name = upper.strip_prefix("SIG").unwrap_or(&upper);
    let known = SIGNALS.iter().find(|(known, number)| *known == name || number.to_string() == name);
    known.map(|(_, number)| *number).ok_or_else(|| {
        let names: Vec<&str> = SIGNALS.iter().map(|(name, _)| *name).collect();
        ToolError::new(format!("unknown signal {written:?}")).hint(format!("Use one of {}.", names.join(", ")))
    })
}
