//! From bytes to a message of the protocol, or to the answer that says why not. Both transports read through here.

use rmcp::model::{ClientJsonRpcMessage, ErrorData, JsonRpcError, RequestId};
use serde_json::error::Category;

use super::envelope::Envelope;

/// The longest message that is read, on either transport. A tool's arguments have limits of their own below it.
pub const LONGEST: usize = 16 << 20;

/// What is wrong with a message.
#[derive(Debug)]
pub struct Refusal {
    /// Of the request that waits for the answer, where it could be found out.
    pub id: Option<RequestId>,
    pub error: ErrorData,
    /// Whether anybody waits: nobody does for a notification, and answers are not answered, lest two peers that
    /// misunderstand each other never stop.
    pub wants_answer: bool,
}

/// One whole message.
pub fn read(bytes: &[u8]) -> Result<ClientJsonRpcMessage, Refusal> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    match serde_json::from_slice(bytes) {
        // The SDK takes a request with an unusable id for a notification, and its sender would wait forever.
        Ok(ClientJsonRpcMessage::Notification(_)) if Envelope::of(bytes).has_id() => Err(Refusal {
            id: None,
            error: ErrorData::invalid_request("Invalid request: the id must be a string or an integer", None),
            wants_answer: true,
        }),
        Ok(message) => Ok(message),
        Err(error) => Err(Refusal::unreadable(&Envelope::of(bytes), &error)),
    }
}

impl Refusal {
    /// For a message of which only the envelope was kept.
    pub fn too_long(envelope: &Envelope, length: usize, limit: usize) -> Self {
        let text = format!("Invalid request: the message is {length} bytes long, the limit is {limit} bytes");
        Self {
            id: envelope.id(),
            error: ErrorData::invalid_request(text, None),
            wants_answer: envelope.has_id() || !envelope.has_method(),
        }
    }

    /// For an id that is taken: two answers with one id could not be told apart.
    pub fn duplicate(id: &RequestId) -> Self {
        let text = format!("Invalid request: the id {id} belongs to another request of this session");
        Self { id: Some(id.clone()), error: ErrorData::invalid_request(text, None), wants_answer: true }
    }

    /// The limit is the operator's; nothing is wrong with the request.
    pub fn too_many_sessions(id: &RequestId) -> Self {
        let text = "there are too many sessions already; try again later ([http] max_sessions sets the limit)";
        Self { id: Some(id.clone()), error: ErrorData::internal_error(text, None), wants_answer: true }
    }

    fn unreadable(envelope: &Envelope, error: &serde_json::Error) -> Self {
        let error_data = match error.classify() {
            Category::Syntax | Category::Eof => ErrorData::parse_error(format!("Parse error: {error}"), None),
            Category::Data | Category::Io => {
                ErrorData::invalid_request("Invalid request: not a JSON-RPC message of this protocol", None)
            }
        };
        let is_answer = envelope.has_id() && !envelope.has_method();
        let is_notification = envelope.has_method() && !envelope.has_id();
        Self { id: envelope.id(), error: error_data, wants_answer: !is_answer && !is_notification }
    }

    pub fn into_message(self) -> JsonRpcError {
        JsonRpcError::new(self.id, self.error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The code and the id of the refusal, and whether somebody waits for it.
    fn refused(message: &[u8]) -> (i32, Option<RequestId>, bool) {
        let refusal = read(message).expect_err("should be refused");
        (refusal.error.code.0, refusal.id, refusal.wants_answer)
    }

    #[test]
    fn broken_messages_are_refused_with_the_id_of_whoever_waits() {
        let deep = format!(r#"{{"id":3,"method":"x","params":{{"a":{}1{}}}}}"#, "[".repeat(500), "]".repeat(500));
        let one = Some(RequestId::Number(1));
        assert_eq!(refused(b"hello"), (-32700, None, true));
        assert_eq!(refused(br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","#), (-32700, one.clone(), true));
        assert_eq!(refused(b"{\"id\":1,\"jsonrpc\":\"2.0\",\"method\":\"a\xFF\"}"), (-32700, one.clone(), true));
        assert_eq!(refused(deep.as_bytes()), (-32700, Some(RequestId::Number(3)), true));
        assert_eq!(refused(b"[]"), (-32600, None, true));
        assert_eq!(refused(br#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#), (-32600, one.clone(), true));
        assert_eq!(refused(br#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#), (-32600, None, true));
        assert_eq!(refused(br#"{"jsonrpc":"2.0","id":1,"result":"#), (-32700, one, false));
    }

    #[test]
    fn good_messages_are_read_with_and_without_a_byte_order_mark() {
        for message in [
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}",
            "\u{feff}{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
        ] {
            assert!(read(message.as_bytes()).is_ok(), "{message}");
        }
    }
}
