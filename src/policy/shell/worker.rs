//! The parser's thread. It has a large stack because the parser recurses, and a deadline because it can take
//! exponential time; a panic in it is an answer. One thread is kept for all texts, since starting one costs more than
//! most parses; one that is stuck is left behind and replaced, a few times.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, Once};
use std::time::Duration;

use super::{Opaque, Script, convert, prescan};

use crate::base::locks::LockExt;

const STACK: usize = 64 << 20;
/// Ordinary texts take microseconds; this leaves room for thousands of lines on a busy machine.
const DEADLINE: Duration = Duration::from_millis(500);
/// Threads that may be left behind before every text is refused.
const MOST_STUCK: usize = 4;
const NAME: &str = "policy-parser";

/// A text, and where its answer goes.
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
        return Err(Opaque::hostile("too many texts have overwhelmed the parser; restart the server"));
    }
    let (sender, answer) = channel();
    let jobs = match pool.worker.take() {
        Some(jobs) => jobs,
        None => start()?,
    };
    let lost = || Opaque::hostile("the parser has died");
    jobs.send((text.to_owned(), sender)).map_err(|_| lost())?;
    match answer.recv_timeout(DEADLINE) {
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
        .map_err(|error| Opaque::hostile(format!("the parser's thread could not be started: {error}")))?;
    Ok(jobs)
}

fn work(jobs: &Receiver<Job>) {
    for (text, answer) in jobs {
        let parsed = catch_unwind(AssertUnwindSafe(|| convert::script(&text, 0)));
        // Nobody listens any more after the deadline.
        let _ = answer.send(parsed.unwrap_or_else(|_| Err(Opaque::hostile("the parser failed on it"))));
    }
}

/// A panic of the parser is an expected answer to hostile text, so it is not reported as a crash of the server.
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
