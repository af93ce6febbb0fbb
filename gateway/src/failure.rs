//! What a client is told when its place does not answer. The three outcomes of a call are `finished`, `running` and `lost`;
//! only the place's own record makes a call `finished`, so a failure is one of the other two.

use serde_json::{Value, json};

use crate::message::{CALL_ID, Envelope, OUTCOME};

#[derive(Clone, Debug)]
pub enum Failure {
    /// The place has ended, and everything in it.
    Gone { place: String, how: String },
    /// The place may be there and the call may run, but nobody can ask.
    Unreachable { place: String, why: String },
}

impl Failure {
    pub fn outcome(&self) -> &'static str {
        match self {
            Self::Gone { .. } => "lost",
            Self::Unreachable { .. } => "running",
        }
    }

    fn text(&self, is_call: bool) -> String {
        match self {
            Self::Gone { place, how } => {
                let call = if is_call { "This call did not finish: what it did before is not known. " } else { "" };
                format!(
                    "The place {place} is gone: {how}. {call}Lost with it: the sessions' working directories and variables, \
                     tasks with their output, and files outside of mounted directories. It is not replaced. Start a new \
                     session to work in a new place."
                )
            }
            Self::Unreachable { place, why } => {
                let call = if is_call {
                    "The call may still run there, and no outcome is known. Do not run it again under a new id: repeat the \
                     call with the same id to get its result, or look at what it did first."
                } else {
                    "Try again later."
                };
                format!("The place {place} does not answer: {why}. {call}")
            }
        }
    }

    /// The answer to a request: a result with `isError` for a call, an error of the protocol for everything else.
    pub fn answer(&self, request: &Envelope, call_id: Option<&str>) -> Vec<u8> {
        let id = request.id.clone().unwrap_or(Value::Null);
        let is_call = request.is_call();
        let mut text = self.text(is_call);
        if !is_call {
            return error(&id, -32000, &text);
        }
        let mut meta = json!({ OUTCOME: self.outcome() });
        if let Some(call_id) = call_id {
            meta[CALL_ID] = json!(call_id);
            text.push_str(&format!(" [call {call_id}: {}]", self.outcome()));
        }
        let mut result = json!({"content": [{"type": "text", "text": text}], "isError": true, "_meta": meta});
        if request.version().is_some() {
            result["resultType"] = json!("complete");
        }
        json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string().into_bytes()
    }
}

pub fn error(id: &Value, code: i32, message: &str) -> Vec<u8> {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_gets_a_result_and_anything_else_an_error() {
        let gone = Failure::Gone { place: "docker:x".into(), how: "exited with 137".into() };
        let call = Envelope::of(br#"{"id":1,"method":"tools/call","params":{"name":"bash"}}"#).unwrap();
        let answer: Value = serde_json::from_slice(&gone.answer(&call, Some("c"))).unwrap();
        assert_eq!(answer["result"]["isError"], true);
        assert_eq!(answer["result"]["_meta"], json!({"testudo/outcome": "lost", "testudo/callId": "c"}));
        let list = Envelope::of(br#"{"id":1,"method":"tools/list"}"#).unwrap();
        let answer: Value = serde_json::from_slice(&gone.answer(&list, None)).unwrap();
        assert_eq!(answer["error"]["code"], -32000);
    }
}
