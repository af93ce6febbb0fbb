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
    /// The whole message, for a failure on this side.
    pub fn encode(failure: &Failure) -> Vec<u8> {
        [FAILED, format!("{} {failure}", failure.errno()).as_bytes()].concat()
    }

    /// `None` for any other message.
    pub fn decode(message: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(message.strip_prefix(FAILED)?).into_owned();
        let (errno, reason) = text.split_once(' ')?;
        Some(Self { errno: errno.parse().ok()?, reason: reason.to_owned() })
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
        let sent = |error| Failed::decode(&Failed::encode(&fail(error)));
        let reason = "failed to do it: Too many open files (os error 24)".to_owned();
        assert_eq!(sent(io::Error::from_raw_os_error(libc::EMFILE)), Some(Failed { errno: libc::EMFILE, reason }));
        assert_eq!(sent(io::Error::other("why")), Some(Failed { errno: 0, reason: "failed to do it: why".to_owned() }));
        assert_eq!(Failed::decode(b"ready"), None);
    }
}
