//! What server, keeper and reaper say to each other. Small messages over sequenced-packet sockets; the description of a
//! command, which may be large, travels in a memory file beside the descriptors.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::base::packed::{Malformed, Reader, put_count, put_text};

/// The hidden subcommand that turns the binary into a guard. The session's socket is its descriptor 0. A number behind it
/// is how many descriptors commands may have, where the server has raised its own limit.
pub const SUBCOMMAND: &str = "__keeper";

/// Sent by the keeper once, when it is restricted and ready to start commands.
pub const READY: &[u8] = b"ready";

/// Sent instead of [`READY`], with the reason after it, by the guard or the keeper that could not restrict itself.
pub const FAILED: &[u8] = b"failed ";

/// Orders to the guard, with a memory file of paths: make them read-only, or hide them, for the running session.
pub const PROTECT: &[u8] = b"protect";
pub const HIDE: &[u8] = b"hide";

/// The guard's answer to an order that was carried out.
pub const DONE: &[u8] = b"done";

/// Sent by the keeper with a sentence after it, when it had to end something by itself.
pub const NOTE: &[u8] = b"note ";

/// Sent to the keeper with one descriptor: try the boundary from inside, and write what was found there.
pub const PROBE: &[u8] = b"probe";

/// Sent to the keeper with the descriptors of a command to start.
pub const START: &[u8] = b"start";

/// The same for a command that does nothing while the other end of its last descriptor, a pipe, is open.
pub const START_RESTING: &[u8] = b"start resting";

/// Descriptors that accompany a start request, in this order; further ones go where `Start::extra` says.
pub const DESCRIPTION: usize = 0;
pub const CONTROL: usize = 1;
pub const STDIN: usize = 2;
pub const STDOUT: usize = 3;
pub const STDERR: usize = 4;
pub const FIRST_EXTRA: usize = 5;
pub const MOST_DESCRIPTORS: usize = 12;

/// A command to start.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Start {
    pub program: OsString,
    /// With `argv[0]`.
    pub arguments: Vec<OsString>,
    pub environment: Vec<(OsString, OsString)>,
    pub cwd: PathBuf,
    /// Where the descriptors from `FIRST_EXTRA` on shall be in the command.
    pub extra: Vec<i32>,
    /// A terminal of this size takes the place of stdin, stdout and stderr.
    pub terminal: Option<TerminalSize>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TerminalSize {
    pub rows: u16,
    pub columns: u16,
}

/// What a reaper reports.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Report {
    /// For a terminal, its master comes along.
    Started { pid: i32 },
    /// Nothing was run.
    Failed { step: Step, errno: i32 },
    /// The command itself ended; these of its descendants still run.
    Exited { status: ExitStatus, running: Vec<i32> },
    /// Whether something in the tree is blocked reading the command's input.
    Waiting { waiting: bool },
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Step {
    Description,
    WorkingDirectory,
    Terminal,
    Execute,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ExitStatus {
    Code(i32),
    Signal(i32),
}

impl ExitStatus {
    /// The number a shell would put into `$?`.
    pub fn code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }
}

/// What the server tells a reaper.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Order {
    /// Send a signal to every process of the tree.
    Signal(i32),
    /// Say whether it waits for input.
    AskWaiting,
    /// Kill until nothing is left.
    End,
}

impl Start {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(4096);
        put_text(&mut out, &self.program);
        put_text(&mut out, &self.cwd);
        put_count(&mut out, self.arguments.len());
        self.arguments.iter().for_each(|word| put_text(&mut out, word));
        put_count(&mut out, self.environment.len());
        for (name, value) in &self.environment {
            put_text(&mut out, name);
            put_text(&mut out, value);
        }
        put_count(&mut out, self.extra.len());
        self.extra.iter().for_each(|number| out.extend(number.to_le_bytes()));
        let size = self.terminal.map_or(0, |size| (i32::from(size.rows) << 16) | i32::from(size.columns));
        out.extend(size.to_le_bytes());
        out
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut rest = Reader(bytes);
        let program = rest.text()?;
        let cwd = PathBuf::from(rest.text()?);
        let arguments = (0..rest.count()?).map(|_| rest.text()).collect::<Result<_, _>>()?;
        let environment = (0..rest.count()?).map(|_| Ok((rest.text()?, rest.text()?))).collect::<Result<_, _>>()?;
        let extra = (0..rest.count()?).map(|_| rest.number()).collect::<Result<_, _>>()?;
        let size = rest.number()?.cast_unsigned();
        #[expect(clippy::cast_possible_truncation, reason = "each half has 16 bits")]
        let (rows, columns) = ((size >> 16) as u16, size as u16);
        let terminal = (size != 0).then_some(TerminalSize { rows, columns });
        Ok(Self { program, arguments, environment, cwd, extra, terminal })
    }
}

impl Report {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut numbers = |tag: u8, values: &[i32]| {
            out.push(tag);
            values.iter().for_each(|value| out.extend(value.to_le_bytes()));
        };
        match self {
            Self::Started { pid } => numbers(b'S', &[*pid]),
            Self::Failed { step, errno } => numbers(b'F', &[*step as i32, *errno]),
            Self::Waiting { waiting } => numbers(b'W', &[i32::from(*waiting)]),
            Self::Exited { status, running } => {
                let (kind, value) = match status {
                    ExitStatus::Code(code) => (0, *code),
                    ExitStatus::Signal(signal) => (1, *signal),
                };
                numbers(b'X', &[&[kind, value], running.as_slice()].concat());
            }
        }
        out
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let (tag, rest) = bytes.split_first().ok_or(Malformed)?;
        let mut rest = Reader(rest);
        match tag {
            b'S' => Ok(Self::Started { pid: rest.number()? }),
            b'F' => {
                let step = match rest.number()? {
                    0 => Step::Description,
                    1 => Step::WorkingDirectory,
                    2 => Step::Terminal,
                    _ => Step::Execute,
                };
                Ok(Self::Failed { step, errno: rest.number()? })
            }
            b'W' => Ok(Self::Waiting { waiting: rest.number()? != 0 }),
            b'X' => {
                let (kind, value) = (rest.number()?, rest.number()?);
                let status = if kind == 0 { ExitStatus::Code(value) } else { ExitStatus::Signal(value) };
                let mut running = Vec::new();
                while !rest.0.is_empty() {
                    running.push(rest.number()?);
                }
                Ok(Self::Exited { status, running })
            }
            _ => Err(Malformed),
        }
    }
}

impl Order {
    pub fn encode(self) -> [u8; 5] {
        let (tag, value) = match self {
            Self::Signal(signal) => (b'S', signal),
            Self::AskWaiting => (b'W', 0),
            Self::End => (b'E', 0),
        };
        let v = value.to_le_bytes();
        [tag, v[0], v[1], v[2], v[3]]
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let (tag, rest) = bytes.split_first().ok_or(Malformed)?;
        match tag {
            b'S' => Ok(Self::Signal(Reader(rest).number()?)),
            b'W' => Ok(Self::AskWaiting),
            b'E' => Ok(Self::End),
            _ => Err(Malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reports_survive_the_wire() {
        for report in [
            Report::Started { pid: 7 },
            Report::Failed { step: Step::WorkingDirectory, errno: 2 },
            Report::Exited { status: ExitStatus::Signal(9), running: vec![3, 4] },
            Report::Exited { status: ExitStatus::Code(0), running: vec![] },
            Report::Failed { step: Step::Terminal, errno: 2 },
            Report::Waiting { waiting: true },
        ] {
            assert_eq!(Report::decode(&report.encode()), Ok(report));
        }
    }

    proptest! {
        #[test]
        fn a_start_survives_the_wire(program: OsString, words: Vec<OsString>, cwd: OsString, names: Vec<(OsString, OsString)>, extra: Vec<i32>, rows in 1_u16..500) {
            let start = Start { program, arguments: words, environment: names, cwd: cwd.into(), extra, terminal: Some(TerminalSize { rows, columns: rows / 2 }) };
            prop_assert_eq!(Start::decode(&start.encode()), Ok(start));
        }

        #[test]
        fn rubbish_is_refused_without_a_panic(bytes: Vec<u8>) {
            let _ = Start::decode(&bytes);
            let _ = Report::decode(&bytes);
            let _ = Order::decode(&bytes);
        }
    }
}
