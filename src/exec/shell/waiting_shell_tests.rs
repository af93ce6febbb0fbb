use std::io::Read;
use std::time::Instant;

use super::super::{Beginning, STALE, Shell};
use super::*;
use crate::keeper::protocol::ExitStatus;
use crate::keeper::{processes, spawn};

const NONCE: &str = "aabbccdd";
const LIMIT: u64 = 1024;

/// A real bash that waits for its text, without a keeper.
struct Bash {
    pid: i32,
    go: Option<OwnedFd>,
    channel: File,
    /// Of the descriptors that it was started with.
    numbers: Vec<i32>,
}

impl Bash {
    fn start() -> Self {
        Self::start_in(&std::env::current_dir().unwrap())
    }

    /// As if the session were in `cwd`.
    fn start_in(cwd: &std::path::Path) -> Self {
        let (reader, channel) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        let (go_end, go) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        let state =
            ShellState { cwd: cwd.to_owned(), environment: vec![("PATH".into(), "/usr/bin:/bin".into())].into() };
        let reports = Reports::State { nonce: NONCE };
        let beginning = Beginning { reports, state: &state, channel, descriptor_limit: LIMIT };
        let text = memory_file(c"text", b"").unwrap();
        let prepared = Shell::Bash("/bin/bash".into()).waiting(beginning, text, go_end).unwrap().unwrap();
        let null: OwnedFd = File::options().read(true).write(true).open("/dev/null").unwrap().into();
        let standard = (0..3).map(|at| spawn::Placement { descriptor: &null, at });
        let extra = prepared.descriptors.iter().zip(&prepared.start.extra);
        let extra = extra.map(|(descriptor, at)| spawn::Placement { descriptor, at: *at });
        let placements: Vec<_> = standard.chain(extra).collect();
        let pid = spawn::spawn(&prepared.start, &placements, None).unwrap();
        Self { pid, go: Some(go), channel: reader.into(), numbers: prepared.start.extra.clone() }
    }

    fn run(&self, text: &str) {
        self.run_as(text, true);
    }

    /// Without programs the text is its own message.
    fn run_as(&self, text: &str, programs: bool) {
        let traces = Traces { programs, ..Traces::default() };
        let message = waiting_script::message(text, Some(&traces), NONCE, Numbers::below(LIMIT));
        assert_eq!(message.file, None);
        self.send(&message.bytes);
    }

    fn send(&self, message: &[u8]) {
        // If it was killed, this fails.
        let _ = rustix::io::write(self.go.as_ref().unwrap(), message);
    }

    /// What it reports before it says that it stays, or ends.
    fn stayed(&mut self) -> Option<Stayed> {
        let mut bytes = Vec::new();
        loop {
            if let Some(stayed) = Stayed::parse(&bytes, NONCE, 0) {
                return Some(stayed);
            }
            let mut piece = [0; 256];
            match self.channel.read(&mut piece).unwrap() {
                0 => return None,
                count => bytes.extend_from_slice(&piece[..count]),
            }
        }
    }

    /// Closes the pipe on which it waits, and waits for its end.
    fn end(&mut self) -> ExitStatus {
        self.go = None;
        let mut status = 0;
        // SAFETY: `status` is a valid place for the result.
        assert_eq!(unsafe { libc::waitpid(self.pid, &raw mut status, 0) }, self.pid);
        processes::exit_status(status)
    }
}

#[test]
fn a_shell_that_stays_says_how_each_text_ended_and_ends_with_the_last_status() {
    let mut bash = Bash::start();
    for (text, code) in
        [("true", 0), ("false", 1), ("no-such-program", 127), ("sh -c 'exit 42'", 42), ("sh -c 'kill -9 $$'", 137)]
    {
        bash.run(text);
        assert_eq!(bash.stayed().unwrap().status, ExitStatus::Code(code), "{text}");
    }
    assert_eq!(bash.end(), ExitStatus::Code(137));
    let mut bash = Bash::start();
    bash.run("sh -c 'exit 7'");
    assert_eq!(bash.stayed().unwrap().status, ExitStatus::Code(7));
    assert_eq!(bash.end(), ExitStatus::Code(7), "as the server counts on when processes are left");
}

/// At whatever instant a shell is killed, what it has said is what its text has come to, and a text that has come to its end is
/// never taken for one that was killed in the middle.
#[test]
fn ten_thousand_killed_shells_have_said_the_truth() {
    const SHELLS: u64 = 10_000;
    const THREADS: u64 = 4;
    let run = |thread: u64| {
        let (mut said, mut silent, mut killed_later, mut random) = (0, 0, 0, thread + 1);
        for round in 0..SHELLS / THREADS {
            random = u64::wrapping_mul(random, 6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (text, code) = if round % 2 == 0 { ("true", 0) } else { ("false", 1) };
            let mut bash = Bash::start();
            if round % 3 == 0 {
                bash.send(&waiting_script::wake(NONCE));
            }
            bash.run_as(text, round % 5 < 2);
            let (pid, at) = (bash.pid, Instant::now() + Duration::from_micros((random >> 33) % 4000));
            let killer = std::thread::spawn(move || {
                std::thread::sleep(at.saturating_duration_since(Instant::now()));
                processes::kill(pid, libc::SIGKILL);
            });
            let stayed = bash.stayed();
            if round % 4 < 2 {
                // Not before the killer is done: it may be killed while it waits.
                killer.join().unwrap();
                assert_eq!(bash.end(), ExitStatus::Signal(libc::SIGKILL));
            } else {
                // The killer may come while it ends. Its number is ours until then: `kill` reaches a dead process at most.
                bash.go = None;
                killer.join().unwrap();
                let status = bash.end();
                assert!([ExitStatus::Code(code), ExitStatus::Signal(libc::SIGKILL)].contains(&status), "{status:?}");
                assert!(status != ExitStatus::Code(code) || stayed.is_some(), "it has ended and said nothing");
                killed_later += u64::from(stayed.is_some() && status == ExitStatus::Signal(libc::SIGKILL));
            }
            if let Some(stayed) = &stayed {
                assert_eq!(stayed.status, ExitStatus::Code(code));
            }
            *(if stayed.is_some() { &mut said } else { &mut silent }) += 1_u64;
        }
        (said, silent, killed_later)
    };
    let threads: Vec<_> = (0..THREADS).map(|thread| std::thread::spawn(move || run(thread))).collect();
    let counts = threads.into_iter().map(|thread| thread.join().unwrap());
    let (said, silent, killed_later) = counts.fold((0, 0, 0), |(a, b, c), (d, e, f)| (a + d, b + e, c + f));
    assert!(
        said > 100 && silent > 100,
        "{said} have said how their text ended, {silent} were killed before, {killed_later} after"
    );
}

/// Waking up is no text: nothing is reported, and nothing that a text could see has changed.
#[test]
fn a_shell_that_was_woken_runs_the_next_text_as_ever() {
    let mut bash = Bash::start();
    let out = tempfile::NamedTempFile::new().unwrap();
    let path = out.path().display();
    for programs in [false, true] {
        bash.run_as("false", programs);
        assert_eq!(bash.stayed().unwrap().status, ExitStatus::Code(1));
        bash.send(&waiting_script::wake(NONCE));
        bash.run_as(&format!("echo \"$? $SECONDS\" >{path}; x9"), programs);
        assert_eq!(bash.stayed().unwrap().status, ExitStatus::Code(127));
        assert_eq!(std::fs::read_to_string(out.path()).unwrap(), "0 0\n", "{programs}");
    }
    bash.send(&waiting_script::wake(NONCE));
    assert_eq!(bash.end(), ExitStatus::Code(127));
}

/// A text that bash cannot parse is reported like any other, and the shell waits for the next one.
#[test]
fn a_text_that_is_no_shell_text_is_reported_too() {
    let mut bash = Bash::start();
    for text in ["true &&", "| cat", ";;", "true | | true"] {
        for programs in [false, true] {
            bash.run_as(text, programs);
            assert_ne!(bash.stayed().unwrap().status, ExitStatus::Code(0), "{text}");
            bash.run_as("true", programs);
            assert_eq!(bash.stayed().unwrap().status, ExitStatus::Code(0), "{text}");
        }
    }
    bash.end();
}

/// A directory can be renamed and made anew while a shell starts in it. A program can find the pipe.
#[test]
fn a_shell_in_another_directory_or_with_a_foreign_message_runs_nothing() {
    let elsewhere = tempfile::tempdir().unwrap();
    let out = elsewhere.path().join("out");
    let stale = |mut bash: Bash| {
        let mut said = String::new();
        bash.channel.read_to_string(&mut said).unwrap();
        assert!(said == STALE && !out.exists(), "{said}");
        bash.end();
    };
    let bash = Bash::start_in(elsewhere.path());
    bash.run_as(&format!("echo x >{}", out.display()), false);
    stale(bash);
    let bash = Bash::start();
    bash.send(format!("echo x >{}", out.display()).as_bytes());
    bash.run("true");
    stale(bash);
}

#[test]
fn no_program_inherits_the_descriptors_between_server_and_shell() {
    let mut bash = Bash::start();
    let out = tempfile::NamedTempFile::new().unwrap();
    bash.run(&format!("ls /proc/self/fd >{}", out.path().display()));
    bash.stayed().unwrap();
    let shown = std::fs::read_to_string(out.path()).unwrap();
    let numbers: Vec<i32> = shown.lines().map(|line| line.parse().unwrap()).collect();
    let ours = bash.numbers.clone();
    assert!(ours.len() == 4 && !numbers.iter().any(|number| ours.contains(number)), "{numbers:?} {ours:?}");
    bash.end();
}
