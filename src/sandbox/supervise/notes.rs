//! What was refused, for the result of the command that tried it.

use super::caller::field;

#[derive(Debug)]
pub struct Note {
    /// The reaper of the command, by the pid that the session sees.
    pub reaper: i32,
    pub text: String,
}

/// Says each thing once for each command, because a program may try again and again.
pub struct Notes {
    keeper: i32,
    /// By the reaper's pid outside the session, where pids are not given out again so soon.
    said: Vec<(i32, String)>,
}

/// The server keeps notes until the command's result is read, so their number has to be bounded.
const MOST: usize = 256;
const MOST_FOR_ONE_COMMAND: usize = 5;

impl Notes {
    pub fn new(keeper: i32) -> Self {
        Self { keeper, said: Vec::new() }
    }

    /// `None` for what was said already, and for our own test of the sandbox, which belongs to no command.
    pub fn about(&mut self, caller: i32, text: String) -> Option<Note> {
        let reaper = self.reaper_of(caller).filter(|reaper| *reaper != caller)?;
        let seen_inside = field(reaper, "NSpid:")?;
        let of_command = self.said.iter().filter(|(command, _)| *command == reaper);
        let (count, repeated) =
            of_command.fold((0, false), |(count, repeated), (_, said)| (count + 1, repeated || *said == text));
        if repeated || count >= MOST_FOR_ONE_COMMAND {
            return None;
        }
        if self.said.len() >= MOST {
            self.said.drain(..MOST / 2);
        }
        self.said.push((reaper, text.clone()));
        Some(Note { reaper: seen_inside, text })
    }

    /// Goes up from the caller to the keeper's child.
    fn reaper_of(&self, caller: i32) -> Option<i32> {
        const DEEPEST: usize = 1000;
        let mut pid = caller;
        for _ in 0..DEEPEST {
            let parent = field(pid, "PPid:")?;
            if parent == self.keeper {
                return Some(pid);
            }
            pid = parent;
        }
        None
    }
}
