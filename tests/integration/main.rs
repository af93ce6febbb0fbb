//! The real binary, the real wire, a scratch world for every test. One file per tool, and one per theme.

#![expect(clippy::needless_pass_by_value, reason = "`json!` literals are handed over, not borrowed")]

mod support;

mod bash;
mod broken_input;
mod cli;
mod corpus;
mod differential;
mod http;
mod lifecycle;
mod output;
mod policy;
mod posix_shell;
mod protocol;
mod sandbox;
mod sandbox_limits;
mod sandbox_work;
mod tasks;
mod terminals;
