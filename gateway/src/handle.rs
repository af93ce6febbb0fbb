//! The session id that a client of `serve` gets. It says itself where the session is, so every replica with the same key
//! can route it, and none has to remember it. It holds no address: a place is named, and the places file says where it is.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::key::Key;

const VERSION: &str = "t1";
const PURPOSE: &str = "handle";

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Handle {
    /// The entry in the places file.
    #[serde(rename = "k")]
    pub kind: String,
    /// The id of the place, as its launcher knows it.
    #[serde(rename = "p")]
    pub place: String,
    #[serde(rename = "o")]
    pub owner: String,
    /// The session id that the place itself gave.
    #[serde(rename = "s")]
    pub session: String,
    /// Seconds since 1970.
    #[serde(rename = "e")]
    pub expires: u64,
}

#[derive(Debug, Eq, Error, PartialEq)]
pub enum HandleError {
    #[error("is not one that this gateway signed")]
    Forged,
    #[error("has expired")]
    Expired,
    #[error("belongs to somebody else")]
    Foreign,
}

impl Handle {
    pub fn seal(&self, key: &Key) -> String {
        let payload = serde_json::to_vec(self).expect("a handle is plain data");
        let text = format!("{VERSION}.{}", BASE64.encode(payload));
        let signature = BASE64.encode(key.sign(PURPOSE, &text));
        format!("{text}.{signature}")
    }

    /// Nothing in the text is looked at before the signature is verified.
    pub fn open(text: &str, key: &Key, owner: &str, now: u64) -> Result<Self, HandleError> {
        let (signed, signature) = text.rsplit_once('.').ok_or(HandleError::Forged)?;
        let signature = BASE64.decode(signature).map_err(|_| HandleError::Forged)?;
        if !key.verifies(PURPOSE, signed, &signature) {
            return Err(HandleError::Forged);
        }
        let payload =
            signed.strip_prefix(VERSION).and_then(|rest| rest.strip_prefix('.')).ok_or(HandleError::Forged)?;
        let payload = BASE64.decode(payload).map_err(|_| HandleError::Forged)?;
        let handle: Self = serde_json::from_slice(&payload).map_err(|_| HandleError::Forged)?;
        match handle {
            // Ids stand in paths and in scripts. No launcher makes one like this, so not even the key makes it a good one.
            handle if !is_plain(&handle.place) => Err(HandleError::Forged),
            handle if handle.owner != owner => Err(HandleError::Foreign),
            handle if handle.expires <= now => Err(HandleError::Expired),
            handle => Ok(handle),
        }
    }
}

fn is_plain(id: &str) -> bool {
    !id.starts_with('.') && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || [b'-', b'_', b'.'].contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handle() -> Handle {
        Handle {
            kind: "python".into(),
            place: "0123".into(),
            owner: "alice".into(),
            session: "inner".into(),
            expires: 100,
        }
    }

    #[test]
    fn a_handle_opens_for_its_owner_until_it_expires() {
        let key = Key::random().unwrap();
        let text = handle().seal(&key);
        assert_eq!(Handle::open(&text, &key, "alice", 99), Ok(handle()));
        assert_eq!(Handle::open(&text, &key, "alice", 100), Err(HandleError::Expired));
        assert_eq!(Handle::open(&text, &key, "bob", 99), Err(HandleError::Foreign));
        assert_eq!(Handle::open(&text, &Key::random().unwrap(), "alice", 99), Err(HandleError::Forged));
    }

    #[test]
    fn the_id_of_a_place_is_never_a_path_or_an_address() {
        let key = Key::random().unwrap();
        for place in ["../other", "..", "a/b", "127.0.0.1:80", "http://h", "a b", "$(id)", "é"] {
            let text = Handle { place: place.into(), ..handle() }.seal(&key);
            assert_eq!(Handle::open(&text, &key, "alice", 99), Err(HandleError::Forged), "{place}");
        }
        for place in ["0", "0123456789abcdef", "5dd2.me-0a1b"] {
            let text = Handle { place: place.into(), ..handle() }.seal(&key);
            assert!(Handle::open(&text, &key, "alice", 99).is_ok(), "{place}");
        }
    }

    #[test]
    fn no_changed_or_shortened_handle_opens() {
        let key = Key::random().unwrap();
        let text = handle().seal(&key);
        for length in 0..text.len() {
            assert_eq!(Handle::open(&text[..length], &key, "alice", 0), Err(HandleError::Forged), "{length}");
        }
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            // The last character of base64 can have bits that mean nothing; the decoder refuses those.
            assert_eq!(Handle::open(&changed, &key, "alice", 0), Err(HandleError::Forged), "{at}");
        }
    }
}
