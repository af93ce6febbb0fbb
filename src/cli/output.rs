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

/// Whether nobody reads stdout any more. A program that waits for news would not notice otherwise.
pub fn reader_has_gone() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdout = io::stdout();
    let mut polled = [PollFd::new(&stdout, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&now)).is_ok() && polled[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

/// The result of writing, without the error that the reader has gone.
pub fn unless_closed(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
