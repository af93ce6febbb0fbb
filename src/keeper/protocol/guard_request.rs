use crate::base::packed::Malformed;

/// What the server asks the guard. Each request comes with one memory file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum GuardRequest {
    /// Create the keeper with the profile in the memory file. Always the first request, and sent only once. The keeper
    /// answers it. If the session has a private home, the lock of its layer follows, and the descriptors of its namespaces
    /// if it is mounted already.
    Profile,
    /// Make the paths in the memory file read-only for the running session.
    Protect,
    /// Put up the masks in the memory file for the running session.
    Mask,
    /// Make the session's private home read-only, because it is full.
    CloseHome,
}

impl GuardRequest {
    pub fn encode(self) -> &'static [u8] {
        match self {
            Self::Profile => b"profile",
            Self::Protect => b"protect",
            Self::Mask => b"mask",
            Self::CloseHome => b"close home",
        }
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let all = [Self::Profile, Self::Protect, Self::Mask, Self::CloseHome];
        all.into_iter().find(|request| request.encode() == bytes).ok_or(Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_request_is_refused() {
        assert_eq!(GuardRequest::decode(b"mask"), Ok(GuardRequest::Mask));
        assert_eq!(GuardRequest::decode(b"mas"), Err(Malformed));
        assert_eq!(GuardRequest::decode(b""), Err(Malformed));
    }
}
