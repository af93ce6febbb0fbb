use super::FAILED;
use crate::sandbox::Failure;

/// From the guard or the keeper, when a step has failed. The agent reads the reason.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Failed {
    /// 0 when no system call failed.
    pub errno: i32,
    pub reason: String,
}

impl Failed {
    /// The whole message.
    pub fn encode(&self) -> Vec<u8> {
        [FAILED, format!("{} {}", self.errno, self.reason).as_bytes()].concat()
    }

    /// The same failure, within another step.
    #[must_use]
    pub fn within(self, doing: &str) -> Self {
        Self { errno: self.errno, reason: format!("failed to {doing}: {}", self.reason) }
    }

    /// `None` for any other message.
    pub fn decode(message: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(message.strip_prefix(FAILED)?).into_owned();
        let (errno, reason) = text.split_once(' ')?;
        Some(Self { errno: errno.parse().ok()?, reason: reason.to_owned() })
    }
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        Self { errno: failure.errno(), reason: failure.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Doing;
    use std::io;

    #[test]
    fn the_reason_and_the_error_number_arrive() {
        let fail = |error: io::Error| Err::<(), _>(error).doing(|| "do it".to_owned()).unwrap_err();
        let sent = |error| Failed::decode(&Failed::from(fail(error)).encode());
        let reason = "failed to do it: Too many open files (os error 24)".to_owned();
        assert_eq!(sent(io::Error::from_raw_os_error(libc::EMFILE)), Some(Failed { errno: libc::EMFILE, reason }));
        assert_eq!(sent(io::Error::other("why")), Some(Failed { errno: 0, reason: "failed to do it: why".to_owned() }));
        assert_eq!(Failed::decode(b"ready"), None);
    }
}
