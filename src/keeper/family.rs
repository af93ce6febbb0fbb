//! Whether a command has processes besides its own, is stopped, and has left its output as it was. The kernel lists the children of a
//! process in a file, its state in another, and the flags of each descriptor in a third. The reaper opens these files; for a waiting shell it hands them to the server.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// The files that list the children of a command and those of its reaper, and the one that shows the command's state.
#[derive(Debug)]
pub struct Family {
    of_command: File,
    of_reaper: File,
    state: File,
    command: i32,
}

/// The files that show the flags of a shell's stdout and stderr. They belong to the pipe, so a program that sets one sets it for
/// everybody who writes into the pipe.
#[derive(Debug)]
pub struct OutputFlags {
    files: [File; 2],
    before: [Vec<u8>; 2],
}

impl OutputFlags {
    /// For the reaper, which hands them over. The kernel shows them as soon as the process has become its program.
    pub fn open(command: i32) -> Option<[File; 2]> {
        const LONGEST_EXEC: Duration = Duration::from_millis(20);
        let begun = Instant::now();
        loop {
            let open = |number: u8| File::open(format!("/proc/{command}/fdinfo/{number}"));
            match (open(1), open(2)) {
                (Ok(stdout), Ok(stderr)) => return Some([stdout, stderr]),
                _ if begun.elapsed() > LONGEST_EXEC => return None,
                _ => rustix::thread::sched_yield(),
            }
        }
    }

    /// For the server, before the first program can have changed any.
    fn new(files: [File; 2]) -> Option<Self> {
        let before = [read(&files[0])?, read(&files[1])?];
        Some(Self { files, before })
    }

    pub fn are_as_before(&self) -> bool {
        self.files.iter().zip(&self.before).all(|(file, before)| read(file).as_ref() == Some(before))
    }
}

fn read(file: &File) -> Option<Vec<u8>> {
    let mut text = [0; 256];
    let count = file.read_at(&mut text, 0).ok()?;
    (count > 0).then(|| text[..count].to_vec())
}

impl Family {
    /// For the reaper. `None` where the kernel does not show us what we need, or the command has exited already.
    pub fn open(command: i32) -> Option<Self> {
        let of_command = File::open(format!("/proc/{command}/task/{command}/children")).ok()?;
        let of_reaper = File::open("/proc/thread-self/children").ok()?;
        let state = File::open(format!("/proc/{command}/stat")).ok()?;
        Some(Self { of_command, of_reaper, state, command })
    }

    /// For another process, which makes the same of them with [`Family::from_files`].
    pub fn files<'a>(&'a self, flags: &'a [File; 2]) -> [BorrowedFd<'a>; 5] {
        [self.of_command.as_fd(), self.of_reaper.as_fd(), self.state.as_fd(), flags[0].as_fd(), flags[1].as_fd()]
    }

    /// `command` is the number of the process in the namespace of the process that opened the files.
    pub fn from_files(files: Vec<OwnedFd>, command: i32) -> Option<(Self, OutputFlags)> {
        let [of_command, of_reaper, state, stdout, stderr] = <[OwnedFd; 5]>::try_from(files).ok()?.map(File::from);
        Some((Self { of_command, of_reaper, state, command }, OutputFlags::new([stdout, stderr])?))
    }

    /// Whether somebody has stopped the command, and it waits for SIGCONT.
    pub fn is_stopped(&self) -> bool {
        let mut text = [0; 256];
        let count = self.state.read_at(&mut text, 0).unwrap_or_default();
        let end_of_name = memchr::memrchr(b')', &text[..count]);
        end_of_name.is_some_and(|end| text[end..count].starts_with(b") T"))
    }

    /// Whether the command has no descendant. It must not be able to fork now. Then, if it has no child, every descendant would
    /// be below another child of the reaper, because orphans go there.
    pub fn is_alone(&self) -> bool {
        let mut text = [0; 64];
        let has_none = matches!(self.of_command.read_at(&mut text, 0), Ok(0));
        let count = if has_none { self.of_reaper.read_at(&mut text, 0).ok() } else { None };
        let children = count.and_then(|count| std::str::from_utf8(&text[..count]).ok());
        children.is_some_and(|children| children.trim_end() == self.command.to_string())
    }
}
