//! The program: runs the command line and prints the error if there is one.

use std::process::ExitCode;

use testudo::cli;

fn main() -> ExitCode {
    let code = cli::run(std::env::args_os()).unwrap_or_else(|error| {
        cli::print_error(&format!("testudo: {error:#}"));
        ExitCode::from(2)
    });
    cli::finish();
    code
}
