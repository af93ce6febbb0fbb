use std::path::PathBuf;

use super::Workplace;
use crate::config::{Config, Directories};
use crate::network::Mode;
use crate::sandbox::{self, Tested};

/// What every agent is told at the start. Clients cut it at 2,048 characters.
pub fn text(config: &Config, workplace: &Workplace, found: Option<Tested>) -> String {
    let project = project(&config.directories, workplace);
    let scope = if workplace.directories.is_empty() {
        "only the session's temporary directory, because the server was started in / or in the home directory: the user \
         can name a project with --project-dir"
            .to_owned()
    } else {
        format!("{}, and the session's /tmp", list(&workplace.directories))
    };
    format!(
        "testudo runs shell commands and remembers cwd and exported variables between `bash` calls (per `session`).\n\
         Project directory: {project}\n\
         Scope of file tools: {scope}\n\
         Sandbox: {sandbox}\n\
         {draft}\
         A command has no terminal and an empty stdin unless `stdin` is given. It is ended after {timeout} s unless \
         `timeout` says otherwise. Start servers, watchers and long builds with `run_in_background` and read them with \
         `task_output`; run programs that ask questions with `pty`. Long output is cut in the result and stays readable \
         with `task_output`: page, tail or grep it instead of running the command again.",
        sandbox = sandbox_in_words(config, found),
        draft = if config.draft { DRAFT } else { "" },
        timeout = config.exec.timeout,
    )
}

const DRAFT: &str = "This is a draft: the user's own files stay as they are until the user runs `testudo apply`.\n";

/// What is enforced, for agents and people.
pub fn sandbox_in_words(config: &Config, found: Option<Tested>) -> String {
    let (settings, network) = (&config.sandbox, network(config));
    let writes = match settings.mode {
        sandbox::Mode::Off => return format!("off, network {network}: commands run with the server's own rights"),
        sandbox::Mode::ReadOnly => "commands can write their temporary directory only",
        sandbox::Mode::WorkspaceWrite if found.is_some_and(|found| found.private_home) => {
            "commands can write the scope, their temporary directory and a home of their own (the real home stays as it \
             is), but no git hooks or agent and editor configuration"
        }
        sandbox::Mode::WorkspaceWrite => {
            "commands can write the scope, their temporary directory and tool caches, but no git hooks or agent and \
             editor configuration"
        }
    };
    let level = match found {
        None => "level not tested yet".to_owned(),
        Some(found) if found.level < settings.minimum => format!("level {}, so commands are refused", found.level),
        Some(found) => format!("level {}", found.level),
    };
    format!("{}, {level}, network {network}: {writes}; credentials cannot be read", settings.mode)
}

fn network(config: &Config) -> String {
    match (config.network.mode(), config.network.allow.as_slice()) {
        (Mode::Hosts, []) => "hosts (none is named; the person is asked)".to_owned(),
        (Mode::Hosts, allowed) => {
            let allowed: Vec<String> = allowed.iter().map(ToString::to_string).collect();
            format!("hosts ({})", shortened(&allowed.join(", ")))
        }
        (mode, _) => mode.to_string(),
    }
}

/// Over HTTP each client has roots of its own, and this text is the same for all of them.
fn project(flags: &Directories, workplace: &Workplace) -> String {
    let named = list(std::slice::from_ref(&workplace.project_dir));
    match flags.ceiling().filter(|_| flags.roots_stay_within) {
        None => format!("{named} (a client's roots win over it)"),
        Some(ceiling) if ceiling.is_empty() => format!("{named}, whatever roots the client offers"),
        Some(ceiling) => format!("decided by the client's roots within {}; without roots {named}", list(&ceiling)),
    }
}

fn list(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    shortened(&paths.join(", "))
}

fn shortened(text: &str) -> String {
    const LONGEST: usize = 250;
    if text.chars().count() <= LONGEST {
        text.to_owned()
    } else {
        text.chars().take(LONGEST).collect::<String>() + "…"
    }
}
