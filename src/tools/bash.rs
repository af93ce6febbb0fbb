use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Hints, Tool, ToolError, ToolOutput, blocks};
use crate::exec::{self, Ending, ExitStatus, KeeperError, Place, Running, ShellState};
use crate::policy::action::RunCommand;
use crate::server::{Context, Progress, Session};

/// Runs shell text and remembers where it left the session.
pub struct Bash;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Shell text, as for `bash -c`.
    command: String,
    /// Milliseconds before it is ended; at most 600000.
    timeout: Option<i64>,
    /// What the command reads; without it, stdin is empty.
    stdin: Option<String>,
    /// What this is for, in a few words, for the people who watch.
    description: Option<String>,
    /// A name for a shell of its own, with its own cwd and variables.
    session: Option<String>,
}

const LONGEST_TIMEOUT_MS: u64 = 600_000;
const LONGEST_COMMAND: usize = 1 << 20;

impl Tool for Bash {
    const NAME: &'static str = "bash";
    const TITLE: &'static str = "Run a command";
    const DESCRIPTION: &'static str = "Run a command in bash. cwd and exported variables persist to the next call. \
        The result has exit_code, cwd if it moved, background_pids of children that still run, then stderr and stdout. \
        No terminal: pagers, editors and prompts cannot hang it. It returns when the shell ends, so `server &` returns at \
        once. A non-zero exit code is a result, not an error. Long output is cut and stays readable with task_output.";
    const HINTS: Hints = Hints { read_only: false, destructive: true, idempotent: false, open_world: true };
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: &Context) -> Result<ToolOutput, ToolError> {
        check_command(&arguments.command)?;
        let session = context.session(arguments.session.as_deref())?;
        let before = session.state();
        let action =
            RunCommand { command: arguments.command, cwd: before.cwd.clone(), description: arguments.description };
        let permitted = context.permit(action).await?;

        let progress = Progress::default();
        let listener = context.progress.is_some().then(|| {
            let progress = progress.clone();
            Arc::new(move |bytes: &[u8]| progress.add(bytes)) as exec::LineListener
        });
        let timeout = timeout(arguments.timeout, context.server.config().exec.timeout);
        let keeper = session.keeper().await.map_err(|error| keeper_error(&session, &error))?;
        let place = Place {
            keeper: &keeper,
            shell: context.server.shell(),
            store: context.server.store(),
            settings: &context.server.config().exec,
            nonce: session.nonce(),
            state: &before,
        };
        let mut running = exec::spawn(&permitted, &place, arguments.stdin.as_deref(), listener)
            .await
            .map_err(|error| keeper_error(&session, &error))?;
        session.keep(running.process.clone());
        let ending =
            progress.while_running(context.progress.clone(), running.finish(Some(timeout), &context.cancel)).await;
        answer(&session, &before, &running, ending, timeout, &keeper).map(ToolOutput::from)
    }
}

fn check_command(command: &str) -> Result<(), ToolError> {
    if command.trim().is_empty() {
        return Err(ToolError::new("command must not be empty"));
    }
    if command.contains('\0') {
        return Err(ToolError::new("command must not contain a NUL character")
            .hint("No program can be given one. To write a NUL byte, use printf '\\0'."));
    }
    if command.len() > LONGEST_COMMAND {
        return Err(ToolError::new(format!(
            "command is {} bytes long, the limit is {LONGEST_COMMAND} bytes",
            command.len()
        ))
        .hint("Nothing was run. Write the text to a file, or pass data as stdin."));
    }
    Ok(())
}

fn timeout(asked: Option<i64>, default_seconds: u64) -> Duration {
    let asked = asked.and_then(|asked| u64::try_from(asked).ok()).filter(|asked| *asked > 0);
    Duration::from_millis(asked.unwrap_or(default_seconds.saturating_mul(1000)).min(LONGEST_TIMEOUT_MS))
}

fn keeper_error(session: &Session, error: &KeeperError) -> ToolError {
    let text = error.to_string();
    match error {
        KeeperError::WorkingDirectory { .. } => {
            let project = session.return_to_project();
            ToolError::new(text).hint(format!(
                "Nothing was run. The session is now in the project directory {}: send the command again.",
                project.display()
            ))
        }
        KeeperError::Dead => ToolError::new(text).hint(
            "It may not have run. Everything the session had started has ended; the next command gets a new keeper, \
                   with cwd and variables as before.",
        ),
        KeeperError::Execute { .. } | KeeperError::Prepare(_) => ToolError::new(text).hint("Nothing was run."),
        KeeperError::Launch(_) | KeeperError::NotReady => {
            ToolError::new(text).hint("Nothing was run. `testudo doctor` shows what this machine lacks.")
        }
    }
}

fn answer(
    session: &Session,
    before: &ShellState,
    running: &Running,
    ending: Ending,
    timeout: Duration,
    keeper: &exec::Keeper,
) -> Result<String, ToolError> {
    let mut text = String::new();
    let code = match ending {
        Ending::Cancelled => {
            return Err(ToolError::new("cancelled by the client; the command and its children were ended"));
        }
        Ending::Lost => {
            keeper.mark_dead();
            return Err(ToolError::new(
                "the process that watched this command was killed, so its exit status is unknown",
            )
            .hint("The command and its children were ended. cwd and variables stay as before."));
        }
        Ending::TimedOut { exited } => {
            let code = exited.map_or(128 + libc::SIGKILL, |exited| exited.status.code());
            text.push_str(&format!("Command timed out after {}ms\n\nexit_code: {code}\n", timeout.as_millis()));
            code
        }
        Ending::Exited { exited, report } => {
            let code = exited.status.code();
            text.push_str(&format!("exit_code: {code}\n"));
            // A shell that was told to die may still report; that is not where the agent wanted to be.
            let died = matches!(exited.status, ExitStatus::Signal(_));
            if let Some(after) = ShellState::parse(&report, session.nonce()).filter(|_| !died) {
                if after.cwd != before.cwd {
                    text.push_str(&format!("cwd: {}\n", after.cwd.display()));
                }
                session.set_state(after);
            }
            if !exited.running.is_empty() {
                let pids: Vec<String> = exited.running.iter().map(i32::to_string).collect();
                text.push_str(&format!("background_pids: {}\n", pids.join(", ")));
            }
            code
        }
    };
    blocks::append(&mut text, session, code, &running.stderr, &running.stdout);
    Ok(text)
}
