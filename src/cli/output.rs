//! What a person reads: results on stdout, errors on stderr. If the reader has gone, as behind `| head`, the rest is
//! dropped without an error. `println!` would panic instead.

use std::io::{self, Write};

use super::stderr::Stderr;

/// Prints a text on stdout, as whole lines.
pub fn print(text: &str) -> io::Result<()> {
    let line_end = if text.ends_with('\n') { "" } else { "\n" };
    let mut stdout = io::stdout().lock();
    unless_closed(write!(stdout, "{text}{line_end}").and_then(|()| stdout.flush()))
}

/// Prints a line on stderr. If that fails, nothing can report it.
pub fn print_error(line: &str) {
    let _ = Stderr.write_all(format!("{line}\n").as_bytes());
}

/// The result of writing, without the error that the reader has gone.
pub fn unless_closed(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
