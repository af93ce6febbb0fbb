//! The wire. `rmcp` is known here and nowhere else: [`mcp`] translates between its types and ours.

mod auth;
mod body;
mod busy;
mod connections;
mod elicitation;
mod endpoint;
mod envelope;
pub mod http;
mod lines;
mod mcp;
mod message;
mod open_requests;
mod origin;
mod roots;
mod sessions;
mod settings;
mod signals;
pub mod stdio;
mod used_up;
mod wire;

pub use auth::Tokens;
pub use settings::Settings;
