use super::processes::{self, Waited};

/// A child that is continued at once when something stops it, but not for ever: at level `landlock` a command can stop its
/// keeper.
pub struct WatchedChild {
    pid: i32,
    stops: u32,
}

const MOST_STOPS: u32 = 100;

impl WatchedChild {
    pub fn new(pid: i32) -> Self {
        Self { pid, stops: 0 }
    }

    /// Reaps the children that have ended, and continues those that were stopped. Returns whether this child has ended, was
    /// stopped too often, or no child is left.
    pub fn is_over(&mut self) -> bool {
        let mut over = false;
        loop {
            match processes::wait_any() {
                Waited::Ended { pid, .. } => over |= pid == self.pid,
                Waited::Stopped { pid } => {
                    self.stops += u32::from(pid == self.pid);
                    over |= self.stops > MOST_STOPS;
                    processes::kill(pid, libc::SIGCONT);
                }
                Waited::NoneYet => return over,
                Waited::NoChildren => return true,
            }
        }
    }
}
