//! Which shell, and how text is given to it so that its cwd and variables come back without touching text or output.
//!
//! bash gets its text unchanged with `-c`; a prologue, read through `BASH_ENV` from a memory file, installs an EXIT trap
//! that reports on a private descriptor, and a `trap` that keeps ours when the command sets its own. The descriptors have
//! three digits because scripts use the small ones (`exec 9>lock`).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::keeper::protocol::Start;

use super::ShellState;

const TEXT: i32 = 249;
const PROLOGUE: i32 = 250;
const STATE: i32 = 251;

/// The kernel's limit for a single argument, with room for the terminating NUL.
const LONGEST_ARGUMENT: usize = 128 * 1024 - 1;

/// The shell of this machine.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Shell {
    Bash(PathBuf),
    Posix(PathBuf),
}

impl Shell {
    /// `/bin/bash` if it can be executed, else `/bin/sh`.
    pub fn find() -> Self {
        let bash = Path::new("/bin/bash");
        if rustix::fs::access(bash, rustix::fs::Access::EXEC_OK).is_ok() {
            Self::Bash(bash.to_owned())
        } else {
            Self::Posix("/bin/sh".into())
        }
    }

    pub fn path(&self) -> &Path {
        match self {
            Self::Bash(path) | Self::Posix(path) => path,
        }
    }

    /// The command, and the descriptors it needs besides stdin, stdout and stderr; `report` is where the shell writes its
    /// state.
    pub fn command(
        &self,
        text: &str,
        nonce: &str,
        state: &ShellState,
        report: OwnedFd,
    ) -> std::io::Result<(Start, Vec<OwnedFd>)> {
        let mut environment = state.environment.clone();
        environment.push(("PWD".into(), state.cwd.clone().into()));
        let (mut extra, mut descriptors) = (vec![STATE], vec![report]);
        let fits = text.len() < LONGEST_ARGUMENT;
        if !fits {
            extra.push(TEXT);
            descriptors.push(memory_file(c"text", text.as_bytes())?);
        }
        let arguments = match self {
            Self::Bash(_) => {
                extra.push(PROLOGUE);
                descriptors.push(memory_file(c"prologue", bash_prologue(nonce, fits).as_bytes())?);
                environment.push(("BASH_ENV".into(), format!("/proc/self/fd/{PROLOGUE}").into()));
                words(["bash", "-c", if fits { text } else { "eval \"$__testudo_text\"" }])
            }
            Self::Posix(_) => words(["sh", "-c", &posix_script(nonce, fits), "sh", if fits { text } else { "" }]),
        };
        let program = self.path().as_os_str().to_owned();
        Ok((Start { program, arguments, environment, cwd: state.cwd.clone(), extra, terminal: None }, descriptors))
    }
}

fn words<const N: usize>(words: [&str; N]) -> Vec<OsString> {
    words.map(|word| OsStr::new(word).to_owned()).to_vec()
}

fn bash_prologue(nonce: &str, text_fits: bool) -> String {
    let take_text =
        if text_fits { String::new() } else { format!("__testudo_text=$(</proc/self/fd/{TEXT}); exec {TEXT}<&-\n") };
    format!(
        r#"unset BASH_ENV; exec {PROLOGUE}<&-
{take_text}__testudo_end(){{ local s=$?; if [[ $BASHPID == $$ ]]; then builtin set +eux; builtin trap - DEBUG ERR RETURN
 builtin printf '\0%s\0' {nonce}; builtin pwd; builtin printf '\0'; builtin export -p; builtin printf '\0%s\0' {nonce}; fi; return $s; }}
trap(){{ if [[ $BASHPID == $$ && $# -gt 1 && $1 != -[pl] && " $* " =~ \ (EXIT|exit|0)\  ]]; then [[ $1 == -- ]] && shift
 local h=$1; shift; [[ $h == - ]] && h=; builtin trap -- "$h" "$@"; builtin trap -- "{{ __testudo_end; }} 2>/dev/null >&{STATE}
$h" EXIT; else builtin trap "$@"; fi; }}
builtin trap '{{ __testudo_end; }} 2>/dev/null >&{STATE}' EXIT
"#
    )
}

/// dash has no `BASH_ENV` and no descriptors above 9 in its redirections, so the text is evaluated by a script that
/// reports at the end. A command that sets its own EXIT trap gives up its cwd and variables.
fn posix_script(nonce: &str, text_fits: bool) -> String {
    let text = if text_fits { "$1".to_owned() } else { format!("$(cat /proc/self/fd/{TEXT})") };
    format!(
        r#"__testudo_text={text}; shift
trap '__testudo_s=$?; trap - EXIT; {{ printf "\000%s\000" {nonce}; pwd; printf "\000"; export -p; printf "\000%s\000" {nonce}; }} 2>/dev/null >/proc/self/fd/{STATE}; exit $__testudo_s' EXIT
eval "$__testudo_text""#
    )
}

/// A file that exists in memory only and is read from its beginning by whoever gets it.
pub fn memory_file(name: &std::ffi::CStr, content: &[u8]) -> std::io::Result<OwnedFd> {
    let mut file = File::from(rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC)?);
    file.write_all(content)?;
    rustix::fs::seek(&file, rustix::fs::SeekFrom::Start(0))?;
    Ok(file.into())
}
