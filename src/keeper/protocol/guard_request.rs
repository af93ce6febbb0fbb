use crate::base::packed::Malformed;

/// What the server asks the guard. Each request comes with one memory file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum GuardRequest {
    /// Create the keeper with the profile in the memory file. Always the first request, and sent only once. The keeper
    /// answers it.
    Profile,
    /// Make the paths in the memory file read-only for the running session.
    Protect,
    /// Hide the paths in the memory file from the running session.
    Hide,
}

impl GuardRequest {
    pub fn encode(self) -> &'static [u8] {
        match self {
            Self::Profile => b"profile",
            Self::Protect => b"protect",
            Self::Hide => b"hide",
        }
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let all = [Self::Profile, Self::Protect, Self::Hide];
        all.into_iter().find(|request| request.encode() == bytes).ok_or(Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_request_is_refused() {
        assert_eq!(GuardRequest::decode(b"hide"), Ok(GuardRequest::Hide));
        assert_eq!(GuardRequest::decode(b"hid"), Err(Malformed));
        assert_eq!(GuardRequest::decode(b""), Err(Malformed));
    }
}
