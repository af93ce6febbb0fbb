//! The secret that all replicas of a gateway share. Everything that they must agree on without talking to each other is
//! derived from it: the signature of a handle, the token of a place, the short name of an owner.

use std::fmt::Write;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::{Context, ensure};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

#[derive(Clone)]
pub struct Key(Vec<u8>);

const LEAST_BYTES: usize = 32;

impl Key {
    pub fn random() -> anyhow::Result<Self> {
        Ok(Self(random_bytes(LEAST_BYTES)?))
    }

    /// Reads the key, or makes the file with a new key in it. Of two replicas that start at once, one makes it.
    pub fn load(path: &Path) -> anyhow::Result<Self> {
        if !path.exists() {
            let key = hex(&random_bytes(LEAST_BYTES)?);
            let temporary = path.with_extension(random_id()?);
            let mut file = std::fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(&temporary);
            let file =
                file.as_mut().map_err(|error| anyhow::anyhow!("failed to make {}: {error}", temporary.display()))?;
            file.write_all(key.as_bytes())?;
            // A link, unlike a rename, does not replace the file that another replica has made meanwhile.
            let _ = std::fs::hard_link(&temporary, path);
            std::fs::remove_file(&temporary)?;
        }
        let text =
            std::fs::read_to_string(path).with_context(|| format!("failed to read the key {}", path.display()))?;
        let key = text.trim().as_bytes().to_vec();
        ensure!(key.len() >= LEAST_BYTES, "the key in {} is shorter than {LEAST_BYTES} bytes", path.display());
        Ok(Self(key))
    }

    /// The purpose keeps a signature for one thing from being used for another.
    fn mac(&self, purpose: &str, text: &str) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes a key of any length");
        mac.update(purpose.as_bytes());
        mac.update(&[0]);
        mac.update(text.as_bytes());
        mac
    }

    pub fn sign(&self, purpose: &str, text: &str) -> Vec<u8> {
        self.mac(purpose, text).finalize().into_bytes().to_vec()
    }

    /// In constant time.
    pub fn verifies(&self, purpose: &str, text: &str, signature: &[u8]) -> bool {
        self.mac(purpose, text).verify_slice(signature).is_ok()
    }

    /// The token that the place with this id asks for.
    pub fn token_of_place(&self, id: &str) -> String {
        hex(&self.sign("token", id))
    }

    /// A short name for an owner or a slot that can stand in names of the engine.
    pub fn tag(&self, purpose: &str, text: &str) -> String {
        hex(&self.sign(purpose, text)[..8])
    }
}

pub fn random_id() -> anyhow::Result<String> {
    Ok(hex(&random_bytes(8)?))
}

fn random_bytes(count: usize) -> anyhow::Result<Vec<u8>> {
    let mut bytes = vec![0; count];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    ensure!(filled == count, "the system gave too few random bytes");
    Ok(bytes)
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_replicas_agree_on_a_key_that_neither_had() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key");
        let (one, two) = (Key::load(&path).unwrap(), Key::load(&path).unwrap());
        assert_eq!(one.token_of_place("p"), two.token_of_place("p"));
        assert_ne!(one.token_of_place("p"), one.token_of_place("q"));
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_signature_is_good_for_one_purpose() {
        let key = Key::random().unwrap();
        let signature = key.sign("handle", "text");
        assert!(key.verifies("handle", "text", &signature));
        assert!(!key.verifies("token", "text", &signature));
        assert!(!key.verifies("handle", "Text", &signature));
        assert!(!key.verifies("handle", "text", &signature[..31]));
    }
}
