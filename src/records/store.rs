//! The files of the records, below the state directory of the user:
//!
//! - `calls/clients/CLIENT/claims/ID` says that a call has begun. It is a symbolic link, and its target is the text of the
//!   claim. The kernel makes a link whole and only once: of two servers that want to begin the same call, one gets it.
//! - `calls/clients/CLIENT/results/ID` is the result of a call. It is put there whole, by a rename. An empty file is a result
//!   that is no longer kept.
//! - `calls/servers/NAME` is locked as long as the server of that name lives. The kernel unlocks it when the server dies,
//!   however it dies.
//!
//! So a claim without a result belongs to a call that runs, if its server lives, or to one that was lost.
//!
//! Nothing is synchronised with the disk: a record outlives every process, but a power failure may take the newest ones.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sha2::{Digest as _, Sha256};

use super::digest::hex;
use super::sweep::Sweeps;
use super::{CallId, Digest};
use crate::base::{private_directory, random};

/// Keeps records. Several servers may use the same files.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    /// Made with the first claim, so that servers without call ids make no file.
    server: OnceLock<LivingServer>,
    sweeps: Sweeps,
}

/// A call: which client made it, and by which id.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Key {
    /// The name of the client's token. It outlives connections, protocol sessions and servers.
    pub principal: String,
    pub id: CallId,
}

/// What is known of a call that has begun.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Record {
    /// Its server lives, so it may still finish.
    Running(Claim),
    Finished(Claim, String),
    /// It finished, but its result is no longer kept.
    Forgotten(Claim),
    /// Its server died before it finished.
    Lost(Claim),
}

/// That a call has begun.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Claim {
    pub digest: Digest,
    pub begun: SystemTime,
    server: String,
}

#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    #[error("the record of the call cannot be written below {}: {error}", directory.display())]
    Unwritable { directory: PathBuf, error: io::Error },
    #[error("this client has begun {0} calls with ids within an hour, and their records cannot be given up yet")]
    Full(usize),
}

#[derive(Debug)]
struct LivingServer {
    name: String,
    _locked: File,
}

impl Store {
    pub fn below(state_dir: &Path) -> Self {
        Self { directory: state_dir.join("calls"), server: OnceLock::new(), sweeps: Sweeps::default() }
    }

    /// Begins a call, unless it has begun before: then this returns what is known of it.
    pub fn claim(&self, key: &Key, digest: &Digest) -> Result<Option<Record>, ClaimError> {
        let unwritable = |error| ClaimError::Unwritable { directory: self.directory.clone(), error };
        let server = self.server().map_err(unwritable)?;
        let client = self.client(&key.principal);
        if let Some(count) = self.sweeps.refuse(&client) {
            return Err(ClaimError::Full(count));
        }
        let (claim, begun) = (client.join(CLAIMS).join(key.id.as_str()), milliseconds(SystemTime::now()));
        // More than 59 bytes would take a block on the disk.
        let text = format!("{server}.{digest}.{begun}");
        loop {
            match symlink(&text, &claim) {
                Ok(()) => {
                    self.sweeps.claimed();
                    return Ok(None);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let mut directories = [CLAIMS, RESULTS].into_iter().map(|name| client.join(name));
                    directories.try_for_each(|directory| private_directory::make(&directory)).map_err(unwritable)?;
                }
                // The other call may have taken its claim back just now.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match self.look(key) {
                    None => {}
                    known => return Ok(known),
                },
                Err(error) => return Err(unwritable(error)),
            }
        }
    }

    /// What is known of a call; `None` if none has begun with this id.
    pub fn look(&self, key: &Key) -> Option<Record> {
        let client = self.client(&key.principal);
        let claim = client.join(CLAIMS).join(key.id.as_str());
        let claim = Claim::read(&std::fs::read_link(claim).ok()?);
        // The server is asked first: it may finish the call in between, but not the other way round.
        let lives = self.lives(&claim.server);
        Some(match std::fs::read_to_string(client.join(RESULTS).join(key.id.as_str())) {
            Ok(text) if text.is_empty() => Record::Forgotten(claim),
            Ok(text) => Record::Finished(claim, text),
            Err(_) if lives => Record::Running(claim),
            Err(_) => Record::Lost(claim),
        })
    }

    /// Writes the result of a call down. The text is not empty. A call that ran for so long that its claim was given up gets
    /// no result either: a later call with its id would take that for its own.
    pub fn finish(&self, key: &Key, result: &str) -> io::Result<()> {
        let client = self.client(&key.principal);
        std::fs::read_link(client.join(CLAIMS).join(key.id.as_str()))?;
        let path = client.join(RESULTS).join(key.id.as_str());
        let new = self.directory.join(NEW).join(random::hex::<16>());
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(&new)?;
        let written = file.write_all(result.as_bytes()).and_then(|()| std::fs::rename(&new, path));
        if written.is_err() {
            let _ = std::fs::remove_file(&new);
        }
        written
    }

    /// Takes a claim back, because nothing was run.
    pub fn release(&self, key: &Key) {
        let _ = std::fs::remove_file(self.client(&key.principal).join(CLAIMS).join(key.id.as_str()));
    }

    /// Gives up old records, if it is time to look for some.
    pub fn sweep(&self) {
        self.sweeps.sweep(&self.directory, |server| self.lives(server));
    }

    /// Whether this very server has begun the call.
    pub fn is_own(&self, claim: &Claim) -> bool {
        self.server.get().is_some_and(|this| this.name == claim.server)
    }

    fn client(&self, principal: &str) -> PathBuf {
        self.directory.join(CLIENTS).join(hex(&Sha256::digest(principal), 16))
    }

    fn lives(&self, server: &str) -> bool {
        is_locked(&self.directory.join(SERVERS).join(server))
    }

    /// The name of this server, under which it makes claims.
    fn server(&self) -> io::Result<&str> {
        if self.server.get().is_none() {
            let made = LivingServer::announce(&self.directory)?;
            let _ = self.server.set(made);
        }
        Ok(self.server.get().map_or("", |server| &server.name))
    }
}

pub(super) const CLIENTS: &str = "clients";
pub(super) const CLAIMS: &str = "claims";
pub(super) const RESULTS: &str = "results";
pub(super) const SERVERS: &str = "servers";
/// Files that are not complete yet.
pub(super) const NEW: &str = "new";

impl LivingServer {
    /// The file is locked before it gets its name, so nobody takes the server for dead in between.
    fn announce(directory: &Path) -> io::Result<Self> {
        [CLIENTS, SERVERS, NEW].into_iter().try_for_each(|name| private_directory::make(&directory.join(name)))?;
        let name = random::hex::<12>();
        let new = directory.join(NEW).join(&name);
        let file = File::options().write(true).create_new(true).mode(0o600).open(&new)?;
        file.lock()?;
        std::fs::rename(new, directory.join(SERVERS).join(&name))?;
        Ok(Self { name, _locked: file })
    }
}

/// Whether a living process has locked the file.
pub(super) fn is_locked(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

impl Record {
    pub fn claim(&self) -> &Claim {
        match self {
            Self::Running(claim) | Self::Finished(claim, _) | Self::Forgotten(claim) | Self::Lost(claim) => claim,
        }
    }
}

impl Claim {
    fn read(target: &Path) -> Self {
        let text = target.to_string_lossy();
        let mut words = text.split('.');
        let mut word = || words.next().unwrap_or_default();
        let (server, digest, begun) = (word().to_owned(), Digest::read(word()), word().parse().unwrap_or_default());
        Self { digest, begun: UNIX_EPOCH + Duration::from_millis(begun), server }
    }
}

fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(id: &str) -> Key {
        Key { principal: "me".to_owned(), id: CallId::parse(id).unwrap() }
    }

    #[test]
    fn a_call_begins_once_and_a_dead_servers_call_is_lost() {
        let world = tempfile::tempdir().unwrap();
        let (one, other) = (Store::below(world.path()), Store::below(world.path()));
        let (digest, key) = (Digest::of("bash", &serde_json::Map::new()), key("the-only-call-here"));
        assert_eq!(one.look(&key), None);
        assert_eq!(one.claim(&key, &digest).unwrap(), None);
        let found = other.claim(&key, &digest).unwrap().unwrap();
        let Record::Running(claim) = found else { panic!("{found:?}") };
        assert!(claim.digest == digest && one.is_own(&claim) && !other.is_own(&claim));
        let somebody_else = Key { principal: "you".to_owned(), ..key.clone() };
        assert_eq!(other.look(&somebody_else), None);

        drop(one);
        assert!(matches!(other.claim(&key, &digest).unwrap(), Some(Record::Lost(_))));
        other.finish(&key, "its result").unwrap();
        assert!(matches!(other.look(&key), Some(Record::Finished(_, text)) if text == "its result"));
        other.release(&key);
        assert_eq!(other.look(&key), None);
    }

    #[test]
    fn of_many_who_want_to_begin_one_call_one_does() {
        let world = tempfile::tempdir().unwrap();
        let stores: Vec<Store> = (0..8).map(|_| Store::below(world.path())).collect();
        let (digest, key) = (Digest::of("bash", &serde_json::Map::new()), key("a-call-for-many-servers"));
        let begun = std::thread::scope(|scope| {
            let all: Vec<_> = stores.iter().map(|store| scope.spawn(|| store.claim(&key, &digest).unwrap())).collect();
            all.into_iter().map(|one| one.join().unwrap()).filter(Option::is_none).count()
        });
        assert_eq!(begun, 1);
    }
}
