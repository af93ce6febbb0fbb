use std::net::SocketAddr;
use std::time::Duration;

use super::auth::Tokens;

/// `[http]`.
#[derive(Clone, Debug)]
pub struct Settings {
    pub listen: SocketAddr,
    pub tokens: Tokens,
    /// Everybody who can connect may use the server; loopback only.
    pub no_auth: bool,
    /// Names beside loopback and the listening address by which clients may call this server.
    pub allowed_hosts: Vec<String>,
    /// Web pages that may talk to it.
    pub allowed_origins: Vec<String>,
    pub max_body: usize,
    pub max_sessions: usize,
    pub max_connections: usize,
    /// Without a word for this long, a client's sessions and processes end.
    pub idle_timeout: Duration,
    /// For a client whose connection was lost in the middle of a call to come back for the answer, in the lifecycle
    /// that allows it.
    pub reconnect_grace: Duration,
    /// What running calls get to finish when the server is asked to end.
    pub shutdown_grace: Duration,
}
