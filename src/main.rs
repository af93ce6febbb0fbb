//! Parse, load, run; the only place that prints an error.

use std::process::ExitCode;

fn main() -> ExitCode {
    match testudo::cli::run(std::env::args_os()) {
        Ok(code) => code,
        Err(error) => {
            #[expect(clippy::print_stderr, reason = "the one place where a start-up error is shown")]
            {
                eprintln!("testudo: {error:#}");
            }
            ExitCode::from(2)
        }
    }
}
