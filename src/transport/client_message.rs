//! Parses the messages of clients, on both transports.

use rmcp::model::ClientJsonRpcMessage;

use super::envelope::Envelope;
use super::message_error::MessageError;

/// The longest message on stdio, in bytes. Over HTTP the limit is `[http] max_body`.
pub const LONGEST: usize = 16 << 20;

/// Parses one whole message.
pub fn parse(bytes: &[u8]) -> Result<ClientJsonRpcMessage, MessageError> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    match serde_json::from_slice(bytes) {
        // The SDK takes a request with an unusable id for a notification. Its sender would wait for a response forever.
        Ok(ClientJsonRpcMessage::Notification(_)) if Envelope::of(bytes).has_id() => Err(MessageError::unusable_id()),
        Ok(message) => Ok(message),
        Err(error) => Err(MessageError::unreadable(&Envelope::of(bytes), &error)),
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::RequestId;

    use super::*;

    /// The code and the id of the error, and whether a response is expected.
    fn error(message: &[u8]) -> (i32, Option<RequestId>, bool) {
        let error = parse(message).expect_err("should be refused");
        (error.error.code.0, error.id, error.expects_response)
    }

    #[test]
    fn broken_messages_are_refused_with_the_id_of_the_request() {
        let deep = format!(r#"{{"id":3,"method":"x","params":{{"a":{}1{}}}}}"#, "[".repeat(500), "]".repeat(500));
        let one = Some(RequestId::Number(1));
        assert_eq!(error(b"hello"), (-32700, None, true));
        assert_eq!(error(br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","#), (-32700, one.clone(), true));
        assert_eq!(error(b"{\"id\":1,\"jsonrpc\":\"2.0\",\"method\":\"a\xFF\"}"), (-32700, one.clone(), true));
        assert_eq!(error(deep.as_bytes()), (-32700, Some(RequestId::Number(3)), true));
        assert_eq!(error(b"[]"), (-32600, None, true));
        assert_eq!(error(br#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#), (-32600, one.clone(), true));
        assert_eq!(error(br#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#), (-32600, None, true));
        assert_eq!(error(br#"{"jsonrpc":"2.0","id":1,"result":"#), (-32700, one, false));
    }

    #[test]
    fn good_messages_are_parsed_with_and_without_a_byte_order_mark() {
        for message in [
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}",
            "\u{feff}{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}",
        ] {
            assert!(parse(message.as_bytes()).is_ok(), "{message}");
        }
    }
}
