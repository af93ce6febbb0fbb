use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use super::ShellState;
use super::shell::STAYS;
use super::traces::Traces;
use crate::keeper::protocol::ExitStatus;

/// What a shell reports after a text with which it does not end: how the text ended, and the variables that it may have changed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Stayed {
    pub status: ExitStatus,
    cwd_is_gone: bool,
    /// `None` for a variable that is not set.
    values: Vec<Option<Vec<u8>>>,
}

impl Stayed {
    /// Finds it in the bytes of the channel: `=NONCE`, the exit status, `!` if the cwd is gone, and then each value behind
    /// `=`, or nothing if the variable is not set. Each of these ends with a NUL. `None` as long as it is not complete.
    pub fn parse(bytes: &[u8], nonce: &str, variables: usize) -> Option<Self> {
        let mark = [STAYS.as_bytes(), nonce.as_bytes()].concat();
        let begin = memchr::memmem::find(bytes, &mark)? + mark.len();
        let mut fields = bytes[begin..].split(|byte| *byte == 0);
        let first = std::str::from_utf8(fields.next()?).ok()?;
        let (status, cwd_is_gone) = first.strip_suffix('!').map_or((first, false), |status| (status, true));
        let values: Vec<_> = fields.by_ref().take(variables).map(|value| value.strip_prefix(b"=")).collect();
        // The last NUL is there if something follows it, though it be nothing.
        fields.next()?;
        let values = values.into_iter().map(|value| value.map(<[u8]>::to_vec)).collect();
        Some(Self { status: ExitStatus::Code(status.parse().ok()?), cwd_is_gone, values })
    }

    /// What has become of the state, if that is another one. Says also whether a shell that stays is now as a new one would be.
    pub fn report(&self, before: &ShellState, traces: &Traces) -> (Option<ShellReport>, bool) {
        let (mut state, mut is_as_new) = (before.clone(), !self.cwd_is_gone);
        for (name, value) in traces.variables.iter().zip(&self.values) {
            match value {
                Some(value) if name == "PWD" => state.cwd = PathBuf::from(OsString::from_vec(value.clone())),
                // Nothing unsets it, so the shell is not the one we know.
                None if name == "PWD" => is_as_new = false,
                value => is_as_new &= state.set(name, value.as_deref()),
            }
        }
        let changed = self.cwd_is_gone || state != *before;
        (changed.then_some(ShellReport { state, cwd_is_gone: self.cwd_is_gone }), is_as_new)
    }
}

/// What a shell reports about itself when it ends.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ShellReport {
    pub state: ShellState,
    /// The cwd no longer exists.
    pub cwd_is_gone: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> ShellState {
        ShellState { cwd: "/a".into(), environment: vec![("A".into(), "1".into()), ("C".into(), "3".into())].into() }
    }

    fn traces(names: &[&str]) -> Traces {
        Traces { variables: names.iter().map(ToString::to_string).collect(), programs: false }
    }

    #[test]
    fn a_report_is_read_once_it_is_complete() {
        let whole = b"noise=aabbccdd7\0=/b\nc\0\0==\0";
        for length in 0..whole.len() {
            assert_eq!(Stayed::parse(&whole[..length], "aabbccdd", 3), None, "{length}");
        }
        let stayed = Stayed::parse(whole, "aabbccdd", 3).unwrap();
        assert_eq!(stayed.status, ExitStatus::Code(7));
        let (report, is_as_new) = stayed.report(&state(), &traces(&["PWD", "C", "B"]));
        let report = report.unwrap();
        assert!(is_as_new && !report.cwd_is_gone);
        let want = [("A".into(), "1".into()), ("B".into(), "=".into())];
        assert_eq!(report.state, ShellState { cwd: "/b\nc".into(), environment: want.to_vec().into() });
    }

    #[test]
    fn nothing_is_believed_without_the_nonce_and_nothing_changes_without_traces() {
        assert_eq!(Stayed::parse(b"=000000000\0", "aabbccdd", 0), None);
        let stayed = Stayed::parse(b"=aabbccdd0\0", "aabbccdd", 0).unwrap();
        assert_eq!(stayed.report(&state(), &traces(&[])), (None, true));
        let gone = Stayed::parse(b"=aabbccdd0!\0", "aabbccdd", 0).unwrap();
        assert!(matches!(gone.report(&state(), &traces(&[])), (Some(ShellReport { cwd_is_gone: true, .. }), false)));
    }

    #[test]
    fn a_variable_that_no_command_could_start_with_is_left_behind_with_its_shell() {
        let long = [b"=aabbccdd0\0=".as_slice(), &vec![b'x'; 200_000], b"\0"].concat();
        let stayed = Stayed::parse(&long, "aabbccdd", 1).unwrap();
        assert_eq!(stayed.report(&state(), &traces(&["B"])), (None, false));
    }
}
