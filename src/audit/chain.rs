//! How lines are linked. A line holds its number, the hash of the line before it, and at its end the hash of itself up to
//! there. A line that was changed, removed, added or moved breaks a link.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// Takes the place of a hash before the first line.
pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";
const HASH: &str = ",\"hash\":\"";

/// The end of a chain.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tip {
    pub seq: u64,
    pub hash: String,
}

impl Tip {
    /// Appends a line with these members to the text, and moves to it.
    pub fn link(&mut self, members: &str, text: &mut String) {
        let seq = self.seq + 1;
        let begin = format!("{{\"seq\":{seq},{members},\"prev\":\"{}\"", self.hash);
        let hash = hash(begin.as_bytes());
        text.push_str(&begin);
        text.push_str(HASH);
        text.push_str(&hash);
        text.push_str("\"}\n");
        *self = Self { seq, hash };
    }
}

/// A line whose own hash is right.
pub struct Link {
    pub tip: Tip,
    pub prev: String,
}

/// Reads a line without its newline. `Err` says what is wrong with it.
pub fn check(line: &[u8]) -> Result<Link, &'static str> {
    let text = std::str::from_utf8(line).map_err(|_| "it is not text")?;
    let (begin, rest) = text.rsplit_once(HASH).ok_or("it has no hash")?;
    let own = rest.strip_suffix("\"}").ok_or("it has no hash")?;
    let value: Value = serde_json::from_str(text).map_err(|_| "it is not JSON")?;
    if hash(begin.as_bytes()) != own {
        return Err("its hash does not fit its content: it was changed");
    }
    let seq = value["seq"].as_u64().ok_or("it has no number")?;
    let prev = value["prev"].as_str().ok_or("it has no link to the line before it")?.to_owned();
    Ok(Link { tip: Tip { seq, hash: own.to_owned() }, prev })
}

/// The end of a chain whose last line this is. A line that somebody has damaged counts too: the chain goes on, and
/// [`super::verify`] names that line.
pub fn tip_of(line: &[u8], at_least: u64) -> Tip {
    check(line).map_or_else(|_| Tip { seq: at_least + 1, hash: hash(line) }, |link| link.tip)
}

fn hash(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_fits_and_a_changed_one_does_not() {
        let (mut tip, mut text) = (Tip { seq: 0, hash: GENESIS.to_owned() }, String::new());
        tip.link("\"event\":\"x\"", &mut text);
        let line = text.trim_end();
        let link = check(line.as_bytes()).unwrap_or_else(|what| panic!("{what}: {line}"));
        assert_eq!((link.tip.seq, link.prev.as_str()), (1, GENESIS));
        assert_eq!(link.tip, tip);
        for (from, to) in [("\"x\"", "\"y\""), ("\"seq\":1", "\"seq\":2"), ("000", "001"), ("hash", "hush"), ("}", "")]
        {
            assert!(check(line.replacen(from, to, 1).as_bytes()).is_err(), "{from}");
        }
    }
}
