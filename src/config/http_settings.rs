use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error};

use super::{Listen, Source, Tokens};

/// `[http]` of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpSettings {
    pub listen: Listen,
    /// `token`, and what [`HttpSettings::read_token_file`] adds.
    #[serde(rename = "token", deserialize_with = "token")]
    pub tokens: Tokens,
    token_file: String,
    /// The file that [`HttpSettings::read_token_file`] has read.
    #[serde(skip)]
    pub token_path: Option<PathBuf>,
    /// Everyone who can connect may use the server. Accepted on a loopback address only, and only if commands cannot
    /// connect.
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
    /// A server that hears of no client for this long ends. Zero means never.
    #[serde(deserialize_with = "seconds")]
    pub lease: Duration,
}

impl HttpSettings {
    /// Makes the path of a socket absolute.
    pub(super) fn expand_paths(&mut self, source: &Source) {
        if let Listen::Unix(path) = &mut self.listen {
            *path = source.expand(&path);
        }
    }

    /// Adds the tokens of `token_file`, if one is named. Returns a warning if other users can read that file.
    pub(super) fn read_token_file(&mut self, source: &Source) -> Result<Option<String>, String> {
        if self.token_file.is_empty() {
            return Ok(None);
        }
        let path = source.expand(&self.token_file);
        let failed = |reason: String| format!("{}: {reason}", path.display());
        let text = std::fs::read_to_string(&path).map_err(|error| failed(error.to_string()))?;
        self.tokens.add_lines(&text).map_err(failed)?;
        self.token_path = Some(path.clone());
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
