//! `testudo approve` in a real terminal: single keys answer, and the terminal is as before whatever ends it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Termios, tcgetattr};
use serde_json::json;

use crate::people::silent;
use crate::support::{World, until};

/// A program in a terminal.
struct InTerminal {
    child: Child,
    keyboard: File,
    /// Our own end of the terminal keeps its settings alive after the program has ended.
    terminal: OwnedFd,
    seen: Arc<Mutex<String>>,
}

impl InTerminal {
    fn start(world: &World, words: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let open = || File::options().read(true).write(true).open(&name).unwrap();
        let stdio = || Stdio::from(open());
        let child = world.command(words).stdin(stdio()).stdout(stdio()).stderr(stdio()).spawn().unwrap();
        let (keyboard, seen) = (File::from(master), Arc::new(Mutex::new(String::new())));
        let (mut screen, kept) = (keyboard.try_clone().unwrap(), seen.clone());
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut buffer) {
                kept.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
        });
        Self { child, keyboard, terminal: open().into(), seen }
    }

    #[track_caller]
    fn until(&self, text: &str) {
        until(&format!("{text:?} on the screen"), || self.seen.lock().unwrap().contains(text).then_some(()));
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    fn modes(&self) -> Termios {
        tcgetattr(&self.terminal).unwrap()
    }

    fn takes_single_keys(&self) -> bool {
        !self.modes().local_modes.intersects(LocalModes::ICANON | LocalModes::ECHO)
    }

    #[track_caller]
    fn ends_as_before(&mut self, before: &Termios) {
        until("the end", || self.child.try_wait().unwrap());
        let after = self.modes();
        assert_eq!(after.local_modes, before.local_modes);
        assert_eq!(after.input_modes, before.input_modes);
        assert_eq!(after.output_modes, before.output_modes);
    }
}

impl Drop for InTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The settings of a terminal that nobody has changed.
fn untouched() -> Termios {
    let world = World::new();
    let fresh = InTerminal::start(&world, &["--version"]);
    fresh.until("testudo");
    fresh.modes()
}

#[test]
fn one_key_answers_a_question() {
    let world = World::new();
    let before = untouched();
    let mut server = world.server_with(&["--ask", "touch"], silent());
    let mut approve = InTerminal::start(&world, &["approve", "--wait"]);
    approve.until("waiting for questions");
    until("the terminal", || approve.takes_single_keys().then_some(()));
    for (name, key, allowed) in
        [("a", "1", true), ("b", "o", true), ("c", "x5", false), ("d", "d", false), ("e", "s", true)]
    {
        let call = server.start("bash", json!({"command": format!("touch {name}")}));
        approve.until(&format!("│ touch {name}"));
        approve.press(key);
        let reply = call.reply();
        assert_eq!(world.project().join(name).exists(), allowed, "{key}: {}", reply.text());
    }
    approve.press("q");
    approve.ends_as_before(&before);
}

#[test]
fn the_terminal_is_as_before_after_every_end() {
    let before = untouched();
    let world = World::new();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let mut approve = InTerminal::start(&world, &["approve", "--wait"]);
        approve.until("waiting for questions");
        until("the terminal", || approve.takes_single_keys().then_some(()));
        kill_process(Pid::from_child(&approve.child), signal).unwrap();
        approve.ends_as_before(&before);
    }
    for key in ["q", "\u{3}", "\u{4}"] {
        let mut approve = InTerminal::start(&world, &["approve", "--wait"]);
        approve.until("waiting for questions");
        until("the terminal", || approve.takes_single_keys().then_some(()));
        approve.press(key);
        approve.ends_as_before(&before);
    }
    // With no question, it says so and changes nothing.
    let mut approve = InTerminal::start(&world, &["approve"]);
    approve.until("no question waits");
    approve.ends_as_before(&before);
}
