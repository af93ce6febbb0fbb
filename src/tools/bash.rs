use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::time_limit::time_limit;
use super::{Tool, check_command, stream_text, task_text};
use crate::exec::{KeeperError, ShellState, Stdin, Streams, Until, WaitEnd};
use crate::gate::Permitted;
use crate::policy::action::RunCommand;
use crate::server::command::{AtLimit, Command, CommandError, Finished, How, TimeLimit, What};
use crate::server::{Context, Hints, Progress, Session, Stop, ToolError, ToolOutput};

/// Runs shell text; the session remembers its cwd and exported variables.
pub struct Bash;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Shell text, as for `bash -c`.
    command: String,
    /// Milliseconds before it is ended; at most 600000.
    timeout: Option<i64>,
    /// Start it as a task and return at once.
    #[serde(default)]
    run_in_background: bool,
    /// What happens at the timeout: it is ended, or goes on as a task.
    #[serde(default)]
    on_timeout: OnTimeout,
    /// What the command reads; without it, stdin is empty.
    stdin: Option<String>,
    /// Run it in a terminal, for programs that need one; answer them with task_input.
    #[serde(default)]
    pty: bool,
    /// What this is for, in a few words, for the people who watch.
    description: Option<String>,
    /// A name for a shell of its own, with its own cwd and variables.
    session: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq)]
#[serde(rename_all = "lowercase")]
enum OnTimeout {
    #[default]
    Kill,
    Background,
}

impl Tool for Bash {
    const NAME: &'static str = "bash";
    const TITLE: &'static str = "Run a command";
    const DESCRIPTION: &'static str = "Run a command in bash. cwd and exported variables persist to the next call. \
        The result has exit_code, cwd if it moved, background_pids of children that still run, then stderr and stdout. \
        There is no terminal, so pagers and prompts cannot hang it. It returns when the shell ends and is ended after 120 \
        s unless `timeout` (or the server's --timeout) says otherwise. A non-zero exit code is a result, not an error. \
        Long output is cut and stays readable with task_output. For servers, watchers and long builds use \
        run_in_background; for REPLs and programs that ask, pty.";
    const HINTS: Hints = Hints { read_only: false, destructive: true, idempotent: false, open_world: true };
    const RESULT_MAY_BE_LONG: bool = true;
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: &Context) -> Result<ToolOutput, Stop> {
        check_command(&arguments.command)?;
        if arguments.pty && arguments.stdin.is_some() {
            return Err(ToolError::new("stdin cannot be given to a terminal")
                .hint("Nothing was run. Type into it with task_input once it runs.")
                .into());
        }
        let session = context.session(arguments.session.as_deref())?;
        let before = context.state_of(&session);
        let action = RunCommand {
            command: arguments.command.clone(),
            cwd: before.cwd.clone(),
            search_path: before.variable("PATH"),
            description: arguments.description.clone(),
        };
        let permitted = context.permit(&session, action).await?;
        let call = BashCall { arguments: &arguments, context, session: &session, before: &before };
        let text = match (arguments.run_in_background, arguments.pty) {
            (false, false) => call.in_foreground(&permitted).await,
            (true, _) => call.in_background(&permitted).await,
            (false, true) => call.in_terminal(&permitted).await,
        };
        Ok(text?.into())
    }
}

/// One call, with what its three ways share.
struct BashCall<'a> {
    arguments: &'a Arguments,
    context: &'a Context,
    session: &'a Arc<Session>,
    before: &'a ShellState,
}

impl BashCall<'_> {
    async fn in_foreground(&self, permitted: &Permitted<RunCommand>) -> Result<String, ToolError> {
        let stdin = self.arguments.stdin.as_deref().map_or(Stdin::Empty, Stdin::Text);
        let at_limit = match self.arguments.on_timeout {
            OnTimeout::Kill => AtLimit::End,
            OnTimeout::Background => AtLimit::Background,
        };
        let limit = TimeLimit { time: self.timeout(), then: at_limit, answer_within: self.answer_within() };
        let command = self.command(permitted, stdin, true);
        let finished = self.context.run(&command, limit).await.map_err(|error| self.error(error))?;
        self.text(&finished, limit.time)
    }

    async fn in_background(&self, permitted: &Permitted<RunCommand>) -> Result<String, ToolError> {
        let task = if self.arguments.pty {
            self.context.start_terminal(self.session, permitted, self.before, self.background_timeout()).await
        } else {
            let stdin = self.arguments.stdin.as_deref().map_or(Stdin::Open, Stdin::Text);
            self.context.start_task(&self.command(permitted, stdin, false), self.background_timeout()).await
        };
        let task = task.map_err(|error| self.error(error))?;
        Ok(format!("task_id: {}\nCommand started in background.", task.id))
    }

    /// Answers when the program ends, waits for input, or the time is up. In the last case it runs on.
    async fn in_terminal(&self, permitted: &Permitted<RunCommand>) -> Result<String, ToolError> {
        let task = self.context.start_terminal(self.session, permitted, self.before, None).await;
        let task = task.map_err(|error| self.error(error))?;
        let limit = self.answer_within().map_or(self.timeout(), |limit| limit.min(self.timeout()));
        let waiting = task.wait(&Until::Exit, limit, &self.context.cancel);
        let waited = Progress::default().while_running(self.context.progress.clone(), waiting).await;
        if waited == WaitEnd::Cancelled {
            task.process.terminate().await;
            self.session.tasks().forget(&task.id);
            return Err(ToolError::new("cancelled by the client; the program and its children were ended"));
        }
        if task.finished().is_some() {
            self.session.tasks().mark_known(&task.id);
        }
        let header = task_text::header(&task, None).await;
        let body = task_text::body(self.context, self.session, &task, task_text::Part::All);
        Ok(format!("task_id: {}\n{header}{body}", task.id))
    }

    fn command<'a>(&'a self, permitted: &'a Permitted<RunCommand>, stdin: Stdin<'a>, moves: bool) -> Command<'a> {
        let what = What::Text(permitted);
        Command { session: self.session, what, state: self.before, stdin, moves_session: moves }
    }

    fn text(&self, finished: &Finished, limit: Duration) -> Result<String, ToolError> {
        let millis = limit.as_millis();
        Ok(match &finished.how {
            How::Exited { exited, moved_to, lost_cwd } => {
                let mut text = format!("exit_code: {}\n", exited.status.code());
                let after = moved_to.as_ref().map(|after| &after.cwd);
                match (after, lost_cwd) {
                    (Some(cwd), Some(lost)) => {
                        text.push_str(&format!("cwd: {} ({} no longer exists)\n", cwd.display(), lost.display()));
                    }
                    (Some(cwd), None) if *cwd != self.before.cwd => {
                        text.push_str(&format!("cwd: {}\n", cwd.display()));
                    }
                    _ => {}
                }
                if !exited.running.is_empty() {
                    let pids: Vec<String> = exited.running.iter().map(i32::to_string).collect();
                    text.push_str(&format!("background_pids: {}\n", pids.join(", ")));
                }
                self.with_streams(text, exited.status.code(), &finished.streams)
            }
            How::TimedOut { exited, full } => {
                let code = exited.as_ref().map_or(128 + libc::SIGKILL, |exited| exited.status.code());
                let full = full.as_ref().map(|full| format!(" and was ended: {full}")).unwrap_or_default();
                let text = format!("Command timed out after {millis}ms{full}\n\nexit_code: {code}\n");
                self.with_streams(text, code, &finished.streams)
            }
            How::Background { task, after } => {
                let body = task_text::body(self.context, self.session, task, task_text::Part::All);
                format!("Command still running after {}ms\n\ntask_id: {}\n{body}", after.as_millis(), task.id)
            }
            How::Lost => {
                let lost = "the process that watched this command was killed, so its exit status is unknown";
                return Err(ToolError::new(lost)
                    .hint("The command and its children were ended. cwd and variables stay as before."));
            }
        })
    }

    fn with_streams(&self, mut text: String, code: i32, streams: &Streams) -> String {
        if let Streams::Pipes { stdout, stderr } = streams {
            stream_text::append(&mut text, self.session, code, stderr, stdout);
        }
        text
    }

    /// A session whose directory has gone returns to the project, so that its next command runs.
    fn error(&self, error: CommandError) -> ToolError {
        let CommandError::Start(KeeperError::WorkingDirectory { .. }) = error else { return error.into() };
        ToolError::new(error.to_string()).hint(format!(
            "Nothing was run. The session is now in the project directory {}: send the command again.",
            self.session.return_to_project().display()
        ))
    }

    fn timeout(&self) -> Duration {
        time_limit(self.arguments.timeout, self.context.server.config().exec.timeout)
            .unwrap_or(super::time_limit::LONGEST)
    }

    /// Clients give up on a silent call. Neither progress nor a time of its own tells them that this one takes longer.
    fn answer_within(&self) -> Option<Duration> {
        let is_silent = self.context.progress.is_none() && self.arguments.timeout.is_none_or(|asked| asked <= 0);
        let limit = Duration::from_secs(self.context.server.config().exec.answer_within);
        (is_silent && !limit.is_zero()).then_some(limit)
    }

    fn background_timeout(&self) -> Option<Duration> {
        time_limit(self.arguments.timeout, self.context.server.config().exec.background_timeout)
    }
}
