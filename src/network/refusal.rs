use std::io;

use super::{Target, groups};

/// Why a connection came to nothing.
#[derive(Debug)]
pub enum Refusal {
    /// The lists, a person, or a check refused it.
    NotAllowed(String),
    /// It was allowed, and did not work.
    Failed(String),
    /// The client has sent something that we cannot understand.
    Malformed(String),
    /// The client has gone.
    Gone,
}

impl Refusal {
    /// No list names the host.
    pub fn unlisted(target: &Target) -> String {
        // A tool rarely needs one host only.
        let group = groups::with(target).map(|group| format!("--allow-host {} ({}) or ", group.name, group.what));
        format!(
            "the host {} (port {}) is not among the hosts that commands may reach; {}--allow-host {} would allow it (network.allow)",
            target.host,
            target.port,
            group.unwrap_or_default(),
            target.pattern()
        )
    }

    /// The answer of an HTTP proxy. The reason stands in the first line too, because many clients show only that.
    pub fn http(&self) -> Vec<u8> {
        let (status, reason) = match self {
            Self::NotAllowed(reason) => (403, reason.as_str()),
            Self::Failed(reason) => (502, reason.as_str()),
            Self::Malformed(reason) => (400, reason.as_str()),
            Self::Gone => return Vec::new(),
        };
        let row: String = reason.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).collect();
        format!(
            "HTTP/1.1 {status} {row}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\ntestudo: \
             {reason}\n",
            reason.len() + "testudo: \n".len()
        )
        .into_bytes()
    }
}

impl From<io::Error> for Refusal {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}
