//! One pipe of a command. A task of the runtime empties it into the spill and the view, also after the command's exit
//! while other processes still hold the pipe.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use tokio::io::unix::AsyncFd;
use tokio::sync::watch;

use super::super::async_fd::async_fd;
use super::calls_first::calls_first;
use super::{Spill, View, binary};
use crate::base::locks::LockExt;

/// Called with every piece of output as it arrives. It must not block.
pub type OutputListener = Arc<dyn Fn(&[u8]) + Send + Sync>;

/// What has come out of a stream so far. Cheap to clone, readable while it still grows.
#[derive(Clone, Debug)]
pub struct Recording {
    inner: Arc<Mutex<Recorded>>,
    progress: watch::Receiver<Progress>,
    /// Lives as long as the pipe is read.
    pipe: Weak<Pipe>,
}

/// A pipe, and where its bytes go now. One after the other, several commands may write into it.
#[derive(Debug)]
struct Pipe {
    reader: AsyncFd<OwnedFd>,
    /// How many bytes it holds.
    size: usize,
    target: Mutex<Target>,
    /// Nobody waits for what comes out of it.
    of_task: AtomicBool,
}

#[derive(Clone, Debug)]
struct Target {
    inner: Arc<Mutex<Recorded>>,
    progress: Arc<watch::Sender<Progress>>,
}

pub struct Recorded {
    pub view: View,
    pub spill: Spill,
    /// Bytes taken out of the pipe.
    taken: u64,
    listener: Option<OutputListener>,
}

impl std::fmt::Debug for Recorded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorded").field("spill", &self.spill).finish_non_exhaustive()
    }
}

/// How far the stream has come. A change wakes the waiters.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Progress {
    bytes: u64,
    ended: bool,
}

/// As much as the pipe can hold at once.
const PIPE_BYTES: usize = 1 << 20;
const PIECE: usize = 1 << 18;
/// How much a stream may bring before the others have their turn.
const TURN: usize = PIECE;
/// What a read counts for at least, so that a stream of single bytes does not hold its turn for long.
const READ_COST: usize = 1 << 12;

/// The recording of what comes out of a pipe or a terminal.
pub fn record(spill: Spill, view: View, reader: OwnedFd, listener: Option<OutputListener>) -> io::Result<Recording> {
    let target = Target::new(spill, view, listener);
    let size = rustix::pipe::fcntl_getpipe_size(&reader).unwrap_or(0);
    let pipe = Arc::new(Pipe {
        reader: async_fd(reader)?,
        size,
        target: Mutex::new(target.clone()),
        of_task: AtomicBool::default(),
    });
    let recording = target.recording(Arc::downgrade(&pipe));
    tokio::spawn(async move { carry(&pipe).await });
    Ok(recording)
}

impl Target {
    fn new(spill: Spill, view: View, listener: Option<OutputListener>) -> Self {
        let inner = Arc::new(Mutex::new(Recorded { view, spill, taken: 0, listener }));
        Self { inner, progress: Arc::new(watch::channel(Progress::default()).0) }
    }

    fn recording(&self, pipe: Weak<Pipe>) -> Recording {
        Recording { inner: self.inner.clone(), progress: self.progress.subscribe(), pipe }
    }

    /// Nothing more comes.
    fn finish(&self) {
        {
            let mut recorded = self.inner.locked();
            recorded.view.finish();
            recorded.spill.finish();
        }
        self.progress.send_modify(|progress| progress.ended = true);
    }
}

/// The reading end does not block, the writing end does, as programs expect.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&reader, true)?;
    // Fewer wake-ups for a command that prints a lot. If the kernel refuses, the default size is fine.
    let _ = rustix::pipe::fcntl_setpipe_size(&reader, PIPE_BYTES);
    Ok((reader, writer))
}

/// Reads what is there into the buffer; `None` at the end.
pub async fn read_some(reader: &AsyncFd<OwnedFd>, buffer: &mut [u8]) -> Option<usize> {
    let_others_go_first().await;
    loop {
        let mut ready = reader.readable().await.ok()?;
        match ready.try_io(|inner| Ok(rustix::io::read(inner.get_ref(), &mut *buffer)?)) {
            Ok(Ok(0)) => return None,
            Ok(Ok(count)) => return Some(count),
            Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(Err(_)) => return None,
            Err(_would_block) => {}
        }
    }
}

async fn carry(pipe: &Pipe) {
    // Grows to the full piece only for commands that print a lot.
    let (mut buffer, mut turn) = (vec![0; 4096], 0);
    let_others_go_first().await;
    while let Some((count, target, listener)) = take_some(pipe, &mut buffer).await {
        if let Some(listener) = listener {
            listener(&buffer[..count]);
        }
        target.progress.send_modify(|progress| progress.bytes += count as u64);
        if count == buffer.len() && buffer.len() < PIECE {
            buffer.resize(buffer.len() * 4, 0);
        }
        turn += count.max(READ_COST);
        if turn >= TURN {
            let_others_go_first().await;
            if pipe.of_task.load(Ordering::Relaxed) {
                calls_first().await;
            }
            turn = 0;
        }
    }
    let target = pipe.target.locked().clone();
    target.finish();
}

/// Yields to the runtime. A pipe that is filled faster than it is read never makes its reader wait, and a task that never
/// waits keeps its thread to itself: two commands that print without end would stop the whole server.
async fn let_others_go_first() {
    tokio::task::yield_now().await;
}

/// Reads one piece. The lock is held from the pipe to the record: a byte is always counted exactly once, as waiting in the
/// pipe or as taken.
async fn take_some(pipe: &Pipe, buffer: &mut [u8]) -> Option<(usize, Target, Option<OutputListener>)> {
    loop {
        let mut ready = pipe.reader.readable().await.ok()?;
        let taken = ready.try_io(|reader| {
            let target = pipe.target.locked();
            let mut recorded = target.inner.locked();
            let count = rustix::io::read(reader.get_ref(), &mut *buffer)?;
            recorded.taken += count as u64;
            recorded.view.push(&buffer[..count]);
            recorded.spill.push(&buffer[..count]);
            Ok((count, target.clone(), recorded.listener.clone()))
        });
        match taken {
            Ok(Ok((0, ..))) => return None,
            Ok(Ok(taken)) => return Some(taken),
            Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Ok(Err(_)) => return None,
            Err(_would_block) => {}
        }
    }
}

impl Recording {
    pub fn get(&self) -> MutexGuard<'_, Recorded> {
        self.inner.locked()
    }

    /// Whether its bytes are not text, as far as its beginning shows.
    pub fn is_binary(&self) -> bool {
        let mut sample = vec![0; binary::SAMPLE];
        let count = self.get().spill.read_at(0, &mut sample).unwrap_or(0);
        binary::is_binary(&sample[..count])
    }

    /// The recording of what comes out of the same pipe from now on. This one has ended. `None` if the pipe has, or if a program
    /// has changed its size.
    pub fn again(&self, spill: Spill, view: View) -> Option<Self> {
        let pipe = self.pipe.upgrade()?;
        if rustix::pipe::fcntl_getpipe_size(&pipe.reader).ok()? != pipe.size {
            return None;
        }
        let next = Target::new(spill, view, None);
        let recording = next.recording(self.pipe.clone());
        let last = std::mem::replace(&mut *pipe.target.locked(), next);
        last.finish();
        Some(recording)
    }

    /// No call waits for the command any more.
    pub fn belongs_to_task(&self) {
        if let Some(pipe) = self.pipe.upgrade() {
            pipe.of_task.store(true, Ordering::Relaxed);
        }
    }

    /// Whether both are recordings of one stream.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Replaces the listener.
    pub fn listen(&self, listener: Option<OutputListener>) {
        self.get().listener = listener;
    }

    /// Keeps a stream for long, with as little memory as possible: only what is stored can still be read. Does nothing, and
    /// returns `false`, while the stream goes on or anybody else has it.
    pub fn archive(&self) -> bool {
        let alone = self.progress.borrow().ended && Arc::strong_count(&self.inner) == 1;
        if alone {
            let mut recorded = self.get();
            recorded.spill.leave_memory();
            recorded.view = View::new(0);
        }
        alone
    }

    /// Bytes that have come so far.
    pub fn seen(&self) -> u64 {
        self.progress.borrow().bytes
    }

    /// Whether the pipe is closed, so that nothing more can come.
    pub fn has_ended(&self) -> bool {
        self.progress.borrow().ended
    }

    /// Waits until more than that has come, or nothing more can come.
    pub async fn grown(&self, seen: u64) {
        let _ = self.progress.clone().wait_for(|progress| progress.ended || progress.bytes > seen).await;
    }

    /// The stored bytes from a position on, piece by piece.
    pub fn each_piece(&self, mut position: u64, mut with: impl FnMut(&[u8])) {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = self.get().spill.read_at(position, &mut buffer) {
            with(&buffer[..count]);
            position += count as u64;
        }
    }

    /// Waits until everything written so far is recorded, however long that takes on a busy machine.
    async fn caught_up(&self) {
        let written = self.written();
        let _ = self.progress.clone().wait_for(|progress| progress.ended || progress.bytes >= written).await;
    }

    /// For a stream into which nobody can write any more: it ends with what was written so far, although the kernel may
    /// close it a little later.
    pub async fn complete(&self) {
        self.caught_up().await;
        self.get().view.finish();
    }

    /// Waits until everything written so far is recorded. Then it waits until the pipe is closed, has been silent for
    /// `quiet`, or `longest` is over.
    pub async fn drained(&self, quiet: Duration, longest: Duration) {
        self.caught_up().await;
        let mut progress = self.progress.clone();
        let silence = async {
            loop {
                if progress.borrow_and_update().ended {
                    return;
                }
                if tokio::time::timeout(quiet, progress.changed()).await.is_err() {
                    return;
                }
            }
        };
        let _ = tokio::time::timeout(longest, silence).await;
    }

    /// Bytes taken and bytes that wait in the pipe.
    fn written(&self) -> u64 {
        let recorded = self.get();
        let waiting = self.pipe.upgrade().and_then(|pipe| rustix::io::ioctl_fionread(&pipe.reader).ok());
        recorded.taken + waiting.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_was_written_before_the_end_is_never_given_up() {
        let (reader, writer) = pipe().unwrap();
        let recording = record(Spill::new(None, 0), View::new(100), reader, None).unwrap();
        rustix::io::write(&writer, b"last words").unwrap();
        // No time at all, and the writing end is still open.
        recording.drained(Duration::ZERO, Duration::ZERO).await;
        assert_eq!(recording.get().view.head(), "last words");
        drop(writer);
    }

    #[tokio::test]
    async fn a_pipe_is_recorded_again_and_each_recording_has_its_own_part() {
        let (reader, writer) = pipe().unwrap();
        let first = record(Spill::new(None, 0), View::new(100), reader, None).unwrap();
        rustix::io::write(&writer, b"one").unwrap();
        first.complete().await;
        let second = first.again(Spill::new(None, 0), View::new(100)).unwrap();
        assert!(first.has_ended() && !second.has_ended());
        rustix::io::write(&writer, b"two").unwrap();
        second.complete().await;
        assert_eq!((first.get().view.head(), second.get().view.head()), ("one".into(), "two".into()));
        drop(writer);
        second.drained(Duration::from_mins(1), Duration::from_mins(1)).await;
        assert!(second.has_ended() && second.again(Spill::new(None, 0), View::new(100)).is_none());
    }
}
