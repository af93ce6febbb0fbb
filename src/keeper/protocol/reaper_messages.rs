use crate::base::packed::{Malformed, Reader};

/// What a reaper tells the server.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ReaperEvent {
    /// The command runs. With a terminal, the descriptor of its master side comes with the message.
    Started { pid: i32, reaper: i32 },
    /// The command could not be started.
    Failed { step: Step, errno: i32 },
    /// The command itself ended. These of its descendants still run; `alone` if it certainly has none any more. `closed` if
    /// the kernel has closed its files: a command that is not can do nothing any more, but still holds its locks.
    Exited { status: ExitStatus, running: Vec<i32>, alone: bool, closed: bool },
    /// The last descendant has ended, some time after the command, or the command's files are closed. A reaper that was killed
    /// does not say so.
    Gone,
    /// The answer to [`Order::AskInputAwaited`]: if some process waits for input, how often the waiting threads have gone to
    /// sleep so far. Two answers differ when they woke up in between.
    InputAwaited { sleeps: Option<u32> },
}

/// The step of starting a command that failed.
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
    /// Send this signal to the command and all its descendants.
    Signal(i32),
    /// Say whether one of these processes is blocked reading the command's input.
    AskInputAwaited,
    /// Kill these processes until none is left.
    End,
}

impl ReaperEvent {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut numbers = |tag: u8, values: &[i32]| {
            out.push(tag);
            values.iter().for_each(|value| out.extend(value.to_le_bytes()));
        };
        match self {
            Self::Started { pid, reaper } => numbers(b'S', &[*pid, *reaper]),
            Self::Failed { step, errno } => numbers(b'F', &[*step as i32, *errno]),
            Self::InputAwaited { sleeps } => {
                numbers(b'I', &[i32::from(sleeps.is_some()), sleeps.unwrap_or(0).cast_signed()]);
            }
            Self::Gone => numbers(b'G', &[]),
            Self::Exited { status, running, alone, closed } => {
                let (kind, value) = match status {
                    ExitStatus::Code(code) => (0, *code),
                    ExitStatus::Signal(signal) => (1, *signal),
                };
                numbers(b'X', &[&[kind, value, i32::from(*alone), i32::from(*closed)], running.as_slice()].concat());
            }
        }
        out
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let (tag, rest) = bytes.split_first().ok_or(Malformed)?;
        let mut rest = Reader(rest);
        match tag {
            b'S' => Ok(Self::Started { pid: rest.number()?, reaper: rest.number()? }),
            b'F' => {
                let step = match rest.number()? {
                    0 => Step::Description,
                    1 => Step::WorkingDirectory,
                    2 => Step::Terminal,
                    _ => Step::Execute,
                };
                Ok(Self::Failed { step, errno: rest.number()? })
            }
            b'I' => {
                let (awaited, sleeps) = (rest.number()? != 0, rest.number()?.cast_unsigned());
                Ok(Self::InputAwaited { sleeps: awaited.then_some(sleeps) })
            }
            b'G' => Ok(Self::Gone),
            b'X' => {
                let (kind, value) = (rest.number()?, rest.number()?);
                let (alone, closed) = (rest.number()? != 0, rest.number()? != 0);
                let status = if kind == 0 { ExitStatus::Code(value) } else { ExitStatus::Signal(value) };
                let mut running = Vec::new();
                while !rest.0.is_empty() {
                    running.push(rest.number()?);
                }
                Ok(Self::Exited { status, running, alone, closed })
            }
            _ => Err(Malformed),
        }
    }
}

impl Order {
    pub fn encode(self) -> [u8; 5] {
        let (tag, value) = match self {
            Self::Signal(signal) => (b'S', signal),
            Self::AskInputAwaited => (b'I', 0),
            Self::End => (b'E', 0),
        };
        let v = value.to_le_bytes();
        [tag, v[0], v[1], v[2], v[3]]
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let (tag, rest) = bytes.split_first().ok_or(Malformed)?;
        match tag {
            b'S' => Ok(Self::Signal(Reader(rest).number()?)),
            b'I' => Ok(Self::AskInputAwaited),
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
    fn events_survive_the_wire() {
        for event in [
            ReaperEvent::Started { pid: 7, reaper: 6 },
            ReaperEvent::Failed { step: Step::WorkingDirectory, errno: 2 },
            ReaperEvent::Gone,
            ReaperEvent::Exited { status: ExitStatus::Signal(9), running: vec![3, 4], alone: false, closed: true },
            ReaperEvent::Exited { status: ExitStatus::Code(0), running: vec![], alone: true, closed: false },
            ReaperEvent::Failed { step: Step::Terminal, errno: 2 },
            ReaperEvent::InputAwaited { sleeps: Some(u32::MAX) },
            ReaperEvent::InputAwaited { sleeps: None },
        ] {
            assert_eq!(ReaperEvent::decode(&event.encode()), Ok(event));
        }
    }

    #[test]
    fn orders_survive_the_wire() {
        for order in [Order::Signal(15), Order::AskInputAwaited, Order::End] {
            assert_eq!(Order::decode(&order.encode()), Ok(order));
        }
    }

    proptest! {
        #[test]
        fn rubbish_is_refused_without_a_panic(bytes: Vec<u8>) {
            let _ = ReaperEvent::decode(&bytes);
            let _ = Order::decode(&bytes);
        }
    }
}
