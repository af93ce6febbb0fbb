//! What a person types, one file per subcommand. The flags come from [`crate::config::options`], so help, file and
//! environment agree.

mod advice;
mod approvals;
mod approve;
mod arguments;
mod audit;
mod audit_text;
mod call;
mod changes;
mod console;
mod doctor;
mod explain;
mod home;
mod install;
mod keyboard;
mod live_text;
mod log;
mod manual;
mod output;
mod picture;
mod ps;
mod serve;
mod server_options;
mod stderr;
mod watch;
mod welcome;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};

use crate::config::options::TOKEN_FLAG;
use crate::config::{self, Config, Source};
use crate::drafts::Work;
use crate::sandbox::settings::WantedLevel;
use crate::sandbox::{Level, Mode};
use crate::server::{Enforcement, Server};
use arguments::Command;
use output::unless_closed;

pub use output::print_error;
pub use stderr::finish;

/// The whole program, from the words of the command line to the exit code.
pub fn run(words: impl IntoIterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    let words: Vec<OsString> = words.into_iter().collect();
    // These must be small and start fast, so nothing is parsed or loaded for them.
    if words.get(1).is_some_and(|word| word == crate::keeper::guard::SUBCOMMAND) {
        crate::keeper::guard::main()?;
        return Ok(ExitCode::SUCCESS);
    }
    crate::exec::unblock_all_signals();
    if words.get(1).is_some_and(|word| word == crate::exec::PICTURE_SUBCOMMAND) {
        return picture::run(&words[2..]);
    }
    if words.get(1).is_some_and(|word| word == crate::network::ssh_tunnel::SUBCOMMAND) {
        let words: Vec<String> = words[2..].iter().map(|word| word.to_string_lossy().into_owned()).collect();
        return crate::network::ssh_tunnel::main(&words).map(|()| ExitCode::SUCCESS).map_err(Into::into);
    }
    let bare = words.len() == 1;
    let arguments = match arguments::parse(words) {
        Ok(arguments) => arguments,
        // Help and version arrive here too, with the exit code 0.
        Err(error) => {
            unless_closed(error.print())?;
            return Ok(ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2)));
        }
    };
    if bare && rustix::termios::isatty(std::io::stdin()) && rustix::termios::isatty(std::io::stdout()) {
        welcome::print()?;
        return Ok(ExitCode::SUCCESS);
    }
    match arguments.command {
        Command::Install { client, list, project, print, uninstall, options } => {
            let client = client.filter(|_| !list);
            let order = install::Order { client, project, print, uninstall, options };
            return install::run(&order);
        }
        Command::Completions { shell } => return manual::completions(shell),
        Command::Man => return manual::page(),
        _ => {}
    }
    arguments.flags.iter().filter(|(flag, _)| flag == TOKEN_FLAG).flat_map(|(_, values)| values).for_each(|token| {
        crate::exec::command_line::hide(TOKEN_FLAG, token);
    });
    let source = Source {
        environment: std::env::vars_os().collect(),
        flags: arguments.flags,
        current_dir: std::env::current_dir().ok(),
    };
    let config = match (config::load(&source), &arguments.command) {
        (Ok(config), _) => config,
        (Err(error), Command::Doctor { json })
            if let Some(file) = source.config_file().filter(|file| error.is_in(file)) =>
        {
            return doctor::refused(&error, &file, *json);
        }
        (Err(error), command)
            if command.is_about_running_servers() && source.config_file().is_some_and(|file| error.is_in(&file)) =>
        {
            print_error(&format!("testudo: {error}\nServers that run keep the configuration that they have."));
            config::load_without_file(&source)?
        }
        (Err(error), _) => return Err(error.into()),
    };
    let transport = config.transport;
    let runtime = || runtime(transport);
    match arguments.command {
        Command::Serve => {
            let work = draft_work(&config)?;
            log::start(&config);
            let runtime = runtime()?;
            let result = runtime.block_on(serve::run(config, source, work));
            // A blocking read of stdin cannot be interrupted. Waiting for it would keep the process alive after a signal.
            runtime.shutdown_background();
            result.map(|()| ExitCode::SUCCESS)
        }
        Command::Call { tool, words } => {
            let work = draft_work(&config)?;
            log::start_quiet(&config);
            runtime()?.block_on(call::run(server(config, work)?, tool, &words))
        }
        Command::Explain { text, json } => {
            log::start_quiet(&config);
            explain::run(&server(config, None)?, &text, json)
        }
        Command::Revoke { ids, json } => approvals::revoke(&config, &ids, json),
        Command::Ps { json } => {
            runtime()?.block_on(ps::run(&config, json))?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Watch { session, json } => {
            runtime()?.block_on(watch::run(&config, session.as_deref(), json))?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Approve(arguments) => runtime()?.block_on(approve::run(&config, &arguments)),
        Command::Console { no_open, port } => runtime()?.block_on(console::run(&config, port, !no_open)),
        Command::Audit(arguments) => audit::run(&config, &arguments),
        Command::Home { reset: true, all, .. } => home::reset(&config, all),
        Command::Home { .. } => home::list(&config),
        Command::Changes { diff, paths } => changes::changes(&config, diff, &paths),
        Command::Apply { force, paths } => changes::apply(&config, force, &paths),
        Command::Discard { paths } => changes::discard(&config, &paths),
        Command::Drafts => changes::list(&config),
        Command::Doctor { json } => runtime()?.block_on(doctor::run(config, json)),
        // Handled above: they need no configuration.
        Command::Install { .. } | Command::Completions { .. } | Command::Man => Ok(ExitCode::SUCCESS),
    }
}

/// With `--draft`: moves this process to where the project is a draft. Before it has a second thread.
fn draft_work(config: &Config) -> anyhow::Result<Option<Work>> {
    if !config.draft {
        return Ok(None);
    }
    if config.sandbox.mode == Mode::Off || config.sandbox.level == WantedLevel::Landlock {
        bail!(
            "--draft needs sandbox level full, and the configuration rules it out\nfix: leave out --sandbox off and \
             sandbox.level = \"landlock\", or leave out --draft"
        );
    }
    Ok(Some(Work::begin(&config.state_dir, &config.directories.place(&[]).directories)?))
}

/// A draft below level full would be a promise that nobody keeps.
fn refuse_weak_draft(server: &Server, found: &Enforcement) -> anyhow::Result<()> {
    if !server.config().draft || found.level == Level::Full {
        return Ok(());
    }
    let reasons: String = found.shortfalls.iter().flat_map(|reason| ["\n", reason]).collect();
    let fixes = found.fixes();
    let fixes: String = fixes.iter().flat_map(|fix| ["\nfix: ", fix]).collect();
    bail!("--draft needs sandbox level full, and this machine reaches level {}{reasons}{fixes}", found.level)
}

fn server(config: Config, work: Option<Work>) -> anyhow::Result<Arc<Server>> {
    Ok(Server::new(config, crate::tools::TOOLS, work)?)
}

/// How many threads serve the calls of many clients. Work that blocks has threads of its own.
const THREADS: usize = 2;

/// One client is served by one thread: handing a call from thread to thread takes longer than what each does with it.
fn runtime(transport: config::Transport) -> anyhow::Result<tokio::runtime::Runtime> {
    crate::exec::give_back_large_blocks();
    crate::exec::survive_file_size_limit();
    check_threads().context(
        "failed to start a thread: the limit of processes is reached (ulimit -u, or --pids-limit of a container)",
    )?;
    let mut builder = match transport {
        config::Transport::Stdio => tokio::runtime::Builder::new_current_thread(),
        config::Transport::Http => tokio::runtime::Builder::new_multi_thread(),
    };
    builder.worker_threads(THREADS).enable_all().build().context("failed to start the runtime")
}

/// The runtime panics, or waits for ever, where it cannot start the threads that it needs.
fn check_threads() -> std::io::Result<()> {
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    std::thread::scope(|scope| {
        let wait = || drop(held.lock().map(|held| held.recv()));
        let started: std::io::Result<Vec<_>> =
            (0..THREADS).map(|_| std::thread::Builder::new().spawn_scoped(scope, wait)).collect();
        drop(hold);
        started.map(drop)
    })
}
