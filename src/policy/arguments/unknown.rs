//! Programs that are in no table. A rule that allows such a program covers its arguments, except for options whose name
//! says that they name a program to run. A file in `--output` is judged like the target of a redirection.

use super::super::shell::Word;
use super::vet::tail;
use super::vetted::Vetted;

/// Words in the names of options that take a program: `--diff-program`, `--pager`, `-exec`.
const PROGRAMS: [&str; 22] = [
    "exec",
    "execute",
    "command",
    "cmd",
    "program",
    "prog",
    "shell",
    "pager",
    "editor",
    "browser",
    "viewer",
    "hook",
    "preprocessor",
    "wrapper",
    "interpreter",
    "launcher",
    "eval",
    "askpass",
    "rsh",
    "runner",
    "helper",
    "callback",
];

/// Words in the names of options that take a file to write.
const OUTPUTS: [&str; 3] = ["output", "outfile", "logfile"];

pub fn vet(arguments: &[Word]) -> Vetted {
    let mut vetted = Vetted::default();
    for (index, word) in arguments.iter().enumerate() {
        let start = word.literal_start();
        if word.text().as_deref() == Some("--") {
            break;
        }
        let name = start.split('=').next().unwrap_or_default();
        let Some(words) = name.strip_prefix('-').filter(|name| name.len() > 1) else { continue };
        let glued = name.len() < start.len();
        let mut parts = words.split(['-', '_']);
        if parts.clone().any(|part| PROGRAMS.contains(&part)) {
            let value = if glued { index } else { (index + 1).min(arguments.len() - 1) };
            vetted.unvetted(value, format!("its option {name} may name a program that it runs"));
        } else if parts.any(|part| OUTPUTS.contains(&part)) {
            let value = if glued { Some(tail(word, name.len() + 1)) } else { arguments.get(index + 1).cloned() };
            vetted.writes.extend(value.filter(|value| !value.literal_start().starts_with('-')));
        }
    }
    vetted
}
