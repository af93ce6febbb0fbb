//! Parses the messages of clients, on both transports.

use rmcp::model::{
    CallToolRequestMethod, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, JsonRpcRequest,
    JsonRpcVersion2_0, Request, RequestId,
};
use serde::Deserialize;

use super::envelope::Envelope;
use super::message_error::MessageError;

/// The longest message on stdio, in bytes, if files of that size can be written. A file may take twice its size in JSON.
/// Over HTTP the limit is `[http] max_body`.
pub fn longest(max_file_size: u64) -> usize {
    const LEAST: usize = 16 << 20;
    const AROUND_THE_FILE: usize = 64 << 10;
    usize::try_from(max_file_size).unwrap_or(usize::MAX).saturating_mul(2).saturating_add(AROUND_THE_FILE).max(LEAST)
}

/// The most values in one message: numbers, texts, lists and so on. A parsed value takes up to a hundred times the memory
/// that it takes as text, so the length alone is no limit.
const MOST_VALUES: usize = 100_000;

/// Parses one whole message.
pub fn parse(bytes: &[u8]) -> Result<ClientJsonRpcMessage, MessageError> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    if has_more_values_than(MOST_VALUES, bytes) {
        return Err(MessageError::too_many_values(&Envelope::of(bytes), MOST_VALUES));
    }
    if let Ok(call) = serde_json::from_slice::<ToolCall>(bytes) {
        return Ok(call.into());
    }
    match serde_json::from_slice(bytes) {
        // The SDK takes a request with an unusable id for a notification. Its sender would wait for a response forever.
        Ok(ClientJsonRpcMessage::Notification(_)) if Envelope::of(bytes).has_id() => Err(MessageError::unusable_id()),
        Ok(message) => Ok(message),
        Err(error) => Err(MessageError::unreadable(&Envelope::of(bytes), &error)),
    }
}

/// The message that nearly all of them are. The SDK tries one kind of message after the other on a copy of the parsed text,
/// which takes longer than everything else that happens to a short call before its command runs. Whatever is not exactly
/// this is left to the SDK.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolCall {
    jsonrpc: JsonRpcVersion2_0,
    id: RequestId,
    method: CallToolRequestMethod,
    params: CallToolRequestParams,
}

impl From<ToolCall> for ClientJsonRpcMessage {
    fn from(ToolCall { jsonrpc, id, method: CallToolRequestMethod, mut params }: ToolCall) -> Self {
        let meta = params.meta.take();
        let mut request = Request::new(params);
        // The SDK looks for it there.
        if let Some(meta) = meta {
            request.extensions.insert(meta);
        }
        Self::Request(JsonRpcRequest { jsonrpc, id, request: ClientRequest::CallToolRequest(request) })
    }
}

/// Counts what separates values and what begins lists, outside of texts. A text is skipped fast: it may be a whole file.
fn has_more_values_than(most: usize, bytes: &[u8]) -> bool {
    let (mut count, mut rest) = (0, bytes.iter());
    while let Some(byte) = rest.next() {
        match byte {
            b',' | b'[' | b'{' => count += 1,
            b'"' => skip_text(&mut rest),
            _ => {}
        }
        if count > most {
            return true;
        }
    }
    false
}

/// Goes on behind the closing quote, or to the end of a text that has none.
fn skip_text(rest: &mut std::slice::Iter<'_, u8>) {
    let bytes = rest.as_slice();
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'"', b'\\', &bytes[at..]) {
        let is_end = bytes[at + found] == b'"';
        at = (at + found + if is_end { 1 } else { 2 }).min(bytes.len());
        if is_end {
            *rest = bytes[at..].iter();
            return;
        }
    }
    *rest = [].iter();
}

#[cfg(test)]
mod tests {
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
    fn values_are_counted_outside_of_texts() {
        for (text, count) in [
            ("", 0),
            ("1", 0),
            ("[1,2,3]", 3),
            (r#"{"a":1,"b":[{},{}]}"#, 6),
            (r#"["a,[{\",[","\\",1]"#, 3),
            (r#"["open,,,"#, 1),
            (r#"["open\"#, 1),
            ("[[[[", 4),
        ] {
            assert!(!has_more_values_than(count, text.as_bytes()), "{text}");
            assert!(count == 0 || has_more_values_than(count - 1, text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_message_of_very_many_values_is_refused_and_a_long_text_is_not() {
        let call = |argument: &str| {
            let head = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"x","arguments":{"a":"#;
            format!("{head}{argument}}}}}}}")
        };
        let many = format!("[{}0]", "0,".repeat(MOST_VALUES));
        assert_eq!(error(call(&many).as_bytes()), (-32600, Some(RequestId::Number(5)), true));
        assert!(parse(call(&format!("\"{}\"", ",[{".repeat(MOST_VALUES))).as_bytes()).is_ok());
    }

    #[test]
    fn a_call_is_what_the_sdk_would_make_of_it() {
        let meta = r#""_meta":{"progressToken":7,"testudo/callId":"0123456789abcdef","x":{"y":[1.5,null]}}"#;
        for params in [
            r#"{"name":"bash"}"#.to_owned(),
            r#"{"name":"bash","arguments":{"command":"echo \"\u00e9\"","n":-1,"f":0.1,"l":[{}]},"other":1}"#.to_owned(),
            format!(r#"{{{meta},"name":"bash","arguments":{{}}}}"#),
            format!(r#"{{"name":"bash","arguments":null,{meta}}}"#),
            r#"{"name":"bash","_meta":null,"requestState":"s","inputResponses":{"a":{"action":"accept","content":{"b":true}}}}"#
                .to_owned(),
        ] {
            for message in [
                format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#),
                format!(r#"{{"params":{params},"method":"tools/call","id":"a","jsonrpc":"2.0"}}"#),
            ] {
                let call = serde_json::from_str::<ToolCall>(&message).expect(&message);
                let by_sdk: ClientJsonRpcMessage = serde_json::from_str(&message).expect(&message);
                assert_eq!(format!("{:?}", ClientJsonRpcMessage::from(call)), format!("{by_sdk:?}"), "{message}");
            }
        }
    }

    #[test]
    fn everything_else_is_left_to_the_sdk() {
        for message in [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash"},"result":{}}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"bash"}}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"bash"}}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"bash"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}"#,
            r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bash"}}]"#,
        ] {
            assert!(serde_json::from_str::<ToolCall>(message).is_err(), "{message}");
        }
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
