use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Hints, Tool, ToolError, ToolOutput, blocks, task_text};
use crate::exec::{
    self, Ending, ExitStatus, Exited, Keeper, KeeperError, Place, Running, ShellState, Stdin, Streams, Until, WarmShell,
};
use crate::gate::Permitted;
use crate::policy::action::RunCommand;
use crate::server::{Context, Progress, Server, Session};

/// Runs shell text and remembers where it left the session.
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

const LONGEST_TIMEOUT_MS: u64 = 600_000;
const LONGEST_COMMAND: usize = 1 << 20;

impl Tool for Bash {
    const NAME: &'static str = "bash";
    const TITLE: &'static str = "Run a command";
    const DESCRIPTION: &'static str = "Run a command in bash. cwd and exported variables persist to the next call. \
        The result has exit_code, cwd if it moved, background_pids of children that still run, then stderr and stdout. \
        No terminal: pagers, editors and prompts cannot hang it. It returns when the shell ends, so `server &` returns at \
        once. A non-zero exit code is a result, not an error. Long output is cut and stays readable with task_output. \
        For servers, watchers and long builds use run_in_background; for REPLs and programs that ask, pty.";
    const HINTS: Hints = Hints { read_only: false, destructive: true, idempotent: false, open_world: true };
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: &Context) -> Result<ToolOutput, ToolError> {
        check(&arguments)?;
        let session = context.session(arguments.session.as_deref())?;
        let before = session.state();
        let action = RunCommand {
            command: arguments.command.clone(),
            cwd: before.cwd.clone(),
            search_path: before.variable("PATH"),
            description: arguments.description.clone(),
        };
        let permitted = context.permit(action).await?;
        let call = Bashing { arguments: &arguments, context, session: &session, before: &before };
        let text = match (arguments.run_in_background, arguments.pty) {
            (false, false) => call.in_foreground(&permitted).await?,
            (true, _) => call.in_background(&permitted).await?,
            (false, true) => call.in_terminal(&permitted).await?,
        };
        Ok(text.into())
    }
}

/// One call, with what its three ways share.
struct Bashing<'a> {
    arguments: &'a Arguments,
    context: &'a Context,
    session: &'a Arc<Session>,
    before: &'a ShellState,
}

impl Bashing<'_> {
    async fn in_foreground(&self, permitted: &Permitted<RunCommand>) -> Result<String, ToolError> {
        let progress = Progress::default();
        let listener = self.context.progress.is_some().then(|| {
            let progress = progress.clone();
            Arc::new(move |bytes: &[u8]| progress.add(bytes)) as exec::LineListener
        });
        let mut running = self.start_or_take(permitted, listener.clone()).await?;
        let timeout = self.timeout();
        let sink = || self.context.progress.clone();
        let mut ending = progress.while_running(sink(), running.finish(Some(timeout), &self.context.cancel)).await;
        if matches!(&ending, Ending::Exited { report, .. } if exec::is_stale(report)) {
            // Its directory had changed under the waiting shell; a fresh one runs it, or says what is wrong.
            running = self.start(permitted, Some(Stdin::Empty), listener).await?;
            ending = progress.while_running(sink(), running.finish(Some(timeout), &self.context.cancel)).await;
        }
        let answer = match ending {
            Ending::Exited { exited, report } => Ok(self.exited(&exited, &report, &running)),
            Ending::TimeUp if self.arguments.on_timeout == OnTimeout::Background => {
                self.hand_over(running, timeout).await
            }
            Ending::TimeUp => {
                Ok(self.ended(&running, &format!("Command timed out after {}ms\n\n", timeout.as_millis())).await)
            }
            Ending::Cancelled => {
                Err(ToolError::new("cancelled by the client; the command and its children were ended"))
            }
            Ending::Lost => {
                Err(ToolError::new("the process that watched this command was killed, so its exit status is unknown")
                    .hint("The command and its children were ended. cwd and variables stay as before."))
            }
        };
        self.prepare_next();
        answer
    }

    async fn in_background(&self, permitted: &Permitted<RunCommand>) -> Result<String, ToolError> {
        let place = self.session.tasks().reserve().map_err(|full| full_error(self.session, &full.to_string()))?;
        let stdin = self.arguments.stdin.as_deref().map_or(Stdin::Open, Stdin::Text);
        let stdin = (!self.arguments.pty).then_some(stdin);
        let running = self.start(permitted, stdin, None).await?;
        let limit = self.background_timeout();
        let task = place.fill(running);
        if let Some(limit) = limit {
            let process = task.process.clone();
            tokio::spawn(async move {
                if tokio::time::timeout(limit, process.exited()).await.is_err() {
                    process.terminate().await;
                }
            });
        }
        self.session.watch_idle(&task, self.idle_limit());
        Ok(format!("task_id: {}\nCommand started in background.", task.id))
    }

    /// Answers when the program ends, waits for input, or the time is up; it then runs on.
    async fn in_terminal(&self, permitted: &Permitted<RunCommand>) -> Result<String, ToolError> {
        let place = self.session.tasks().reserve().map_err(|full| full_error(self.session, &full.to_string()))?;
        let running = self.start(permitted, None, None).await?;
        let task = place.fill(running);
        self.session.watch_idle(&task, self.idle_limit());
        let waiting = task.wait(&Until::Exit, self.timeout(), &self.context.cancel);
        let waited = Progress::default().while_running(self.context.progress.clone(), waiting).await;
        if waited == exec::Waited::Cancelled {
            task.process.terminate().await;
            self.session.tasks().forget(&task.id);
            return Err(ToolError::new("cancelled by the client; the program and its children were ended"));
        }
        if task.finished().is_some() {
            self.session.tasks().mark_known(&task.id);
        }
        let header = task_text::header(&task, None).await;
        let limit = self.context.server.config().exec.output.view_characters;
        let body = task_text::body(self.session, &task, task_text::Shown::All, limit);
        Ok(format!("task_id: {}\n{header}{body}", task.id))
    }

    /// The same process and the same output go on as a task; nothing is lost or repeated.
    async fn hand_over(&self, running: Running, timeout: Duration) -> Result<String, ToolError> {
        let millis = timeout.as_millis();
        match self.session.tasks().reserve() {
            Ok(place) => {
                let task = place.fill(running);
                let mut text = format!("Command still running after {millis}ms\n\ntask_id: {}\n", task.id);
                let limit = self.context.server.config().exec.output.view_characters;
                text.push_str(&task_text::body(self.session, &task, task_text::Shown::All, limit));
                Ok(text)
            }
            Err(full) => {
                let head = format!("Command timed out after {millis}ms and was ended: {full}\n\n");
                Ok(self.ended(&running, &head).await)
            }
        }
    }

    /// In the shell that waits for it where there is one, else in a fresh one.
    async fn start_or_take(
        &self,
        permitted: &Permitted<RunCommand>,
        listener: Option<exec::LineListener>,
    ) -> Result<Running, ToolError> {
        let stdin = self.arguments.stdin.as_deref().map_or(Stdin::Empty, Stdin::Text);
        if let Stdin::Empty = stdin
            && let Some(shell) = self.session.next_shell().take().await
            && let Ok(keeper) = self.session.keeper().await
            && shell.fits(permitted, self.before, &keeper)
            && let Ok(running) = shell.run(permitted, listener.clone())
        {
            self.session.keep(running.process.clone());
            return Ok(running);
        }
        self.start(permitted, Some(stdin), listener).await
    }

    /// Has the next shell start while the agent reads the answer.
    fn prepare_next(&self) {
        let (server, session) = (self.context.server.clone(), self.session.clone());
        self.session.next_shell().prepare(async move {
            let keeper = session.keeper().await.ok()?;
            let state = session.state();
            WarmShell::start(&place(&server, &session, &keeper, &state), &keeper).await.ok().flatten()
        });
    }

    async fn start(
        &self,
        permitted: &Permitted<RunCommand>,
        stdin: Option<Stdin<'_>>,
        listener: Option<exec::LineListener>,
    ) -> Result<Running, ToolError> {
        let explain = |error: KeeperError| keeper_error(self.session, &error);
        let keeper = self.session.keeper().await.map_err(explain)?;
        let place = place(&self.context.server, self.session, &keeper, self.before);
        let running = match stdin {
            Some(stdin) => exec::spawn(permitted, &place, stdin, listener).await,
            None => exec::spawn_terminal(permitted, &place).await,
        };
        let running = running.map_err(explain)?;
        self.session.keep(running.process.clone());
        Ok(running)
    }

    fn exited(&self, exited: &Exited, report: &[u8], running: &Running) -> String {
        let mut text = format!("exit_code: {}\n", exited.status.code());
        // A shell that was told to die may still report; that is not where the agent wanted to be.
        let died = matches!(exited.status, ExitStatus::Signal(_));
        if let Some(after) = ShellState::parse(report, self.session.nonce()).filter(|_| !died) {
            if after.cwd != self.before.cwd {
                text.push_str(&format!("cwd: {}\n", after.cwd.display()));
            }
            self.session.set_state(after);
        }
        if !exited.running.is_empty() {
            let pids: Vec<String> = exited.running.iter().map(i32::to_string).collect();
            text.push_str(&format!("background_pids: {}\n", pids.join(", ")));
        }
        self.append_streams(&mut text, exited.status.code(), running);
        text
    }

    /// Ends the tree and shows what it said until then.
    async fn ended(&self, running: &Running, head: &str) -> String {
        let code = running.end().await.map_or(128 + libc::SIGKILL, |exited| exited.status.code());
        let mut text = format!("{head}exit_code: {code}\n");
        self.append_streams(&mut text, code, running);
        text
    }

    fn append_streams(&self, text: &mut String, code: i32, running: &Running) {
        if let Streams::Pipes { stdout, stderr } = &running.streams {
            blocks::append(text, self.session, code, stderr, stdout);
            if code != 0 {
                self.session.keepers().explain(&self.before.cwd, stderr.get().view.head());
            }
        }
    }

    fn timeout(&self) -> Duration {
        let default = self.context.server.config().exec.timeout.saturating_mul(1000);
        Duration::from_millis(self.asked_timeout().unwrap_or(default).min(LONGEST_TIMEOUT_MS))
    }

    fn background_timeout(&self) -> Option<Duration> {
        let default = self.context.server.config().exec.background_timeout.saturating_mul(1000);
        let asked = self.asked_timeout().map(|asked| asked.min(LONGEST_TIMEOUT_MS));
        asked.or(Some(default)).filter(|limit| *limit > 0).map(Duration::from_millis)
    }

    fn asked_timeout(&self) -> Option<u64> {
        self.arguments.timeout.and_then(|asked| u64::try_from(asked).ok()).filter(|asked| *asked > 0)
    }

    fn idle_limit(&self) -> Duration {
        Duration::from_secs(self.context.server.config().exec.tasks.terminal_idle)
    }
}

/// Where a session's command runs; shared by every tool that runs one.
pub fn place<'a>(server: &'a Server, session: &'a Session, keeper: &'a Keeper, state: &'a ShellState) -> Place<'a> {
    Place {
        keeper,
        shell: server.shell(),
        store: server.store(),
        settings: &server.config().exec,
        nonce: session.nonce(),
        state,
    }
}

fn check(arguments: &Arguments) -> Result<(), ToolError> {
    check_command(&arguments.command)?;
    if arguments.pty && arguments.stdin.is_some() {
        return Err(ToolError::new("stdin cannot be given to a terminal")
            .hint("Nothing was run. Type into it with task_input once it runs."));
    }
    Ok(())
}

/// What every tool that runs shell text refuses.
pub fn check_command(command: &str) -> Result<(), ToolError> {
    if command.trim().is_empty() {
        return Err(ToolError::new("command must not be empty"));
    }
    if command.contains('\0') {
        return Err(ToolError::new("command must not contain a NUL character")
            .hint("No program can be given one. To write a NUL byte, use printf '\\0'."));
    }
    if command.len() > LONGEST_COMMAND {
        let message = format!("command is {} bytes long, the limit is {LONGEST_COMMAND} bytes", command.len());
        return Err(ToolError::new(message).hint("Nothing was run. Write the text to a file, or pass data as stdin."));
    }
    Ok(())
}

fn full_error(session: &Session, message: &str) -> ToolError {
    ToolError::new(message).hint(format!(
        "Nothing was run. Tasks: {}. Read finished ones with task_output, end others with task_stop.",
        session.tasks().ids().join(", ")
    ))
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
        KeeperError::Launch(_) | KeeperError::NotReady | KeeperError::Restrict(_) | KeeperError::Refused(_) => {
            ToolError::new(text).hint("Nothing was run. `testudo doctor` shows what this machine lacks and the fix.")
        }
    }
}
