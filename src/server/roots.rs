use std::time::Duration;

use tokio::sync::watch;

/// The question for a client's roots. The server asks it once the client is ready, and again whenever the client says
/// that its roots have changed.
#[derive(Debug)]
pub struct Roots(watch::Sender<State>);

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct State {
    /// The number of the newest question. Answers to older ones come too late.
    question: u64,
    open: bool,
}

/// How long calls wait for the answer before the flags decide.
const PATIENCE: Duration = Duration::from_secs(3);

impl Default for Roots {
    fn default() -> Self {
        Self(watch::channel(State::default()).0)
    }
}

impl Roots {
    /// The number of the first question. Only one caller gets it.
    pub fn ask_first(&self) -> Option<u64> {
        let mut asked = None;
        self.0.send_if_modified(|state| {
            if state.question == 0 {
                *state = State { question: 1, open: true };
                asked = Some(1);
            }
            asked.is_some()
        });
        asked
    }

    /// The number of a new question. Earlier answers no longer count.
    pub fn ask_again(&self) -> u64 {
        self.0.send_modify(|state| *state = State { question: state.question + 1, open: true });
        self.0.borrow().question
    }

    /// The client's roots have changed, and the transport will ask again in a moment. Calls wait from now on. Does nothing
    /// for a client that was never asked.
    pub fn announce_change(&self) {
        self.0.send_if_modified(|state| {
            state.open |= state.question > 0;
            state.open
        });
    }

    /// Whether this is still the newest question.
    pub fn is_current(&self, question: u64) -> bool {
        self.0.borrow().question == question
    }

    /// Takes an answer. Returns `false` when a newer question is open.
    pub fn answered(&self, question: u64) -> bool {
        self.0.send_if_modified(|state| {
            let current = state.question == question;
            state.open &= !current;
            current
        })
    }

    /// Waits until the open question is answered. Calls do not wait again for a client that stayed silent.
    pub async fn ready(&self) {
        let mut state = self.0.subscribe();
        let question = state.borrow().question;
        if tokio::time::timeout(PATIENCE, state.wait_for(|state| !state.open)).await.is_err() {
            tracing::warn!("the client does not answer roots/list; the flags decide where work happens");
            self.0.send_if_modified(|state| {
                let same = state.question == question;
                state.open &= !same;
                same
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_silent_client_is_waited_for_once() {
        let roots = Roots::default();
        assert_eq!((roots.ask_first(), roots.ask_first()), (Some(1), None));
        let before = tokio::time::Instant::now();
        roots.ready().await;
        assert_eq!(before.elapsed(), PATIENCE);
        roots.ready().await;
        assert_eq!(before.elapsed(), PATIENCE);
        assert!(roots.answered(1), "a late answer still counts");
    }

    #[tokio::test]
    async fn an_answer_to_an_old_question_is_too_late() {
        let roots = Roots::default();
        roots.ready().await;
        assert_eq!(roots.ask_first(), Some(1));
        assert_eq!(roots.ask_again(), 2);
        assert!(!roots.answered(1));
        assert!(roots.answered(2));
        roots.ready().await;
    }
}
