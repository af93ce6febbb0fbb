use std::pin::Pin;
use std::sync::Arc;

use super::{Rules, Target, Traffic};

/// Who decides about the connections of one session, and who hears of them.
#[derive(Clone)]
pub struct Doorman {
    pub rules: Rules,
    pub ask: AskAboutHost,
    pub opened: ConnectionOpened,
    pub report: ReportConnection,
}

/// Asks a person about a host that no list names. The error says why it is refused.
pub type AskAboutHost = Arc<dyn Fn(Target) -> Asking + Send + Sync>;

pub type Asking = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// Is told that a connection to a host was made. Its traffic lives as long as the connection.
pub type ConnectionOpened = Arc<dyn Fn(&Target, &Arc<Traffic>) + Send + Sync>;

/// Is told about every connection once: when it is refused, or when it has ended.
pub type ReportConnection = Arc<dyn Fn(Connection) + Send + Sync>;

/// A connection that a command has asked for.
#[derive(Clone, Debug)]
pub struct Connection {
    pub host: String,
    pub port: u16,
    /// Why it was refused or broken off.
    pub refused: Option<String>,
    /// Why it could not be made or did not work, although it was allowed.
    pub failed: Option<String>,
    /// To the host, and from it.
    pub sent: u64,
    pub received: u64,
    pub milliseconds: u64,
}
