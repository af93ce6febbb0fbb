//! What the gateway has to know of a message. Everything else in it is forwarded as it came.

use serde::Deserialize;
use serde_json::{Value, json};

pub const CALL_ID: &str = "testudo/callId";
pub const OUTCOME: &str = "testudo/outcome";
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";

#[derive(Clone, Debug, Default, Deserialize)]
pub struct Envelope {
    pub id: Option<Value>,
    pub method: Option<String>,
    #[serde(default)]
    pub params: Params,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub struct Params {
    name: Option<Value>,
    uri: Option<Value>,
    #[serde(rename = "taskId")]
    task_id: Option<Value>,
    #[serde(rename = "requestId")]
    pub request_id: Option<Value>,
    #[serde(rename = "_meta", default)]
    meta: serde_json::Map<String, Value>,
}

impl Envelope {
    /// `None` if this is no message of the protocol. Batches are not part of any version that we serve.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let found: Self = serde_json::from_slice(bytes).ok()?;
        (found.method.is_some() || found.id.is_some()).then_some(found)
    }

    pub fn is_request(&self) -> bool {
        self.method.is_some() && self.id.is_some()
    }

    pub fn is_call(&self) -> bool {
        self.is_request() && self.method.as_deref() == Some("tools/call")
    }

    pub fn is_response_to(&self, id: &Value) -> bool {
        self.method.is_none() && self.id.as_ref() == Some(id)
    }

    pub fn is(&self, method: &str) -> bool {
        self.method.as_deref() == Some(method)
    }

    /// The header `Mcp-Name` repeats this part of the message.
    pub fn name(&self) -> Option<&str> {
        let value = match self.method.as_deref()? {
            "tools/call" | "prompts/get" => &self.params.name,
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => &self.params.uri,
            "tasks/get" | "tasks/update" | "tasks/cancel" => &self.params.task_id,
            _ => return None,
        };
        value.as_ref()?.as_str()
    }

    pub fn call_id(&self) -> Option<&str> {
        self.params.meta.get(CALL_ID)?.as_str()
    }

    /// The version that a message of the lifecycle without sessions names.
    pub fn version(&self) -> Option<&str> {
        self.params.meta.get(VERSION)?.as_str()
    }
}

/// The same message with another id.
pub fn with_id(message: &[u8], id: &Value) -> Vec<u8> {
    let Ok(mut value) = serde_json::from_slice::<Value>(message) else { return message.to_vec() };
    value["id"] = id.clone();
    value.to_string().into_bytes()
}

/// The same call with another call id in its metadata.
pub fn with_call_id(message: &[u8], id: &str) -> Vec<u8> {
    let Ok(mut value) = serde_json::from_slice::<Value>(message) else { return message.to_vec() };
    value["params"]["_meta"][CALL_ID] = json!(id);
    value.to_string().into_bytes()
}

/// Puts a line before the instructions in the result of `initialize` or `server/discover`.
pub fn with_instructions(message: &[u8], line: &str) -> Vec<u8> {
    let Ok(mut value) = serde_json::from_slice::<Value>(message) else { return message.to_vec() };
    let Some(result) = value.get_mut("result").and_then(Value::as_object_mut) else { return message.to_vec() };
    let rest = result.get("instructions").and_then(Value::as_str).unwrap_or_default();
    result.insert("instructions".to_owned(), json!(format!("{line}\n{rest}")));
    value.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_says_what_a_message_is() {
        let call = Envelope::of(
            br#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"bash","arguments":{"name":3},"_meta":{"testudo/callId":"c1"}}}"#,
        )
        .unwrap();
        assert!(call.is_call());
        assert_eq!((call.name(), call.call_id()), (Some("bash"), Some("c1")));
        let answer = Envelope::of(br#"{"jsonrpc":"2.0","id":7,"result":{}}"#).unwrap();
        assert!(answer.is_response_to(&json!(7)) && !answer.is_response_to(&json!("7")));
        assert!(Envelope::of(b"[]").is_none());
        assert!(Envelope::of(b"{}").is_none());
    }

    #[test]
    fn the_place_stands_before_the_instructions() {
        let changed = with_instructions(br#"{"id":1,"result":{"instructions":"old"}}"#, "new");
        let value: Value = serde_json::from_slice(&changed).unwrap();
        assert_eq!(value["result"]["instructions"], "new\nold");
    }
}
