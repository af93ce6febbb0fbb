use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use serde::{Deserialize, Deserializer, de::Error};

/// Where an HTTP server listens.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Listen {
    Tcp(SocketAddr),
    /// A unix socket, open to its owner only.
    Unix(PathBuf),
}

const UNIX: &str = "unix:";

impl Listen {
    /// Whether only programs on this machine can connect.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().is_loopback(),
            Self::Unix(_) => true,
        }
    }

    /// `localhost` is translated here, because a static binary has no resolver to ask.
    fn parse(text: &str) -> Result<Self, String> {
        if let Some(path) = text.strip_prefix(UNIX).filter(|path| !path.is_empty()) {
            return Ok(Self::Unix(path.into()));
        }
        let (host, port) = text.rsplit_once(':').unwrap_or((text, ""));
        if host.eq_ignore_ascii_case("localhost")
            && let Ok(port) = port.parse()
        {
            return Ok(Self::Tcp((Ipv4Addr::LOCALHOST, port).into()));
        }
        text.parse().map(Self::Tcp).map_err(|_| {
            format!(
                "{text:?} is not an address and a port, like 127.0.0.1:8731, [::1]:8731 or localhost:8731 (port 0 = any), \
                 nor a socket, like unix:/run/user/1000/testudo.sock"
            )
        })
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

impl<'de> Deserialize<'de> for Listen {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::Listen;

    #[test]
    fn a_host_and_a_port_or_a_path() {
        for (text, shown) in [
            ("localhost:1", "127.0.0.1:1"),
            ("LOCALHOST:0", "127.0.0.1:0"),
            ("[::1]:9", "[::1]:9"),
            ("unix:/run/x", "unix:/run/x"),
        ] {
            assert_eq!(Listen::parse(text).map(|listen| listen.to_string()), Ok(shown.to_owned()), "{text}");
        }
        for text in ["", "8731", ":8731", "localhost", "localhost:x", "example.com:80", "127.0.0.1:99999", "unix:"] {
            assert!(Listen::parse(text).is_err(), "{text}");
        }
    }
}
