use super::Workplace;
use super::confinement::{self, Found};
use crate::config::Config;

/// What every agent is told at the start; clients cut it at 2,048 characters.
pub fn text(config: &Config, workplace: &Workplace, found: Option<&Found>) -> String {
    let project = shortened(&workplace.project_dir.display().to_string());
    let scope = if workplace.directories.is_empty() {
        "only the session's temporary directory, because the server was started in / or in the home directory: the user \
         can name a project with --project-dir"
            .to_owned()
    } else {
        let directories: Vec<String> = workplace.directories.iter().map(|path| path.display().to_string()).collect();
        shortened(&directories.join(", "))
    };
    format!(
        "testudo runs shell commands and remembers cwd and exported variables between `bash` calls (per `session`).\n\
         Project directory: {project} (a client's roots win over it)\n\
         Scope of file tools: {scope}\n\
         Sandbox: {sandbox}\n\
         A command has no terminal and an empty stdin unless `stdin` is given; it ends when its shell ends, so start \
         servers with `&` and end them by the pids under `background_pids`. Long output is cut in the result and stays \
         readable with `task_output`: page, tail or grep it instead of running the command again.",
        sandbox = confinement::in_words(&config.sandbox, found),
    )
}

fn shortened(text: &str) -> String {
    const LONGEST: usize = 400;
    if text.chars().count() <= LONGEST {
        text.to_owned()
    } else {
        text.chars().take(LONGEST).collect::<String>() + "…"
    }
}
