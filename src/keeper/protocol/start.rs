use std::ffi::OsString;
use std::path::PathBuf;

use super::KeeperRequest;
use crate::base::packed::{Malformed, Reader, put_count, put_text};

/// A command to start.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Start {
    pub program: OsString,
    /// With `argv[0]`.
    pub arguments: Vec<OsString>,
    pub environment: Vec<(OsString, OsString)>,
    pub cwd: PathBuf,
    /// The numbers that the extra descriptors get in the command, in the order in which they are sent.
    pub extra: Vec<i32>,
    /// For a command that is started in advance: the number, one of `extra`, of the pipe that it reads before it does
    /// anything. Until the server closes the other end of that pipe, the keeper takes the command to be idle.
    pub waits_on: Option<i32>,
    /// A terminal of this size takes the place of stdin, stdout and stderr.
    pub terminal: Option<TerminalSize>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TerminalSize {
    pub rows: u16,
    pub columns: u16,
}

impl Start {
    /// What to ask the keeper. The keeper does not read the description itself, so the request repeats the one thing that
    /// the keeper has to know.
    pub fn request(&self) -> KeeperRequest {
        let index = |number| self.extra.iter().position(|extra| *extra == number);
        KeeperRequest::Start { waits_on: self.waits_on.and_then(index) }
    }

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
        put_count(&mut out, usize::from(self.waits_on.is_some()));
        out.extend(self.waits_on.unwrap_or(0).to_le_bytes());
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
        let (waits, number) = (rest.count()? == 1, rest.number()?);
        let waits_on = waits.then_some(number);
        let size = rest.number()?.cast_unsigned();
        #[expect(clippy::cast_possible_truncation, reason = "each half has 16 bits")]
        let (rows, columns) = ((size >> 16) as u16, size as u16);
        let terminal = (size != 0).then_some(TerminalSize { rows, columns });
        Ok(Self { program, arguments, environment, cwd, extra, waits_on, terminal })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_request_names_the_pipe_by_its_place() {
        let start = Start { extra: vec![251, 248, 249], waits_on: Some(248), ..Start::default() };
        assert_eq!(start.request(), KeeperRequest::Start { waits_on: Some(1) });
        assert_eq!(Start { waits_on: None, ..start }.request(), KeeperRequest::Start { waits_on: None });
    }

    proptest! {
        #[test]
        fn a_start_survives_the_wire(
            program: OsString,
            arguments: Vec<OsString>,
            cwd: OsString,
            environment: Vec<(OsString, OsString)>,
            extra: Vec<i32>,
            waits_on: Option<i32>,
            rows in 1_u16..500,
        ) {
            let terminal = Some(TerminalSize { rows, columns: rows / 2 });
            let start = Start { program, arguments, environment, cwd: cwd.into(), extra, waits_on, terminal };
            prop_assert_eq!(Start::decode(&start.encode()), Ok(start));
        }

        #[test]
        fn rubbish_is_refused_without_a_panic(bytes: Vec<u8>) {
            let _ = Start::decode(&bytes);
        }
    }
}
