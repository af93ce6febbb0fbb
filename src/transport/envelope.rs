//! Finds the id of a message that cannot be parsed. A request that is too long, nested too deep or not quite JSON still
//! has an id, and its client hangs unless it gets a response with that id.

use rmcp::model::RequestId;

/// Reads a message piece by piece in constant memory. It keeps only the outermost `id` and whether there is a `method`.
/// The id may come before or after the parameters: clients differ.
#[derive(Debug, Default)]
pub struct Envelope {
    depth: u32,
    quoting: Quoting,
    /// The outermost string or number that is being read, including its quotes.
    word: Vec<u8>,
    key: Vec<u8>,
    after_colon: bool,
    id: Option<Vec<u8>>,
    method: bool,
}

#[derive(Debug, Default)]
enum Quoting {
    #[default]
    Outside,
    Inside,
    AfterBackslash,
}

/// A longer id is cut and then does not parse.
const LONGEST_WORD: usize = 256;

impl Envelope {
    pub fn of(message: &[u8]) -> Self {
        let mut envelope = Self::default();
        envelope.feed(message);
        envelope
    }

    pub fn feed(&mut self, piece: &[u8]) {
        for byte in piece {
            self.step(*byte);
        }
    }

    /// The id, if it is a string or an integer.
    pub fn id(&self) -> Option<RequestId> {
        serde_json::from_slice(self.id.as_deref()?).ok()
    }

    /// Whether there is an id, usable or not.
    pub fn has_id(&self) -> bool {
        self.id.is_some()
    }

    /// Requests and notifications have a method, responses do not.
    pub fn has_method(&self) -> bool {
        self.method
    }

    fn step(&mut self, byte: u8) {
        match (&self.quoting, byte) {
            (Quoting::Outside, b'"') | (Quoting::AfterBackslash, _) => self.quoting = Quoting::Inside,
            (Quoting::Inside, b'\\') => self.quoting = Quoting::AfterBackslash,
            (Quoting::Inside, b'"') => self.quoting = Quoting::Outside,
            (Quoting::Inside, _) => {}
            (Quoting::Outside, _) => return self.step_outside(byte),
        }
        self.remember(byte);
    }

    fn step_outside(&mut self, byte: u8) {
        match byte {
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_of_member();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 && !self.after_colon => {
                self.key = std::mem::take(&mut self.word);
                self.after_colon = true;
                self.method |= self.key == b"\"method\"";
            }
            b',' if self.depth == 1 => self.end_of_member(),
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => self.remember(byte),
        }
    }

    fn remember(&mut self, byte: u8) {
        if self.depth == 1 && self.word.len() < LONGEST_WORD {
            self.word.push(byte);
        }
    }

    fn end_of_member(&mut self) {
        let value = std::mem::take(&mut self.word);
        if self.after_colon && self.key == b"\"id\"" {
            self.id = Some(value);
        }
        self.after_colon = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_found_wherever_it_is() {
        let deep = format!(r#"{{"params":{}{},"id":"a\"b","method":"x"}}"#, "[".repeat(9000), "]".repeat(9000));
        for (message, id) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"x"}"#, Some(RequestId::Number(7))),
            (r#"{"method":"x","params":{"id":1,"a":["id",{"id":2}]},"id": -3 }"#, Some(RequestId::Number(-3))),
            (r#"{"id" : "seven", "method""#, Some(RequestId::String("seven".into()))),
            (r#"{"text":"\",\"id\":9,","id":4,"method":"x"}"#, Some(RequestId::Number(4))),
            (r#"{"id":null,"method":"x"}"#, None),
            (r#"{"id":[1],"method":"x"}"#, None),
            (r#"[{"id":1,"method":"x"}]"#, None),
            (r#""id":1"#, None),
            ("hello", None),
            (&deep, Some(RequestId::String("a\"b".into()))),
        ] {
            let mut slowly = Envelope::default();
            message.as_bytes().iter().for_each(|byte| slowly.feed(&[*byte]));
            assert_eq!(slowly.id(), id, "{message:.80}");
        }
    }

    #[test]
    fn responses_are_told_from_requests() {
        assert!(Envelope::of(br#"{"id":1,"method":"x"}"#).has_method());
        assert!(!Envelope::of(br#"{"id":1,"result":{"method":1}}"#).has_method());
        assert!(Envelope::of(br#"{"id":null,"method":"x"}"#).has_id());
        assert!(!Envelope::of(br#"{"method":"x"}"#).has_id());
    }
}
