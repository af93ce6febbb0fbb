use std::io;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::Tool;
use super::stream_text::complete_text;
use super::time_limit::{self, time_limit};
use crate::base::yaml::block;
use crate::config::Config;
use crate::exec::{KeeperError, ShellState, Stdin, Streams};
use crate::files::{DirectoryError, real_directory};
use crate::policy::action::RunWords;
use crate::policy::shell::split;
use crate::server::command::{Command, CommandError, How, TimeLimit, What};
use crate::server::{Context, Hints, Stop, ToolError, ToolOutput};

/// Runs one program with its arguments, without a shell.
pub struct ExecuteCommand;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The program and its arguments; quotes group words, operators are ordinary arguments.
    command: String,
    /// Where to run it: absolute, or relative to where the server was started.
    cwd: Option<String>,
    /// Milliseconds before it is ended.
    timeout_ms: Option<i64>,
}

/// Begins every error of this tool.
const PREFIX: &str = "Error executing command: ";
const NOTE: &str = "Note: This tool does not support interactive commands. Ensure the command is non-interactive and the \
                    executable exists.";

impl Tool for ExecuteCommand {
    const NAME: &'static str = "execute_command";
    const TITLE: &'static str = "Execute a program";
    const DESCRIPTION: &'static str = "Execute one program with its arguments, without a shell. This is ONLY for \
        non-interactive commands; interactive commands are not supported. The result is YAML with exit_code, stdout and \
        stderr. Which programs may be run is set by ALLOWED_COMMANDS.";
    const HINTS: Hints = Hints { read_only: false, destructive: true, idempotent: false, open_world: true };
    const RESULT_MAY_BE_LONG: bool = true;
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: &Context) -> Result<ToolOutput, Stop> {
        match execute(&arguments, context).await.map_err(|stop| stop.map_error(|error| error.prefixed(PREFIX)))? {
            Outcome::Exited(yaml) => Ok(ToolOutput::document(yaml)),
            // The whole text is the YAML, without the prefix.
            Outcome::TimedOut(yaml) => Err(ToolError::new(yaml).into()),
        }
    }
}

enum Outcome {
    Exited(String),
    TimedOut(String),
}

async fn execute(arguments: &Arguments, context: &Context) -> Result<Outcome, Stop> {
    let words = split::words(&arguments.command).map_err(|error| ToolError::new(error.to_string()))?;
    let program = words.first().ok_or_else(|| ToolError::new("command must not be empty"))?.clone();
    let config = context.server.config();
    let allowed = &config.policy.allowed_commands;
    if !allowed.permits(&program) {
        let message = format!("Command \"{program}\" is not allowed, allowed commands: {allowed}");
        return Err(ToolError::new(message).into());
    }
    let session = context.session(None)?;
    let cwd = working_directory(arguments, &session.basis().config).map_err(ToolError::new)?;
    let permitted = context.permit(&session, RunWords { words, cwd: cwd.clone() }).await?;
    let state = ShellState { cwd, environment: session.basis().environment(context.server.gate().policy()).into() };
    let what = What::Words(&permitted);
    let command = Command { session: &session, what, state: &state, stdin: Stdin::Empty, moves_session: false };
    let limit = time_limit(arguments.timeout_ms, config.exec.timeout).unwrap_or(time_limit::LONGEST);
    let finished = context.run(&command, TimeLimit::end_after(limit)).await.map_err(|error| match error {
        CommandError::Start(KeeperError::Execute { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
            ToolError::new(format!("spawn {program} ENOENT")).hint(NOTE)
        }
        other => other.into(),
    })?;
    match &finished.how {
        How::Exited { exited, .. } => Ok(Outcome::Exited(yaml(&finished.streams, exited.status.code(), None)?)),
        How::TimedOut { .. } => {
            let note = format!("Timed out after {}ms.", limit.as_millis());
            Ok(Outcome::TimedOut(yaml(&finished.streams, 124, Some(note))?))
        }
        How::Background { .. } | How::Lost => {
            Err(ToolError::new("the process that watched this command was killed").into())
        }
    }
}

/// The launch directory, unless the call names another one. That one must exist and, where ALLOWED_CWD_ROOTS names roots,
/// lie in one of them.
fn working_directory(arguments: &Arguments, config: &Config) -> Result<PathBuf, String> {
    let launch = &config.directories.launch_dir;
    let Some(written) = &arguments.cwd else { return Ok(launch.clone()) };
    let real = real_directory(&launch.join(written)).map_err(|error| match error {
        DirectoryError::NotADirectory => format!("cwd is not a directory: {written}"),
        _ => format!("cwd does not exist: {written}"),
    })?;
    let mut roots = Vec::new();
    for root in &config.cwd_roots {
        let invalid = |_| format!("Invalid configuration: ALLOWED_CWD_ROOTS contains an invalid root: {root}");
        roots.push(real_directory(&launch.join(Path::new(root))).map_err(invalid)?);
    }
    if roots.is_empty() || roots.iter().any(|root| real.starts_with(root)) {
        Ok(real)
    } else {
        Err("cwd is not allowed by ALLOWED_CWD_ROOTS".to_owned())
    }
}

fn yaml(streams: &Streams, exit_code: i32, note: Option<String>) -> Result<String, ToolError> {
    let Streams::Pipes { stdout, stderr } = streams else { return Err(ToolError::new("it has no streams")) };
    let (stdout, mut stderr) = (complete_text(stdout), complete_text(stderr));
    if let Some(note) = note {
        if !stderr.is_empty() && !stderr.ends_with('\n') {
            stderr.push('\n');
        }
        stderr.push_str(&note);
    }
    Ok(format!("exit_code: {exit_code}\nstdout: {}\nstderr: {}\n", block(&stdout), block(&stderr)))
}
