use std::fmt;

/// The id that a caller has chosen for a call. It is the name of a file, too.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct CallId(String);

/// A counter is too short to be an id: two programs with one token would get each other's results.
const SHORTEST: usize = 16;
const LONGEST: usize = 128;

#[derive(Debug, thiserror::Error, Eq, PartialEq)]
#[error(
    "a call id has {SHORTEST} to {LONGEST} letters, digits and - _ . : and begins with a letter or a digit; choose one that \
     nobody else can have chosen, such as a UUID"
)]
pub struct BadCallId;

impl CallId {
    pub fn parse(text: &str) -> Result<Self, BadCallId> {
        let may_begin = text.starts_with(|first: char| first.is_ascii_alphanumeric());
        let valid = text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:".contains(c));
        let fits = (SHORTEST..=LONGEST).contains(&text.len());
        (may_begin && valid && fits).then(|| Self(text.to_owned())).ok_or(BadCallId)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_long_and_safe_as_the_name_of_a_file() {
        for text in ["0c7d6f9e-3f7b-4c55-9a55-2f1f2a3b4c5d", "gateway:01J9Z3.call_17", &"a".repeat(128)] {
            assert_eq!(CallId::parse(text).unwrap().as_str(), text);
        }
        for text in [
            "",
            "17",
            "..............................",
            "a/../../../../etc/passwd",
            "sixteen letters!",
            "ä234567890123456",
        ] {
            assert_eq!(CallId::parse(text), Err(BadCallId), "{text}");
        }
        assert_eq!(CallId::parse(&"a".repeat(129)), Err(BadCallId));
    }
}
