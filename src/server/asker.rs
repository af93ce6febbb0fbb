use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::watch;

use super::Settled;
use crate::gate::{Answer, Form};

/// How a client can be asked about an action.
#[derive(Clone, Default)]
pub enum Asker {
    #[default]
    Nobody,
    /// During the call, which waits for the answer.
    Now(AskNow),
    /// The call is answered with the question; the client repeats it with the answer.
    Later(Option<GivenAnswer>),
}

/// Shows a question to the person, and takes it away when somebody else has answered it. Only a choice in the answer can
/// be a yes.
pub type AskNow = Arc<dyn Fn(Form, watch::Receiver<Option<Settled>>) -> Asking + Send + Sync>;

/// A question that is being asked at a client.
pub type Asking = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// An answer that came with a repeated call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GivenAnswer {
    /// What it was given for: see [`OpenQuestion::binding`].
    pub binding: String,
    pub answer: Answer,
}

/// A question that the client has to carry to its person.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OpenQuestion {
    pub form: Form,
    /// Names the exact action, its directory and its session. An answer with another binding does not count.
    pub binding: String,
}

impl Asker {
    pub fn can_ask(&self) -> bool {
        !matches!(self, Self::Nobody)
    }
}
