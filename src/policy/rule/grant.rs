use serde::Serialize;

/// More room for what a rule lets through.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(into = "String")]
pub enum Grant {
    /// The person's ssh agent, to log in and to sign.
    SshAgent,
    /// The person's gpg agent.
    GpgAgent,
    /// A host that may be reached, as in `network.allow`.
    Host(String),
    /// A directory that may be written. `~` is the home directory.
    Write(String),
}

impl Grant {
    /// `None` for a text that names no grant.
    pub fn read(text: &str) -> Option<Self> {
        let named = |prefix: &str| text.strip_prefix(prefix).map(str::trim).filter(|value| !value.is_empty());
        match text {
            "ssh-agent" => Some(Self::SshAgent),
            "gpg-agent" => Some(Self::GpgAgent),
            _ => named("host:")
                .map(|host| Self::Host(host.to_owned()))
                .or_else(|| named("write:").map(|path| Self::Write(path.to_owned()))),
        }
    }
}

impl std::fmt::Display for Grant {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::SshAgent => f.write_str("ssh-agent"),
            Self::GpgAgent => f.write_str("gpg-agent"),
            Self::Host(host) => write!(f, "host:{host}"),
            Self::Write(path) => write!(f, "write:{path}"),
        }
    }
}

impl From<Grant> for String {
    fn from(grant: Grant) -> Self {
        grant.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::Grant;

    #[test]
    fn a_grant_is_read_as_it_is_shown() {
        for text in ["ssh-agent", "gpg-agent", "host:github.com", "host:*.example.org:8443", "write:~/.cache/foo"] {
            assert_eq!(Grant::read(text).unwrap().to_string(), text);
        }
        for text in ["", "ssh", "host:", "write: ", "read:/x", "SSH-AGENT"] {
            assert_eq!(Grant::read(text), None, "{text}");
        }
    }
}
