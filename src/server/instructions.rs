use super::confinement::Found;
use crate::config::Config;

/// What every agent is told at the start; clients cut it at 2,048 characters.
pub fn text(config: &Config, found: Option<&Found>) -> String {
    let project = shortened(&config.directories.project_dir().display().to_string());
    format!(
        "testudo runs shell commands and remembers cwd and exported variables between `bash` calls (per `session`).\n\
         Project directory: {project}\n\
         Scope of file tools: {project}\n\
         Sandbox: {sandbox}\n\
         A command has no terminal and an empty stdin unless `stdin` is given; it ends when its shell ends, so start \
         servers with `&` and end them by the pids under `background_pids`. Long output is cut in the result and stays \
         readable with `task_output`: page, tail or grep it instead of running the command again.",
        sandbox = super::confinement::in_words(&config.sandbox, found),
    )
}

fn shortened(path: &str) -> String {
    const LONGEST: usize = 400;
    if path.chars().count() <= LONGEST {
        path.to_owned()
    } else {
        path.chars().take(LONGEST).collect::<String>() + "…"
    }
}
