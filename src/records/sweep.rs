//! Keeps the records of each client within bounds of time, number and size.
//!
//! A result is kept for an hour. That an id was used is remembered for a day, so that an id whose result is gone does not
//! run again. Under load the oldest are given up first, but nothing that is younger than an hour is forgotten: a client that
//! begins more calls than fit into an hour is refused.

use std::collections::HashMap;
use std::fs::{DirEntry, File};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use super::store::{CLAIMS, CLIENTS, NEW, RESULTS, SERVERS};
use crate::base::locks::LockExt;

/// What a client may have.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    results: usize,
    result_bytes: u64,
    claims: usize,
}

const BOUNDS: Bounds = Bounds { results: 1_000, result_bytes: 64 << 20, claims: 100_000 };
const RESULT_FOR: Duration = Duration::from_hours(1);
const CLAIM_FOR: Duration = Duration::from_hours(24);
/// A claim is remembered at least this long, however many there are.
const CLAIM_AT_LEAST: Duration = Duration::from_hours(1);

/// Time to look after so many claims, or after so long.
const CLAIMS_BETWEEN: usize = 200;
const TIME_BETWEEN: Duration = Duration::from_mins(1);

#[derive(Debug, Default)]
pub struct Sweeps {
    state: Mutex<State>,
    sweeping: Mutex<()>,
}

#[derive(Debug, Default)]
struct State {
    claims_since: usize,
    last: Option<Instant>,
    /// Clients that may begin no call for now, with the number of their claims.
    full: HashMap<PathBuf, usize>,
}

struct Entry {
    path: PathBuf,
    changed: SystemTime,
    bytes: u64,
}

impl Sweeps {
    pub fn claimed(&self) {
        self.state.locked().claims_since += 1;
    }

    /// How many claims the client has, if it may make no more.
    pub fn refuse(&self, client: &Path) -> Option<usize> {
        self.state.locked().full.get(client).copied()
    }

    pub fn sweep(&self, directory: &Path, lives: impl Fn(&str) -> bool) {
        // Who comes meanwhile need not wait: the next one looks again.
        let Ok(_only_one) = self.sweeping.try_lock() else { return };
        {
            let mut state = self.state.locked();
            let is_due = state.last.is_none_or(|last| last.elapsed() >= TIME_BETWEEN);
            if !is_due && state.claims_since < CLAIMS_BETWEEN {
                return;
            }
            (state.last, state.claims_since) = (Some(Instant::now()), 0);
        }
        let clients = entries(&directory.join(CLIENTS));
        let full = clients.iter().filter_map(|client| Some((client.path.clone(), sweep_client(&client.path, BOUNDS)?)));
        let full = full.collect();
        self.state.locked().full = full;
        for server in entries(&directory.join(SERVERS)) {
            let name = server.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !lives(&name) {
                let _ = std::fs::remove_file(server.path);
            }
        }
        for unfinished in entries(&directory.join(NEW)).iter().filter(|entry| entry.age() > CLAIM_AT_LEAST) {
            let _ = std::fs::remove_file(&unfinished.path);
        }
    }
}

/// Returns the number of claims if the client may make no more.
fn sweep_client(client: &Path, bounds: Bounds) -> Option<usize> {
    let mut results = entries(&client.join(RESULTS));
    // An empty result has been given up already.
    results.retain(|result| result.bytes > 0);
    let mut bytes: u64 = results.iter().map(|result| result.bytes).sum();
    let mut count = results.len();
    for result in &results {
        if count <= bounds.results && bytes <= bounds.result_bytes && result.age() <= RESULT_FOR {
            break;
        }
        let _ = File::options().write(true).open(&result.path).and_then(|file| file.set_len(0));
        (count, bytes) = (count - 1, bytes - result.bytes);
    }
    let claims = entries(&client.join(CLAIMS));
    let mut count = claims.len();
    for claim in &claims {
        let longest = if count > bounds.claims { CLAIM_AT_LEAST } else { CLAIM_FOR };
        if claim.age() <= longest {
            break;
        }
        // The result goes first: without its claim it would be found by the next call of that id.
        let _ = std::fs::remove_file(client.join(RESULTS).join(claim.path.file_name().unwrap_or_default()));
        let _ = std::fs::remove_file(&claim.path);
        count -= 1;
    }
    (count > bounds.claims).then_some(count)
}

impl Entry {
    fn read(entry: &DirEntry) -> Option<Self> {
        // Not followed: a claim is a link that leads nowhere.
        let metadata = entry.path().symlink_metadata().ok()?;
        Some(Self { path: entry.path(), changed: metadata.modified().ok()?, bytes: metadata.len() })
    }

    fn age(&self) -> Duration {
        self.changed.elapsed().unwrap_or_default()
    }
}

/// The entries of a directory, the oldest first.
fn entries(directory: &Path) -> Vec<Entry> {
    let found = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<Entry> = found.filter_map(|entry| Entry::read(&entry)).collect();
    found.sort_by_key(|entry| entry.changed);
    found
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};

    use super::*;

    /// A client with one claim and one result of ten bytes for each of these ages, in minutes.
    fn client(ages: &[u64]) -> tempfile::TempDir {
        let world = tempfile::tempdir().unwrap();
        let (claims, results) = (world.path().join(CLAIMS), world.path().join(RESULTS));
        std::fs::create_dir(&claims).unwrap();
        std::fs::create_dir(&results).unwrap();
        for age in ages {
            let (claim, result) = (claims.join(age.to_string()), results.join(age.to_string()));
            symlink("a.b.1", &claim).unwrap();
            std::fs::write(&result, "0123456789").unwrap();
            let then = SystemTime::now() - Duration::from_mins(*age);
            let then = then.duration_since(SystemTime::UNIX_EPOCH).unwrap();
            let then = Timespec { tv_sec: then.as_secs().try_into().unwrap(), tv_nsec: 0 };
            let times = Timestamps { last_access: then, last_modification: then };
            for path in [claim, result] {
                utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
            }
        }
        world
    }

    /// What is left: the ages with a claim, and those with a result.
    fn left(world: &tempfile::TempDir) -> (Vec<u64>, Vec<u64>) {
        let numbers = |name: &str, least: u64| {
            let kept = entries(&world.path().join(name)).into_iter().filter(|entry| entry.bytes >= least);
            let mut ages: Vec<u64> =
                kept.map(|e| e.path.file_name().unwrap().to_str().unwrap().parse().unwrap()).collect();
            ages.sort_unstable();
            ages
        };
        (numbers(CLAIMS, 0), numbers(RESULTS, 1))
    }

    #[test]
    fn results_go_after_an_hour_and_ids_after_a_day() {
        let world = client(&[1, 59, 61, 23 * 60, 25 * 60]);
        assert_eq!(sweep_client(world.path(), BOUNDS), None);
        assert_eq!(left(&world), (vec![1, 59, 61, 23 * 60], vec![1, 59]));
    }

    #[test]
    fn the_oldest_go_first_when_there_are_too_many() {
        let ages = [1, 2, 3, 4, 90, 95];
        for (bounds, expected) in [
            (Bounds { results: 2, ..BOUNDS }, (ages.to_vec(), vec![1, 2])),
            (Bounds { result_bytes: 35, ..BOUNDS }, (ages.to_vec(), vec![1, 2, 3])),
            (Bounds { claims: 5, ..BOUNDS }, (vec![1, 2, 3, 4, 90], vec![1, 2, 3, 4])),
        ] {
            let world = client(&ages);
            assert_eq!(sweep_client(world.path(), bounds), None, "{bounds:?}");
            assert_eq!(left(&world), expected, "{bounds:?}");
        }
    }

    #[test]
    fn a_client_is_refused_rather_than_that_a_young_id_is_forgotten() {
        let world = client(&[1, 2, 3, 90]);
        assert_eq!(sweep_client(world.path(), Bounds { claims: 2, ..BOUNDS }), Some(3));
        assert_eq!(left(&world).0, [1, 2, 3]);
    }
}
