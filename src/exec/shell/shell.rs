//! Finds the shell and gives it the text. The shell's cwd and variables come back without a change to text or output.
//!
//! bash gets its text unchanged with `-c`. It reads a prologue through `BASH_ENV` from a memory file. The prologue installs
//! an EXIT trap that reports on a private descriptor, and a `trap` function that keeps our trap when the command sets or resets
//! its own.
//! Our trap ends with a signal to the reaper, which then looks for the exit status (`keeper/last_moment.rs`).

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use crate::keeper::protocol::Start;

use super::ShellState;
use super::numbers::Numbers;
use super::shell_variables::keeps_from_waiting;
use super::waiting_script;

/// What a waiting shell reports when its directory is no longer the one it was started in.
pub const STALE: &str = "stale";

/// Begins what a shell reports when it has run a text and stays.
pub const STAYS: &str = "=";

/// What a shell in a terminal writes before it runs its text. A key that comes earlier could interrupt the prologue
/// instead.
const READY: &str = "r";

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

    /// The command, and the descriptors it needs besides stdin, stdout and stderr.
    pub fn command(&self, text: &str, start: Beginning<'_>) -> io::Result<Prepared> {
        if text.len() < LONGEST_ARGUMENT {
            return self.prepare(Text::Argument(text), start, vec![]);
        }
        let file = memory_file(c"text", text.as_bytes())?;
        let number = start.numbers().text;
        self.prepare(Text::File, start, vec![(number, file)])
    }

    /// A waiting shell: it waits for a message from `go`, which may say to read a text from the file `text`. Only bash can do this.
    pub fn waiting(&self, start: Beginning<'_>, text: OwnedFd, go: OwnedFd) -> io::Result<Option<Prepared>> {
        let may_not_wait = start.state.environment.iter().any(|(name, _)| keeps_from_waiting(name));
        if matches!(self, Self::Posix(_)) || may_not_wait {
            return Ok(None);
        }
        let numbers = start.numbers();
        self.prepare(Text::Later, start, vec![(numbers.text, text), (numbers.go, go)]).map(Some)
    }

    fn prepare(&self, text: Text<'_>, start: Beginning<'_>, mut placed: Vec<(i32, OwnedFd)>) -> io::Result<Prepared> {
        let (numbers, Beginning { reports, state, channel, .. }) = (start.numbers(), start);
        placed.push((numbers.state, channel));
        let mut environment = state.environment.to_vec();
        environment.push(("PWD".into(), state.cwd.clone().into()));
        let arguments = match (self, text) {
            (Self::Bash(_), text) => {
                let prologue = bash_prologue(reports, text, numbers);
                placed.push((numbers.prologue, memory_file(c"prologue", prologue.as_bytes())?));
                environment.push(("BASH_ENV".into(), format!("/proc/self/fd/{}", numbers.prologue).into()));
                // Without --norc, a bash below sshd, or with a socket as stdin, reads its own file instead of BASH_ENV.
                let script = match (text, reports) {
                    (Text::Argument(text), _) => text,
                    (Text::Later, Reports::State { .. }) => &waiting_script::script(&state.cwd, numbers),
                    (Text::File | Text::Later, _) => EVALUATE,
                };
                words(["bash", "--norc", "-c", "--", script])
            }
            (Self::Posix(_), Text::Argument(text)) => {
                words(["sh", "-c", &posix_script(reports, "$1", numbers), "sh", text])
            }
            (Self::Posix(_), Text::File | Text::Later) => {
                let text = format!("$(cat /proc/self/fd/{})", numbers.text);
                words(["sh", "-c", &posix_script(reports, &text, numbers), "sh", ""])
            }
        };
        let program = self.path().as_os_str().to_owned();
        let (extra, descriptors) = placed.into_iter().unzip();
        let waits_on = matches!(text, Text::Later).then_some(numbers.go);
        let cwd = state.cwd.clone();
        let start = Start { program, arguments, environment, cwd, extra, waits_on, terminal: None };
        Ok(Prepared { start, descriptors })
    }
}

/// What every shell starts with.
pub struct Beginning<'a> {
    pub reports: Reports<'a>,
    pub state: &'a ShellState,
    /// The shell reports to it.
    pub channel: OwnedFd,
    /// How many descriptors the shell may have.
    pub descriptor_limit: u64,
}

impl Beginning<'_> {
    pub(super) fn numbers(&self) -> Numbers {
        Numbers::below(self.descriptor_limit)
    }
}

/// A command for the keeper and what it needs besides stdin, stdout and stderr.
pub struct Prepared {
    pub start: Start,
    pub descriptors: Vec<OwnedFd>,
}

/// What a shell reports.
#[derive(Clone, Copy, Debug)]
pub enum Reports<'a> {
    /// Its cwd and variables, when it ends.
    State { nonce: &'a str },
    /// Only that it is about to run its text. bash without an EXIT trap replaces itself by the last command, so that a C-c
    /// reaches that command and is not lost between two processes.
    Ready,
}

/// How the text reaches the shell.
#[derive(Clone, Copy)]
enum Text<'a> {
    Argument(&'a str),
    /// Too long for an argument.
    File,
    /// The text comes after the shell has started: it is a waiting shell.
    Later,
}

/// A shell without our prologue has no text.
const EVALUATE: &str = "eval -- \"${__testudo_text?}\"";

fn words<const N: usize>(words: [&str; N]) -> Vec<OsString> {
    words.map(|word| OsStr::new(word).to_owned()).to_vec()
}

fn bash_prologue(reports: Reports<'_>, text: Text<'_>, numbers: Numbers) -> String {
    let Numbers { text: source, prologue, state, .. } = numbers;
    let read = format!("IFS= builtin read -r -d '' -u {source} __testudo_text");
    let report = format!("{{ __testudo_end; builtin kill -URG $PPID; }} 2>/dev/null >&{state}");
    let take_text = match (text, reports) {
        (Text::File, _) => format!("{read}; exec {source}<&-\n"),
        (Text::Later, Reports::State { nonce }) => waiting_script::functions(nonce, numbers),
        (Text::Argument(_) | Text::Later, _) => String::new(),
    };
    let Reports::State { nonce } = reports else {
        return format!(
            "unset BASH_ENV; exec {prologue}<&-\n{take_text}builtin printf {READY} >&{state}; exec {state}>&-\n"
        );
    };
    format!(
        r#"unset BASH_ENV; exec {prologue}<&-
__testudo_end(){{ local s=$?; if [[ $BASHPID == $$ ]]; then builtin set +eux; builtin trap - DEBUG ERR RETURN
 builtin printf '\0%s\0' {nonce}; [[ -d $PWD ]] || builtin printf '!'; builtin pwd; builtin printf '\0'; builtin export -p; builtin printf '\0%s\0' {nonce}; fi; return $s; }}
__testudo_trap=
trap(){{ local s h= IFS=' '; if [[ $BASHPID != $$ ]]; then builtin trap "$@"; return; fi
 if [[ ${{1--p}} == -[lpP]* ]]; then builtin trap -- "${{__testudo_trap:--}}" EXIT; builtin trap "$@"; s=$?
 else builtin trap "$@"; s=$?; [[ $1 != -- ]] || shift
  if [[ $# -gt 1 && ( -z $1 || $1 == *[!0-9]* ) ]]; then h=$1; shift; [[ $h != - ]] || h=; fi
  [[ " ${{*^^}} " == *\ @(EXIT|0)\ * ]] || return $s
  [[ $h != "{{ __testudo_end;"* ]] || h=${{h#*$'\n'}}; __testudo_trap=$h
 fi; builtin trap -- "{{ __testudo_end; }} 2>/dev/null >&{state}
$__testudo_trap" EXIT; return $s; }}
builtin trap '{report}
' EXIT
{take_text}"#
    )
}

/// dash has no `BASH_ENV` and no descriptors above 9 in its redirections, so the text is evaluated by a script that
/// reports at the end. A command that sets its own EXIT trap gives up its cwd and variables.
fn posix_script(reports: Reports<'_>, text: &str, Numbers { state, .. }: Numbers) -> String {
    let Reports::State { nonce } = reports else {
        return format!(
            "__testudo_text={text}; shift\nprintf {READY} >/proc/self/fd/{state}\neval \"$__testudo_text\""
        );
    };
    format!(
        r#"__testudo_text={text}; shift
trap '__testudo_s=$?; trap - EXIT; {{ printf "\000%s\000" {nonce}; [ -d "$PWD" ] || printf "!"; pwd; printf "\000"; export -p; printf "\000%s\000" {nonce}; }} 2>/dev/null >/proc/self/fd/{state}; exit $__testudo_s' EXIT
eval "$__testudo_text""#
    )
}

/// A file in memory; its offset is at the beginning.
pub fn memory_file(name: &std::ffi::CStr, content: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(rustix::fs::memfd_create(name, rustix::fs::MemfdFlags::CLOEXEC)?);
    file.write_all(content)?;
    rustix::fs::seek(&file, rustix::fs::SeekFrom::Start(0))?;
    Ok(file.into())
}
