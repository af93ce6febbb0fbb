//! `[http]`: from what was written to what the transport takes.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use crate::transport::{Settings, Tokens};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    pub listen: String,
    token: String,
    pub token_file: String,
    no_auth: bool,
    allowed_hosts: Vec<String>,
    allowed_origins: Vec<String>,
    #[serde(deserialize_with = "crate::base::size::size")]
    max_body: u64,
    max_sessions: usize,
    max_connections: usize,
    idle_timeout: u64,
    reconnect_grace: u64,
    shutdown_grace: u64,
}

impl Written {
    /// What is wrong comes back with the name of the setting.
    pub fn settings(self, token_file: Option<&Path>) -> Result<Settings, (&'static str, String)> {
        let mut tokens = Tokens::default();
        if !self.token.is_empty() {
            tokens.add("token", &self.token).map_err(|reason| ("--token", reason))?;
        }
        if let Some(path) = token_file {
            let bad = |reason: String| ("--token-file", format!("{}: {reason}", path.display()));
            let text = std::fs::read_to_string(path).map_err(|error| bad(error.to_string()))?;
            tokens.add_lines(&text).map_err(bad)?;
        }
        Ok(Settings {
            listen: address(&self.listen).map_err(|reason| ("--listen", reason))?,
            tokens,
            no_auth: self.no_auth,
            allowed_hosts: self.allowed_hosts,
            allowed_origins: self.allowed_origins,
            max_body: usize::try_from(self.max_body).unwrap_or(usize::MAX),
            max_sessions: self.max_sessions,
            max_connections: self.max_connections.max(1),
            idle_timeout: Duration::from_secs(self.idle_timeout),
            reconnect_grace: Duration::from_secs(self.reconnect_grace),
            shutdown_grace: Duration::from_secs(self.shutdown_grace),
        })
    }
}

/// Addresses, and `localhost` by hand: a static binary has nobody to ask about names.
fn address(text: &str) -> Result<SocketAddr, String> {
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
    use super::address;

    #[test]
    fn addresses_have_a_host_and_a_port() {
        for (text, address) in [("localhost:1", "127.0.0.1:1"), ("LOCALHOST:0", "127.0.0.1:0"), ("[::1]:9", "[::1]:9")]
        {
            assert_eq!(super::address(text), Ok(address.parse().unwrap()), "{text}");
        }
        for text in ["", "8731", ":8731", "localhost", "localhost:x", "example.com:80", "127.0.0.1:99999"] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
