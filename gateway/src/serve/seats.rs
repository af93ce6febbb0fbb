//! Who may stay when several replicas on one machine make places at the same moment. The engine's list alone cannot say: a
//! container may be older than another one and get into the list after it. So each place takes a seat, a file in a directory
//! that the replicas share, and one replica at a time looks whether there is one left.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::settings::Limits;

#[derive(Clone, Debug)]
pub struct Seats(PathBuf);

/// A seat without a place was left by a gateway that died, unless its place is so new that the engine's list is older.
const LEFT_OVER: Duration = Duration::from_secs(30);

impl Seats {
    /// `None` where no launcher needs a directory. Places are far away then, and so may be the other replicas.
    pub fn open(directory: &Path) -> Option<Self> {
        // No kind of place can have this name.
        let path = directory.join(".seats");
        let made = directory.is_dir().then(|| std::fs::create_dir_all(&path))?;
        made.is_ok().then_some(Self(path))
    }

    /// Whether there was a seat left for this place.
    pub fn take(&self, id: &str, owner: &str, limits: &Limits) -> io::Result<bool> {
        let turn = File::create(self.0.join(".turn"))?;
        turn.lock()?;
        let taken = self.taken()?;
        let of_owner = taken.iter().filter(|(_, other, _)| other == owner).count();
        let fits = taken.len() < limits.total && of_owner < limits.per_owner;
        if fits {
            File::create(self.seat(id, owner))?;
        }
        Ok(fits)
    }

    pub fn leave(&self, id: &str) {
        for (_, owner, _) in self.taken().unwrap_or_default().iter().filter(|(taken, _, _)| taken == id) {
            let _ = std::fs::remove_file(self.seat(id, owner));
        }
    }

    /// Frees the seats of places that the engine does not have any more.
    pub fn sweep(&self, is_living: impl Fn(&str) -> bool) {
        for (id, owner, age) in self.taken().unwrap_or_default() {
            if age > LEFT_OVER && !is_living(&id) {
                let _ = std::fs::remove_file(self.seat(&id, &owner));
            }
        }
    }

    /// Owners are named by a tag, which has no `@`.
    fn seat(&self, id: &str, owner: &str) -> PathBuf {
        self.0.join(format!("{owner}@{id}"))
    }

    /// The id of a place, its owner, and for how long.
    fn taken(&self) -> io::Result<Vec<(String, String, Duration)>> {
        let seats = std::fs::read_dir(&self.0)?.flatten().filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let (owner, id) = name.split_once('@')?;
            let age = entry.metadata().ok()?.modified().ok()?.elapsed().unwrap_or_default();
            Some((id.to_owned(), owner.to_owned(), age))
        });
        Ok(seats.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_who_ask_at_once_as_many_get_a_seat_as_there_are() {
        let directory = tempfile::tempdir().unwrap();
        let limits = Limits { total: 10, per_owner: 7, ..Limits::default() };
        let asked = (0..40).map(|number| {
            let (path, limits) = (directory.path().to_owned(), limits.clone());
            std::thread::spawn(move || {
                let owner = ["a", "b"][number % 2];
                Seats::open(&path).unwrap().take(&number.to_string(), owner, &limits).unwrap().then_some(owner)
            })
        });
        let got = asked.collect::<Vec<_>>().into_iter().filter_map(|one| one.join().unwrap()).collect::<Vec<_>>();
        assert_eq!(got.len(), 10, "{got:?}");
        assert!(got.iter().filter(|owner| **owner == "a").count() <= 7, "{got:?}");
    }

    #[test]
    fn a_seat_that_was_left_is_free() {
        let directory = tempfile::tempdir().unwrap();
        let limits = Limits { total: 1, ..Limits::default() };
        let seats = Seats::open(directory.path()).unwrap();
        assert!(seats.take("one", "a", &limits).unwrap());
        assert!(!seats.take("two", "a", &limits).unwrap());
        seats.sweep(|_| false);
        assert!(!seats.take("two", "a", &limits).unwrap(), "it is too new to be left over");
        seats.leave("one");
        assert!(seats.take("two", "a", &limits).unwrap());
    }
}
