//! The server makes the next session before a client asks for it. The keeper of that session runs and its first shell waits, so
//! the server answers its first command as soon as any other.
//!
//! The server makes one when a client has introduced itself. It makes another one when a client begins a session, except for the
//! first: many clients never have a second one.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;

use super::{Server, Session, Setup, Workplace, answers};
use crate::base::locks::LockExt;
use crate::exec::WaitingShell;

#[derive(Default)]
pub struct SpareSession {
    state: Mutex<State>,
    in_the_making: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    ready: Option<Ready>,
    /// How many sessions have begun.
    begun: usize,
    /// Whether one has begun since the last spare one was made.
    wanted: bool,
    /// How many spare ones were made.
    made: u64,
    /// The server ends.
    over: bool,
}

struct Ready {
    session: Session,
    /// With another configuration, a session would be another one.
    setup: Arc<Setup>,
    number: u64,
}

const SEVERAL: usize = 2;
/// The answer to the first command of the session that has just begun goes first.
const PAUSE: Duration = Duration::from_millis(2);
/// An idle server has no other processes after this.
const KEPT: Duration = Duration::from_mins(5);
/// It usually takes some milliseconds to make one. A file system that does not answer must not keep calls waiting.
const PATIENCE: Duration = Duration::from_secs(1);

impl SpareSession {
    /// A session begins. Returns the spare one if it fits.
    pub fn take(&self, setup: &Arc<Setup>, workplace: &Workplace) -> Option<Session> {
        let mut state = self.state.locked();
        state.begun += 1;
        state.wanted = state.begun >= SEVERAL;
        state.ready.take_if(|ready| ready.fits(setup, workplace)).map(|ready| ready.session)
    }

    /// Waits for the one that is in the making: that takes less time than to make another one.
    pub async fn settled(&self) {
        let mut making = self.in_the_making.subscribe();
        let _ = tokio::time::timeout(PATIENCE, making.wait_for(|making| !making)).await;
    }

    /// Ends it. There will be no other one.
    pub async fn end(&self) {
        self.settled().await;
        let ready = {
            let mut state = self.state.locked();
            state.over = true;
            state.ready.take()
        };
        if let Some(ready) = ready {
            ready.session.end().await;
        }
    }

    /// Whether to make one now. A caller that gets `true` has to make it.
    fn begin(&self, is_wanted: impl FnOnce(&State) -> bool) -> bool {
        let mut state = self.state.locked();
        let wanted = !state.over && is_wanted(&state);
        let begins = wanted && !self.in_the_making.send_replace(true);
        state.wanted &= !begins;
        begins
    }

    /// Takes one that was made. Returns its number, and a session that nobody needs.
    fn put(&self, setup: Arc<Setup>, session: Session) -> (u64, Option<Session>) {
        let mut state = self.state.locked();
        if state.over {
            return (0, Some(session));
        }
        state.made += 1;
        let number = state.made;
        (number, state.ready.replace(Ready { session, setup, number }).map(|former| former.session))
    }

    /// Nobody has taken it for a long time.
    fn give_up(&self, number: u64) -> Option<Session> {
        self.state.locked().ready.take_if(|ready| ready.number == number).map(|ready| ready.session)
    }
}

/// While it lives, calls wait for the session that is made.
struct Making<'a>(&'a SpareSession);

impl Drop for Making<'_> {
    fn drop(&mut self) {
        self.0.in_the_making.send_replace(false);
    }
}

impl Ready {
    fn fits(&self, setup: &Arc<Setup>, workplace: &Workplace) -> bool {
        Arc::ptr_eq(&self.setup, setup) && self.session.workplace() == *workplace
    }
}

impl Server {
    /// A client has introduced itself, and its first session will most likely work there.
    pub fn expect_session(self: &Arc<Self>, workplace: Workplace) {
        let setup = self.setup();
        let is_there = |state: &State| state.ready.as_ref().is_some_and(|ready| ready.fits(&setup, &workplace));
        if self.spare().begin(|state| !is_there(state)) {
            let server = self.clone();
            tokio::spawn(async move {
                server.tested().await;
                server.make_spare(workplace).await;
            });
        }
    }

    /// A command of that session was answered. If another session has begun lately, the next one will most likely work there.
    pub fn prepare_session(self: &Arc<Self>, last: &Session) {
        if self.spare().begin(|state| state.wanted) {
            let (server, workplace) = (self.clone(), last.workplace());
            tokio::spawn(async move {
                tokio::time::sleep(PAUSE).await;
                server.make_spare(workplace).await;
            });
        }
    }

    async fn make_spare(self: Arc<Self>, workplace: Workplace) {
        let making = Making(self.spare());
        let setup = self.setup();
        setup.basis.ask_login_shell(self.shell(), self.directory()).await;
        let session = Session::new(&setup, self.directory(), workplace);
        let unused = match self.furnish(&session).await {
            Some(()) => {
                let (number, unused) = self.spare().put(setup, session);
                let server = Arc::downgrade(&self);
                tokio::spawn(async move {
                    tokio::time::sleep(KEPT).await;
                    let expired = server.upgrade().and_then(|server| server.spare().give_up(number));
                    if let Some(session) = expired {
                        session.end().await;
                    }
                });
                unused
            }
            None => Some(session),
        };
        drop(making);
        if let Some(session) = unused {
            session.end().await;
        }
    }

    /// Makes its keeper and starts its first shell. `None` if no command can run there.
    async fn furnish(&self, session: &Session) -> Option<()> {
        let state = session.state();
        if !answers(&state.cwd).await {
            return None;
        }
        let keeper = session.keeper().await.ok()?;
        if let Ok(Some(shell)) = WaitingShell::start(&self.place(session, &keeper, &state), &keeper).await {
            session.waiting_shells().put(shell);
        }
        Some(())
    }
}
