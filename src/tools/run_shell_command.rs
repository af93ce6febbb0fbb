use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::stream_text::complete_text;
use super::time_limit::{self, time_limit};
use super::{Tool, check_command};
use crate::base::search_path;
use crate::exec::{ExitStatus, KeeperError, ShellState, Stdin, Streams};
use crate::files::directory_below;
use crate::policy::action::RunCommand;
use crate::policy::shell::substitution;
use crate::server::command::{Command, CommandError, Finished, How, TimeLimit, What};
use crate::server::{Context, Hints, Session, Stop, ToolError, ToolOutput};

/// Runs shell text that leaves no trace in the session.
pub struct RunShellCommand;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Shell text, as for `bash -c`; command substitution is refused.
    command: String,
    /// What this is for, in a few words.
    description: Option<String>,
    /// Where to run it, relative to the project directory.
    directory: Option<String>,
}

/// The result; every key is always there.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    stdout: String,
    stderr: String,
    exit_code: Option<i32>,
    signal: Option<i32>,
    error: Option<String>,
    pid: Option<i32>,
    background_pids: Vec<i32>,
}

impl Tool for RunShellCommand {
    const NAME: &'static str = "run_shell_command";
    const TITLE: &'static str = "Run a shell command";
    const DESCRIPTION: &'static str = "Run a command with `bash -c` in the project directory, or in `directory` below it. \
        Nothing persists to the next call. The result is one JSON object: stdout, stderr, exitCode, signal, error, pid, \
        backgroundPids. Command and process substitution ($(…), backticks, <(…), >(…)) is refused. Output is complete up to \
        10 MB a stream.";
    const HINTS: Hints = Hints { read_only: false, destructive: true, idempotent: false, open_world: true };
    const RESULT_MAY_BE_LONG: bool = true;
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: &Context) -> Result<ToolOutput, Stop> {
        check_command(&arguments.command)?;
        refuse_substitution(&arguments.command)?;
        let session = context.session(None)?;
        let cwd = directory(&arguments, &session)?;
        let mut environment = session.basis().environment(context.server.gate().policy());
        let search_path = search_path::variable(&environment, "PATH").map(ToOwned::to_owned);
        let action = RunCommand {
            command: arguments.command,
            cwd: cwd.clone(),
            search_path,
            description: arguments.description,
        };
        let permitted = context.permit_confirmed(&session, action).await?;
        environment.push(("ASIMI_CLI".into(), "1".into()));
        let state = ShellState { cwd, environment: environment.into() };
        let what = What::Text(&permitted);
        let command = Command { session: &session, what, state: &state, stdin: Stdin::Empty, moves_session: false };
        let limit = time_limit(None, context.server.config().exec.timeout).unwrap_or(time_limit::LONGEST);
        match context.run(&command, TimeLimit::end_after(limit)).await {
            Ok(finished) => Outcome::of(&finished, limit).document(),
            Err(CommandError::Start(error @ (KeeperError::Execute { .. } | KeeperError::Prepare(_)))) => {
                Outcome { error: Some(error.to_string()), ..Outcome::default() }.document()
            }
            Err(error) => Err(error.into()),
        }
    }
}

fn refuse_substitution(command: &str) -> Result<(), ToolError> {
    let hint = "Nothing was run. Run the inner command first and use its output in the next call.";
    match substitution::performed(command) {
        Ok(false) => Ok(()),
        Ok(true) => {
            Err(ToolError::new("command substitution is not allowed: $(…), backticks, <(…) and >(…)").hint(hint))
        }
        Err(opaque) => {
            Err(ToolError::new(format!("the command cannot be checked for command substitution: {}", opaque.reason))
                .hint("Nothing was run."))
        }
    }
}

fn directory(arguments: &Arguments, session: &Session) -> Result<PathBuf, ToolError> {
    let project = session.workplace().project_dir;
    let Some(relative) = &arguments.directory else { return Ok(project) };
    directory_below(&project, relative).map_err(|error| {
        ToolError::new(format!("directory {relative:?} {error}"))
            .hint(format!("Nothing was run. The project directory is {}.", project.display()))
    })
}

impl Outcome {
    fn of(finished: &Finished, limit: Duration) -> Self {
        let mut outcome = Self { pid: Some(finished.pid), ..Self::default() };
        let exited = match &finished.how {
            How::Exited { exited, .. } => Some(exited),
            How::TimedOut { exited, .. } => {
                outcome.error = Some(format!("Command timed out after {}ms", limit.as_millis()));
                exited.as_ref()
            }
            How::Background { .. } | How::Lost => {
                outcome.error = Some("the process that watched this command was killed".to_owned());
                None
            }
        };
        if let Some(exited) = exited {
            match exited.status {
                ExitStatus::Code(code) => outcome.exit_code = Some(code),
                ExitStatus::Signal(signal) => outcome.signal = Some(signal),
            }
            outcome.background_pids.clone_from(&exited.running);
        }
        if let Streams::Pipes { stdout, stderr } = &finished.streams {
            (outcome.stdout, outcome.stderr) = (complete_text(stdout), complete_text(stderr));
        }
        outcome
    }

    fn document(&self) -> Result<ToolOutput, Stop> {
        let text = serde_json::to_string(self).map_err(|error| ToolError::new(error.to_string()))?;
        Ok(ToolOutput::document(text))
    }
}
