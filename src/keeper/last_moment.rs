//! How a command ended, as soon as the kernel knows it.
//!
//! When a process exits, the kernel first settles its exit status, then takes its memory down, then closes its files, and
//! only then tells the parent. Taking down the memory is the longest part of a short command. A shell says that it is about to
//! exit with a signal, and the reaper then looks at `/proc/PID/stat` until the process has no memory any more. From
//! then on the status that the file shows is the one that `waitpid` will return: no signal can change it. The shell's own
//! word is only a hint when to look; it is not believed.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use super::family::Family;
use super::processes;
use super::protocol::ExitStatus;

/// The signal with which a shell says that it is about to exit. It does nothing to a process that does not expect it.
pub const ABOUT_TO_EXIT: i32 = libc::SIGURG;

/// A shell that says so is gone within a few dozen microseconds, unless somebody else has its CPU.
pub const LONGEST_LOOK: Duration = Duration::from_micros(500);

/// A command that is watched for its end.
#[derive(Debug)]
pub struct LastMoment {
    stat: File,
    family: Family,
}

impl LastMoment {
    /// `None` where the kernel does not show us what we need, or the command has exited already.
    pub fn open(command: i32) -> Option<Self> {
        let family = Family::open(command)?;
        Some(Self { stat: File::open(format!("/proc/{command}/stat")).ok()?, family })
    }

    /// Waits until the command's program runs, and says whether this process may know the exit status. The kernel shows 1 to a
    /// process that may not know the address, and 0 as the exit status. A process that is still being replaced by its program
    /// has no address yet.
    pub fn will_show_status(&self) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < LONGEST_LOOK {
            match self.look() {
                Some(Seen { memory: 1.., start_of_code: 0, .. }) => rustix::thread::sched_yield(),
                Some(Seen { start_of_code, .. }) => return start_of_code > 1,
                None => return false,
            }
        }
        false
    }

    /// The exit status, once it is final. `None` if that takes longer than a moment, or if the command leaves processes
    /// behind: then the usual way tells more.
    pub fn wait(&self) -> Option<ExitStatus> {
        let begun = Instant::now();
        loop {
            match self.look()? {
                Seen { memory: 0, exit_status, .. } => {
                    return self.family.is_alone().then(|| processes::exit_status(exit_status));
                }
                _ if begun.elapsed() > LONGEST_LOOK => return None,
                _ => rustix::thread::sched_yield(),
            }
        }
    }

    fn look(&self) -> Option<Seen> {
        let mut text = [0; 1024];
        let count = self.stat.read_at(&mut text, 0).ok()?;
        Seen::parse(std::str::from_utf8(&text[..count]).ok()?)
    }
}

/// What `/proc/PID/stat` says.
#[derive(Debug, Eq, PartialEq)]
struct Seen {
    /// The size of the address space. 0 once the process has none.
    memory: u64,
    start_of_code: u64,
    /// As `waitpid` returns it.
    exit_status: i32,
}

impl Seen {
    fn parse(text: &str) -> Option<Self> {
        // The name is in parentheses and may have any characters in it. The field after it is the third.
        let mut fields = text.get(text.rfind(')')? + 1..)?.split_whitespace();
        let memory = fields.nth(23 - 3)?.parse().ok()?;
        let start_of_code = fields.nth(26 - 24)?.parse().ok()?;
        let exit_status = fields.nth(52 - 27)?.parse().ok()?;
        Some(Self { memory, start_of_code, exit_status })
    }
}

#[cfg(test)]
#[expect(clippy::zombie_processes, reason = "`waitpid` below waits for each of them")]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_fields_are_found() {
        let line: Vec<String> = (3..=52).map(|field: i32| field.to_string()).collect();
        let text = format!("7 (a) b (c)) {}\n", line.join(" "));
        assert_eq!(Seen::parse(&text), Some(Seen { memory: 23, start_of_code: 26, exit_status: 52 }));
        assert_eq!(Seen::parse("7 (a) S 1"), None);
    }

    #[test]
    fn a_living_process_has_no_status_and_a_parent_is_not_alone() {
        let mut living = sh("read x");
        let moment = watched(&living);
        assert_eq!(moment.wait(), None);
        let mut other = sh("read x");
        drop(living.stdin.take());
        waitpid(&living);
        let moment = watched(&other);
        let mut third = sh("read x");
        drop(other.stdin.take());
        assert_eq!((0..1000).find_map(|_| moment.wait()), None, "there is one more child");
        waitpid(&other);
        drop(third.stdin.take());
        waitpid(&third);
    }

    /// The status that is seen early is the one that `waitpid` returns, at whatever instant a shell is killed: before its
    /// end, in its last instruction, while the kernel takes it down, and after we have seen how it ended.
    #[test]
    fn ten_thousand_killed_shells_end_as_waitpid_says() {
        const SHELLS: u64 = 10_000;
        const THREADS: u64 = 4;
        let run = |thread: u64| {
            let (kill, to_kill) = std::sync::mpsc::channel::<(i32, Instant)>();
            let (done, is_done) = std::sync::mpsc::channel();
            let killer = std::thread::spawn(move || {
                for (pid, at) in to_kill {
                    while Instant::now() < at {
                        std::hint::spin_loop();
                    }
                    processes::kill(pid, libc::SIGKILL);
                    done.send(()).unwrap();
                }
            });
            let mut random = thread + 1;
            let (mut seen_early, mut killed) = (0, 0);
            for round in 0..SHELLS / THREADS {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let delay = Duration::from_micros((random >> 33) % 800);
                let code = i32::from(round % 2 == 1) * 7;
                let mut shell = sh(&format!("read x; exit {code}"));
                let pid = shell.id().cast_signed();
                let moment = watched(&shell);
                shell.stdin.take().unwrap().write_all(b"\n").unwrap();
                kill.send((pid, Instant::now() + delay)).unwrap();
                let early = (0..1000).find_map(|_| moment.wait());
                // Not reaped before the killer is done: until then its number belongs to no other process.
                is_done.recv().unwrap();
                let status = waitpid(&shell);
                assert!(early.is_none_or(|early| early == status), "{early:?} {status:?}");
                assert!([ExitStatus::Code(code), ExitStatus::Signal(libc::SIGKILL)].contains(&status), "{status:?}");
                seen_early += u64::from(early.is_some());
                killed += u64::from(early == Some(ExitStatus::Signal(libc::SIGKILL)));
            }
            drop(kill);
            killer.join().unwrap();
            (seen_early, killed)
        };
        let threads: Vec<_> = (0..THREADS).map(|thread| std::thread::spawn(move || run(thread))).collect();
        let counts = threads.into_iter().map(|thread| thread.join().unwrap());
        let (early, killed) = counts.fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
        assert!(
            early > SHELLS / 2 && killed > 100 && early - killed > 100,
            "{early} seen early, {killed} of them killed"
        );
    }

    fn sh(text: &str) -> std::process::Child {
        use std::process::{Command, Stdio};
        Command::new("/bin/sh").args(["-c", text]).stdin(Stdio::piped()).spawn().unwrap()
    }

    /// On a busy machine it takes a while until the shell is there.
    fn watched(child: &std::process::Child) -> LastMoment {
        std::iter::repeat_with(|| LastMoment::open(child.id().cast_signed()).filter(LastMoment::will_show_status))
            .flatten()
            .next()
            .unwrap()
    }

    fn waitpid(child: &std::process::Child) -> ExitStatus {
        let mut status = 0;
        // SAFETY: `status` is a valid place for the result.
        let pid = unsafe { libc::waitpid(child.id().cast_signed(), &raw mut status, 0) };
        assert_eq!(pid, child.id().cast_signed());
        processes::exit_status(status)
    }
}
