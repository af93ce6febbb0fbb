use std::fmt;

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

/// Tells whether two calls ask for the same thing: the same tool with the same arguments, in whatever order these come.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Digest(String);

/// Enough to notice a mistake of the caller. Nobody but the caller could be deceived.
const DIGITS: usize = 24;

impl Digest {
    pub fn of(tool: &str, arguments: &Map<String, Value>) -> Self {
        let mut hash = Sha256::new();
        hash.update(tool);
        hash.update([0]);
        object(&mut hash, arguments);
        Self(hex(&hash.finalize(), DIGITS))
    }

    pub(super) fn read(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub(super) fn hex(bytes: &[u8], digits: usize) -> String {
    let all = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    all.filter_map(|digit| char::from_digit(u32::from(digit), 16)).take(digits).collect()
}

fn value(hash: &mut Sha256, value_: &Value) {
    match value_ {
        Value::Object(members) => object(hash, members),
        Value::Array(items) => {
            hash.update("[");
            for item in items {
                value(hash, item);
                hash.update(",");
            }
            hash.update("]");
        }
        plain => hash.update(plain.to_string()),
    }
}

/// Sorted here, because whether the map is sorted depends on how its library was built.
fn object(hash: &mut Sha256, members: &Map<String, Value>) {
    let mut sorted: Vec<_> = members.iter().collect();
    sorted.sort_by_key(|(name, _)| *name);
    hash.update("{");
    for (name, member) in sorted {
        hash.update(Value::from(name.as_str()).to_string());
        hash.update(":");
        value(hash, member);
        hash.update(",");
    }
    hash.update("}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(tool: &str, arguments: &str) -> Digest {
        Digest::of(tool, &serde_json::from_str(arguments).unwrap())
    }

    #[test]
    fn only_the_tool_and_the_values_count() {
        let one = digest("bash", r#"{"command": "ls", "env": {"A": 1, "B": [1, 2]}}"#);
        assert_eq!(one, digest("bash", r#"{"env": {"B": [1, 2], "A": 1}, "command": "ls"}"#));
        for (tool, arguments) in [
            ("view", r#"{"command": "ls", "env": {"A": 1, "B": [1, 2]}}"#),
            ("bash", r#"{"command": "ls", "env": {"A": 1, "B": [2, 1]}}"#),
            ("bash", r#"{"command": "ls", "env": {"A": "1", "B": [1, 2]}}"#),
            ("bash", r#"{"command": "ls"}"#),
        ] {
            assert_ne!(one, digest(tool, arguments), "{tool} {arguments}");
        }
    }
}
