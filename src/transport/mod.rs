//! The wire. `rmcp` is known here and nowhere else: [`mcp`] translates between its types and ours.

mod mcp;
pub mod stdio;
