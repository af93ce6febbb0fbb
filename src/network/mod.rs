//! Which hosts commands may reach, and the only way there: a proxy in the server.
//!
//! 1. [`Settings`] is what a person configures: [`HostPattern`]s, some of them named [`groups`]. [`Rules`] judges a [`Host`].
//! 2. [`Proxy`] takes connections from commands: HTTP `CONNECT`, plain HTTP ([`request`]) and SOCKS 5 ([`socks`]), all on
//!    one port. It asks the [`Doorman`] about a host that no list names.
//! 3. [`dial`] resolves the name, checks each [`address`], and connects to the address that was checked.
//! 4. [`tunnel`] holds TLS clients to the name that they asked for ([`client_hello`]), and plain HTTP to its host
//!    ([`forward`], [`body`]). Nothing is decrypted. [`mod@relay`] copies the rest.
//!
//! [`runtime`] has a thread for all this, and [`mod@local_listener`] makes connections of this machine fast. [`variables`]
//! announces the proxy to commands, and [`ssh_tunnel`] is the `ProxyCommand` of ssh. The room knows nothing of sessions,
//! keepers or the wire.

pub mod address;
mod body;
mod client_hello;
mod dial;
mod doorman;
mod forward;
pub mod groups;
mod host;
mod local_listener;
mod pattern;
mod proxy;
mod refusal;
mod relay;
mod request;
mod rules;
mod runtime;
mod settings;
mod socks;
pub mod ssh_tunnel;
mod tunnel;
pub mod variables;

pub use dial::never_reach_port;
pub use doorman::{AskAboutHost, Connection, ConnectionOpened, Doorman, ReportConnection};
pub use host::{Host, Target};
pub use local_listener::local_listener;
pub use pattern::{HostPattern, PatternError};
pub use proxy::Proxy;
pub use relay::{Traffic, relay};
pub use rules::{Listed, Rules};
pub use runtime::serve;
pub use settings::{Mode, Settings};
