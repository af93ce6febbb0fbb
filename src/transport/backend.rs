use rmcp::ServerHandler;
use serde_json::Value;

use crate::records::CallId;

/// What HTTP serves: a handler of the protocol that knows calls by their ids. All requests share one by clones, because an
/// answer may come with another request than its question.
pub trait Backend: ServerHandler + Clone {
    /// Cancels a call of this principal, whichever connection it came on.
    fn cancel_call(&self, principal: &str, id: CallId);

    /// Waits until no call runs that could outlive its connection.
    fn calls_finished(&self) -> impl Future<Output = ()> + Send;

    /// What is shown at `/status`.
    fn status(&self) -> Value;
}
