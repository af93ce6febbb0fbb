//! Single keys from the terminal. The terminal is as before when this is dropped, and when a signal ends the program.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, isatty, tcgetattr, tcsetattr};
use tokio::io::unix::AsyncFd;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exec::async_fd;

pub struct Keyboard {
    input: Option<AsyncFd<OwnedFd>>,
    /// The terminal as it was, if stdin is one.
    before: Option<Termios>,
    signals: [Signal; 3],
}

pub enum Key {
    Character(char),
    /// No further key will come, or a signal asks for the end.
    End,
}

impl Keyboard {
    pub fn open() -> io::Result<Self> {
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let [first, second, third] = kinds.map(signal);
        let signals = [first?, second?, third?];
        let stdin = io::stdin();
        let mut before = None;
        if isatty(&stdin) {
            let saved = tcgetattr(&stdin)?;
            let mut raw = saved.clone();
            // Ctrl-C comes as a key, so that no signal can end us before the terminal is restored.
            raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
            raw.special_codes[SpecialCodeIndex::VMIN] = 1;
            raw.special_codes[SpecialCodeIndex::VTIME] = 0;
            tcsetattr(&stdin, OptionalActions::Now, &raw)?;
            before = Some(saved);
        }
        // A file cannot be waited for. It has no keys.
        let input = stdin.as_fd().try_clone_to_owned().and_then(async_fd).ok();
        Ok(Self { input, before, signals })
    }

    pub async fn next(&mut self) -> Key {
        let [first, second, third] = &mut self.signals;
        let key = async {
            let Some(input) = &self.input else { return std::future::pending().await };
            loop {
                let Ok(mut ready) = input.readable().await else { return Key::End };
                // The terminal is shared with other programs, so it must not be made non-blocking.
                if !has_input(input.get_ref()) {
                    ready.clear_ready();
                    continue;
                }
                let mut byte = [0];
                match rustix::io::read(input.get_ref().as_fd(), &mut byte) {
                    Ok(1) => return Key::Character(char::from(byte[0])),
                    Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
                    Ok(_) | Err(_) => return Key::End,
                }
            }
        };
        tokio::select! {
            key = key => key,
            _ = first.recv() => Key::End,
            _ = second.recv() => Key::End,
            _ = third.recv() => Key::End,
        }
    }
}

fn has_input(stdin: &OwnedFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut polled = [PollFd::new(stdin, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut polled, Some(&now)).is_ok_and(|ready| ready > 0)
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, before);
        }
    }
}
