//! `testudo doctor`: what this machine can enforce and what is configured, each shortcoming with its fix.

use crate::config::Config;
use crate::exec::Shell;

#[expect(clippy::print_stdout, reason = "it is for the person at the terminal")]
pub fn print(config: &Config) {
    let file =
        config.file.as_ref().map_or_else(|| "none, defaults apply".to_owned(), |path| path.display().to_string());
    println!("testudo {}", env!("CARGO_PKG_VERSION"));
    println!("configuration   {file}");
    println!("project dir     {}", config.directories.project_dir().display());
    println!("stored output   {}", config.cache_dir.display());
    println!("shell           {}", shell(&Shell::find()));
    println!("sandbox         {}", config.sandbox_text());
    for warning in &config.warnings {
        println!("warning         {warning}");
    }
}

fn shell(shell: &Shell) -> String {
    match shell {
        Shell::Bash(path) => path.display().to_string(),
        Shell::Posix(path) => format!(
            "{} (no /bin/bash here: arrays, [[ ]] and process substitution will not work; install bash)",
            path.display()
        ),
    }
}
