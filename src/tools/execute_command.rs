use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::bash::place;
use super::{Hints, Tool, ToolError, ToolOutput, complete_text};
use crate::exec::{self, Ending, KeeperError, Running, ShellState, Streams};
use crate::files::{DirectoryError, real_directory};
use crate::policy::action::RunWords;
use crate::policy::shell::split;
use crate::server::{Context, Progress};

/// One program and its arguments, without a shell.
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

const LONGEST_TIMEOUT_MS: u64 = 600_000;
const NOTE: &str = "Note: This tool does not support interactive commands. Ensure the command is non-interactive and the \
                    executable exists.";

/// The result, in this order.
#[derive(Serialize)]
struct Executed {
    exit_code: i32,
    stdout: String,
    stderr: String,
}

impl Tool for ExecuteCommand {
    const NAME: &'static str = "execute_command";
    const TITLE: &'static str = "Execute a program";
    const DESCRIPTION: &'static str = "Execute one program with its arguments, without a shell. This is ONLY for \
        non-interactive commands; interactive commands are not supported. The result is YAML with exit_code, stdout and \
        stderr. Which programs may be run is set by ALLOWED_COMMANDS.";
    const HINTS: Hints = Hints { read_only: false, destructive: true, idempotent: false, open_world: true };
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: &Context) -> Result<ToolOutput, ToolError> {
        execute(arguments, context).await.map_err(|text| ToolError::new(format!("Error executing command: {text}")))?
    }
}

/// The outer error is text after the common prefix; the inner one already is the whole answer.
async fn execute(arguments: Arguments, context: &Context) -> Result<Result<ToolOutput, ToolError>, String> {
    let words = split::words(&arguments.command).map_err(|error| error.to_string())?;
    let program = words.first().ok_or("command must not be empty")?;
    let allowed = &context.server.config().policy.allowed_commands;
    if !allowed.permits(program) {
        return Err(format!("Command \"{program}\" is not allowed, allowed commands: {allowed}"));
    }
    let cwd = working_directory(&arguments, context)?;
    let session = context.session(None).map_err(|error| error.to_string())?;
    let permitted = match context.permit(RunWords { words: words.clone(), cwd: cwd.clone() }).await {
        Ok(permitted) => permitted,
        Err(error) => return Err(error.to_string()),
    };
    let keeper = session.keeper().await.map_err(|error| error.to_string())?;
    let state = ShellState { cwd, environment: context.server.environment() };
    let place = place(&context.server, &session, &keeper, &state);
    let mut running = exec::spawn_words(&permitted, &place).await.map_err(|error| match error {
        KeeperError::Execute { error, .. } if error.kind() == std::io::ErrorKind::NotFound => {
            format!("spawn {program} ENOENT\n{NOTE}")
        }
        other => other.to_string(),
    })?;
    session.keep(running.process.clone());
    let timeout = timeout(&arguments, context);
    let finishing = running.finish(Some(timeout), &context.cancel);
    match Progress::default().while_running(context.progress.clone(), finishing).await {
        Ending::Exited { exited, .. } => Ok(Ok(yaml(&running, exited.status.code(), None)?.into())),
        Ending::TimeUp => {
            running.end().await;
            let note = format!("Timed out after {}ms.", timeout.as_millis());
            Ok(Err(ToolError::new(yaml(&running, 124, Some(note))?)))
        }
        Ending::Cancelled => Err("cancelled by the client; the command and its children were ended".to_owned()),
        Ending::Lost => Err("the process that watched this command was killed".to_owned()),
    }
}

fn timeout(arguments: &Arguments, context: &Context) -> Duration {
    let default = context.server.config().exec.timeout.saturating_mul(1000);
    let asked = arguments.timeout_ms.and_then(|asked| u64::try_from(asked).ok()).filter(|asked| *asked > 0);
    Duration::from_millis(asked.unwrap_or(default).min(LONGEST_TIMEOUT_MS))
}

/// Always the launch directory, unless the call names another: then it must exist, and lie in a root where there are some.
fn working_directory(arguments: &Arguments, context: &Context) -> Result<PathBuf, String> {
    let config = context.server.config();
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

fn yaml(running: &Running, exit_code: i32, note: Option<String>) -> Result<String, String> {
    let Streams::Pipes { stdout, stderr } = &running.streams else { return Err("it has no streams".to_owned()) };
    let mut result = Executed { exit_code, stdout: complete_text(stdout), stderr: complete_text(stderr) };
    if let Some(note) = note {
        if !result.stderr.is_empty() && !result.stderr.ends_with('\n') {
            result.stderr.push('\n');
        }
        result.stderr.push_str(&note);
    }
    serde_saphyr::to_string(&result).map_err(|error| error.to_string())
}
