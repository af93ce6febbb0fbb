//! The program: runs the command line and prints the error if there is one.

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    match testudo::cli::run(std::env::args_os()) {
        Ok(code) => code,
        Err(error) => {
            // `eprintln!` would panic if nobody reads stderr.
            let _ = writeln!(std::io::stderr(), "testudo: {error:#}");
            ExitCode::from(2)
        }
    }
}
