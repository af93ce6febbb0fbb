//! The real binary, the real wire, a scratch world for every test. One file per tool, and one per theme.

mod support;

mod bash;
mod cli;
mod lifecycle;
mod output;
mod posix_shell;
mod protocol;
