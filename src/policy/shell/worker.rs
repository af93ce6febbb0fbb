//! Parses on a thread of its own. The thread has a large stack, because the parser recurses. Each text has a deadline,
//! because parsing can take exponential time. A panic of the parser makes the text opaque.
//!
//! One thread serves all texts, because starting a thread takes longer than most parses. A thread that misses a deadline
//! is abandoned and replaced by a new one, a few times.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, Once};
use std::time::Duration;

use super::{Opaque, Script, convert, prescan};
use crate::base::locks::LockExt;

const STACK: usize = 64 << 20;
/// Ordinary texts take microseconds. The deadline is long enough for thousands of lines on a busy machine.
const DEADLINE: Duration = Duration::from_millis(500);
/// The most abandoned threads. With more, every text is refused.
const MOST_STUCK: usize = 4;
const NAME: &str = "policy-parser";

/// A text, and the channel for the result.
type Job = (String, Sender<Result<Script, Opaque>>);

#[derive(Default)]
struct Pool {
    worker: Option<Sender<Job>>,
    stuck: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { worker: None, stuck: 0 });

/// Parses a text, or says why it cannot be understood.
pub fn parse(text: &str) -> Result<Script, Opaque> {
    prescan::check(text)?;
    let mut pool = POOL.locked();
    if pool.stuck >= MOST_STUCK {
        return Err(Opaque::hostile("the parser is stuck on too many texts; restart the server"));
    }
    let (sender, result) = channel();
    let jobs = match pool.worker.take() {
        Some(jobs) => jobs,
        None => start()?,
    };
    let lost = || Opaque::hostile("the thread of the parser has ended");
    jobs.send((text.to_owned(), sender)).map_err(|_| lost())?;
    match result.recv_timeout(DEADLINE) {
        Ok(parsed) => {
            pool.worker = Some(jobs);
            parsed
        }
        Err(RecvTimeoutError::Timeout) => {
            pool.stuck += 1;
            Err(Opaque::hostile("it takes too long to parse"))
        }
        Err(RecvTimeoutError::Disconnected) => Err(lost()),
    }
}

fn start() -> Result<Sender<Job>, Opaque> {
    static QUIET: Once = Once::new();
    QUIET.call_once(quieten);
    let (jobs, received) = channel();
    std::thread::Builder::new()
        .name(NAME.to_owned())
        .stack_size(STACK)
        .spawn(move || work(&received))
        .map_err(|error| Opaque::hostile(format!("failed to start the parser's thread: {error}")))?;
    Ok(jobs)
}

fn work(jobs: &Receiver<Job>) {
    for (text, result) in jobs {
        let parsed = catch_unwind(AssertUnwindSafe(|| convert::script(&text, 0)));
        // After the deadline nobody receives the result.
        let _ = result.send(parsed.unwrap_or_else(|_| Err(Opaque::hostile("the parser failed on it"))));
    }
}

/// Keeps panics of the parser out of the log. Hostile texts cause them, and they are no crash of the server.
fn quieten() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() != Some(NAME) {
            usual(panic);
        }
    }));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_that_break_the_parser_are_refused() {
        for text in
            ["cat ${<<E&$(pwn)\nE", "case $pwn) in x) ;é; esac", "select i in 1; do pwn; break; done <<< 1", "(("]
        {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("ls").is_ok(), "and the next text is parsed as ever");
    }

    proptest! {
        #[test]
        fn no_text_panics_or_hangs(text in r#"[a-z$(){}\[\]<>&|;`'"\\ \n#!*?=~-]{0,60}"#) {
            let _ = parse(&text);
        }
    }
}
