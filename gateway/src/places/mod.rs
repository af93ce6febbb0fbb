//! Where work happens: one file per launcher, all behind [`Launcher`]. A launcher makes places and keeps no list of them:
//! the engine's own labels say which places there are, so a restarted gateway finds them again.

use std::io;
use std::time::Duration;

use async_trait::async_trait;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

mod docker;
mod docker_containers;
mod docker_engine;
mod docker_settings;
mod kind;
mod kubernetes;
mod kubernetes_claims;
mod kubernetes_cluster;
mod kubernetes_objects;
mod program;
mod ssh;
mod ssh_link;
mod ssh_scripts;
mod state_directory;
mod url;

pub use docker::Docker;
pub use docker_settings::DockerSettings;
pub use kind::Kind;
pub use kubernetes::{Kubernetes, KubernetesSettings, Reach};
pub use program::Program;
pub use ssh::{Ssh, SshSettings};
pub use state_directory::StateDirectory;
pub use url::{Url, UrlSettings};

/// A place speaks HTTP over this.
pub trait ByteStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> ByteStream for T {}

#[async_trait]
pub trait Launcher: Send + Sync {
    /// What people call it, such as `docker:python:3.13`.
    fn name(&self) -> String;

    /// Makes a place for an owner and returns its id when the server in it answers.
    async fn make(&self, order: &Order) -> Result<String, PlaceError>;

    async fn reach(&self, id: &str) -> io::Result<Box<dyn ByteStream>>;

    /// The token that the server in the place asks for.
    fn token(&self, id: &str) -> String;

    async fn presence(&self, id: &str) -> Presence;

    /// To destroy a place that is gone is a success.
    async fn destroy(&self, id: &str) -> Result<(), PlaceError>;

    /// All places of this gateway, the dead ones that were not removed yet included.
    async fn list(&self) -> Result<Vec<Listed>, PlaceError>;

    /// Keeps as many places ready in advance as the settings say.
    async fn prepare(&self) -> Result<(), PlaceError> {
        Ok(())
    }

    /// Removes what gateways for one client left behind when they were killed.
    async fn clear_left_over(&self) -> Result<(), PlaceError> {
        Ok(())
    }

    /// A place ends itself if it hears nothing for so many seconds. 0 is never, or not ours to know.
    fn lease(&self) -> u64 {
        0
    }

    /// Whether each place belongs to one owner. Otherwise only protocol sessions keep owners apart.
    fn is_private(&self) -> bool {
        true
    }

    /// Whether places of several owners keep the records of calls in one directory.
    fn shares_records(&self) -> bool {
        !self.is_private()
    }
}

pub struct Order {
    /// The owner's short name, which can stand in names of the engine.
    pub owner: String,
    /// The name of the place among those of its owner. Nobody makes a second place with it.
    pub slot: String,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Presence {
    There,
    /// It is there and stands still, and how.
    Frozen(String),
    /// The engine says that it has ended, or does not know it.
    Gone(String),
    /// Nobody can tell now, because the engine or the host does not answer.
    Unknown(String),
}

#[derive(Clone, Debug)]
pub struct Listed {
    pub id: String,
    /// `None` while it waits for an owner.
    pub owner: Option<String>,
    pub slot: String,
    /// Seconds since 1970.
    pub created: u64,
    pub state: State,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum State {
    /// Made and not started. Its maker is at work on it, or died.
    Unstarted,
    Running,
    Ended {
        how: String,
    },
}

#[derive(Debug, Error)]
pub enum PlaceError {
    /// The slot has a place already.
    #[error("somebody else has just made this place")]
    Taken,
    #[error("{0}")]
    Failed(String),
}

impl PlaceError {
    pub fn failed(what: &str, cause: impl std::fmt::Display) -> Self {
        Self::Failed(format!("{what}: {cause}"))
    }
}

/// Without this nobody notices that a router on the way has forgotten a connection: a call would wait on it forever, while
/// its place answers on every other one.
fn prepare_tcp(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    rustix::net::sockopt::set_socket_keepalive(stream, true)?;
    rustix::net::sockopt::set_tcp_keepidle(stream, KEEP_ALIVE)?;
    rustix::net::sockopt::set_tcp_keepintvl(stream, KEEP_ALIVE)?;
    rustix::net::sockopt::set_tcp_keepcnt(stream, 3)?;
    Ok(())
}

const KEEP_ALIVE: Duration = Duration::from_secs(10);

pub fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |passed| passed.as_secs())
}
