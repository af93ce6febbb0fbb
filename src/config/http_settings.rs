use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error};

use super::{Source, Tokens};

/// `[http]` of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpSettings {
    #[serde(deserialize_with = "address")]
    pub listen: SocketAddr,
    /// `token`, and what [`HttpSettings::read_token_file`] adds.
    #[serde(rename = "token", deserialize_with = "token")]
    pub tokens: Tokens,
    token_file: String,
    /// Everyone who can connect may use the server. Accepted on a loopback address only.
    pub no_auth: bool,
    /// Host names, besides loopback and the listening address, by which clients may call this server.
    pub allowed_hosts: Vec<String>,
    /// Web pages that may call this server from a browser.
    pub allowed_origins: Vec<String>,
    /// The largest request body, in bytes.
    #[serde(deserialize_with = "crate::base::size::size")]
    pub max_body: u64,
    pub max_sessions: usize,
    pub max_connections: usize,
    /// A client that sends nothing for this long is ended with its sessions and their processes. Zero means never.
    #[serde(deserialize_with = "seconds")]
    pub idle_timeout: Duration,
    /// How long a call waits for a client whose connection was lost, in the lifecycle that lets clients reconnect.
    #[serde(deserialize_with = "seconds")]
    pub reconnect_grace: Duration,
    /// How long running calls may take to finish when the server shuts down.
    #[serde(deserialize_with = "seconds")]
    pub shutdown_grace: Duration,
}

impl HttpSettings {
    /// Adds the tokens of `token_file`, if one is named. Returns a warning if other users can read that file.
    pub(super) fn read_token_file(&mut self, source: &Source) -> Result<Option<String>, String> {
        if self.token_file.is_empty() {
            return Ok(None);
        }
        let path = source.expand(&self.token_file);
        let failed = |reason: String| format!("{}: {reason}", path.display());
        let text = std::fs::read_to_string(&path).map_err(|error| failed(error.to_string()))?;
        self.tokens.add_lines(&text).map_err(failed)?;
        Ok(readable_by_others(&path).then(|| {
            let path = path.display();
            format!("other users of this machine can read the tokens in {path}; make it private with: chmod 600 {path}")
        }))
    }
}

fn readable_by_others(path: &Path) -> bool {
    const OTHERS_READ: u32 = 0o004;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & OTHERS_READ != 0)
}

fn token<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Tokens, D::Error> {
    let secret = String::deserialize(deserializer)?;
    let mut tokens = Tokens::default();
    if !secret.is_empty() {
        tokens.add("token", &secret).map_err(D::Error::custom)?;
    }
    Ok(tokens)
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_secs)
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    parse_address(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// `localhost` is translated here, because a static binary has no resolver to ask.
fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let (host, port) = text.rsplit_once(':').unwrap_or((text, ""));
    if host.eq_ignore_ascii_case("localhost")
        && let Ok(port) = port.parse()
    {
        return Ok((Ipv4Addr::LOCALHOST, port).into());
    }
    text.parse().map_err(|_| {
        format!(
            "{text:?} is not an address and a port, like 127.0.0.1:8731, [::1]:8731 or localhost:8731 (port 0 = any)"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::parse_address;

    #[test]
    fn addresses_have_a_host_and_a_port() {
        for (text, address) in [("localhost:1", "127.0.0.1:1"), ("LOCALHOST:0", "127.0.0.1:0"), ("[::1]:9", "[::1]:9")]
        {
            assert_eq!(parse_address(text), Ok(address.parse().unwrap()), "{text}");
        }
        for text in ["", "8731", ":8731", "localhost", "localhost:x", "example.com:80", "127.0.0.1:99999"] {
            assert!(parse_address(text).is_err(), "{text}");
        }
    }
}
