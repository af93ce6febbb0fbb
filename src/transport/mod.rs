//! The wire. The SDK (`rmcp`) and the web server (`axum`) are known here and nowhere else.
//!
//! - [`mcp`] translates between the protocol and the server: requests become calls, outputs become results. [`roots`] and
//!   [`elicitation`] ask the client something; [`sealed_questions`] does so where the client has to call again.
//!   [`resources`] has the guide for agents.
//! - [`stdio`] serves one client: [`standard_streams`] opens stdin and stdout, [`line_transport`] reads and writes lines.
//! - [`http`] serves many. A connection comes in through [`listener`] and [`connections`], which gives it one of the
//!   [`slots`]. A request passes [`origin`], [`auth`], [`in_flight`], [`mcp_endpoint`] and [`request_body`].
//!   [`protocol_sessions`] and [`own_sessions`] hold the sessions of the lifecycle that has them, [`open_requests`] the
//!   calls whose client may reconnect. [`share`] is what one token may have of connections and sessions.
//! - [`backend`] is what [`http`] needs of the handler that it serves. [`call_id`] finds the id that a caller gave to a call.
//! - [`client_message`] parses on both transports. A message that cannot be parsed gets a [`message_error`] with the id
//!   that its [`envelope`] shows.

mod auth;
pub mod backend;
mod borrowed_pipe;
mod call_id;
mod client_message;
mod connections;
mod elicitation;
mod envelope;
pub mod http;
mod in_flight;
mod line_transport;
mod listener;
mod mcp;
mod mcp_endpoint;
mod message_error;
mod open_requests;
mod origin;
mod own_sessions;
mod protocol_sessions;
mod request_body;
mod resources;
mod response_id;
mod roots;
mod sealed_questions;
mod share;
pub mod signals;
mod single_header;
mod slots;
mod standard_streams;
pub mod stdio;
mod used_nonces;
