//! Whether a place may be made now. Counts come from the engine, so replicas see each other's places; what this replica is
//! making at the moment is added.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use thiserror::Error;

use super::seats::Seats;
use super::settings::Limits;
use crate::places::{Launcher, Listed, PlaceError, State};

pub struct Admission {
    limits: Limits,
    seats: Option<Seats>,
    state: Mutex<Ledger>,
}

struct Ledger {
    /// How many creations are allowed at once now.
    allowance: f64,
    refilled: Instant,
    /// Being made by this replica, per owner.
    making: HashMap<String, usize>,
    /// As the engine said last, and those that this replica has made since.
    made: HashMap<String, String>,
    /// Places that ended since the engine was asked last. Its answer may be older.
    ended: HashSet<String>,
}

#[derive(Debug, Error)]
#[error("{reason}")]
pub struct Refused {
    pub reason: String,
    pub retry_after: Duration,
}

/// Counts as a place until it is dropped.
pub struct Reservation {
    admission: Arc<Admission>,
    owner: String,
}

/// A place may end at any time; a client that is refused for want of one should ask again soon.
const SOON: Duration = Duration::from_secs(5);

impl Admission {
    pub fn new(limits: Limits, seats: Option<Seats>) -> Arc<Self> {
        let allowance = limits.creates_per_second.max(1.0);
        let ledger = Ledger {
            allowance,
            refilled: Instant::now(),
            making: HashMap::new(),
            made: HashMap::new(),
            ended: HashSet::new(),
        };
        Arc::new(Self { limits, seats, state: Mutex::new(ledger) })
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nobody is refused for what the engine said a while ago: another replica may have removed places since. `ask_engine` counts
    /// again, which counts as the one creation that the rate then has to allow.
    pub async fn admit(self: &Arc<Self>, owner: &str, ask_engine: impl AsyncFnOnce()) -> Result<Reservation, Refused> {
        let asks = {
            let mut ledger = self.ledger();
            self.has_room(&ledger, owner).is_err() && self.spend(&mut ledger).is_ok()
        };
        if !asks {
            return self.reserve(owner);
        }
        ask_engine().await;
        let mut ledger = self.ledger();
        self.has_room(&ledger, owner)?;
        Ok(self.reserved(&mut ledger, owner))
    }

    fn reserve(self: &Arc<Self>, owner: &str) -> Result<Reservation, Refused> {
        let mut ledger = self.ledger();
        self.has_room(&ledger, owner)?;
        self.spend(&mut ledger)?;
        Ok(self.reserved(&mut ledger, owner))
    }

    fn reserved(self: &Arc<Self>, ledger: &mut Ledger, owner: &str) -> Reservation {
        *ledger.making.entry(owner.to_owned()).or_default() += 1;
        Reservation { admission: self.clone(), owner: owner.to_owned() }
    }

    fn has_room(&self, ledger: &Ledger, owner: &str) -> Result<(), Refused> {
        let of_owner = ledger.made.values().filter(|one| *one == owner).count();
        let making = ledger.making.get(owner).copied().unwrap_or(0);
        if of_owner + making >= self.limits.per_owner {
            return Err(full(&format!("you have {} places, as many as one owner may have", self.limits.per_owner)));
        }
        if ledger.made.len() + ledger.making.values().sum::<usize>() >= self.limits.total {
            return Err(full("all places are taken"));
        }
        Ok(())
    }

    fn spend(&self, ledger: &mut Ledger) -> Result<(), Refused> {
        let passed = ledger.refilled.elapsed().as_secs_f64();
        let rate = self.limits.creates_per_second;
        ledger.allowance = (ledger.allowance + passed * rate).min(rate.max(1.0));
        ledger.refilled = Instant::now();
        if ledger.allowance < 1.0 {
            let retry_after = Duration::from_secs_f64(((1.0 - ledger.allowance) / rate).max(1.0));
            return Err(Refused { reason: format!("more than {rate} places a second were asked for"), retry_after });
        }
        ledger.allowance -= 1.0;
        Ok(())
    }

    /// The engine is about to be asked.
    pub fn will_refresh(&self) {
        self.ledger().ended.clear();
    }

    /// What the engine says. `all` are the places of all kinds.
    pub fn refresh(&self, all: &[Listed]) {
        let living = all.iter().filter(|one| !matches!(one.state, State::Ended { .. }));
        let mut ledger = self.ledger();
        let living = living.filter(|one| !ledger.ended.contains(&one.id));
        let made = living.filter_map(|one| Some((one.id.clone(), one.owner.clone()?))).collect();
        ledger.made = made;
        if let Some(seats) = &self.seats {
            seats.sweep(|id| ledger.made.contains_key(id));
        }
    }

    pub fn forget(&self, id: &str) {
        let mut ledger = self.ledger();
        ledger.made.remove(id);
        ledger.ended.insert(id.to_owned());
        drop(ledger);
        if let Some(seats) = &self.seats {
            seats.leave(id);
        }
    }

    /// Another replica may have made places at the same moment. Those that came first stay: every replica sorts the same
    /// list in the same way, so the limit holds for all of them together. On one machine, seats make it exact.
    pub async fn confirm(&self, launcher: &dyn Launcher, id: &str, owner: &str) -> Result<(), AdmitError> {
        self.ledger().made.insert(id.to_owned(), owner.to_owned());
        let mut all = launcher.list().await?;
        all.retain(|one| one.owner.is_some() && !matches!(one.state, State::Ended { .. }));
        all.sort_by(|one, other| (one.created, &one.id).cmp(&(other.created, &other.id)));
        let own = all.iter().filter(|one| one.owner.as_deref() == Some(owner)).position(|one| one.id == id);
        let total = all.iter().position(|one| one.id == id);
        let fits = own.is_none_or(|at| at < self.limits.per_owner) && total.is_none_or(|at| at < self.limits.total);
        if fits && self.take_seat(id, owner).await? {
            return Ok(());
        }
        self.forget(id);
        launcher.destroy(id).await?;
        Err(AdmitError::Refused(full("another gateway made the last place at the same moment")))
    }
}

impl Admission {
    async fn take_seat(&self, id: &str, owner: &str) -> Result<bool, PlaceError> {
        let Some(seats) = self.seats.clone() else { return Ok(true) };
        let (id, owner, limits) = (id.to_owned(), owner.to_owned(), self.limits.clone());
        // Another replica may have its turn.
        let taken = tokio::task::spawn_blocking(move || seats.take(&id, &owner, &limits)).await;
        let taken = taken.map_err(std::io::Error::other).flatten();
        taken.map_err(|error| PlaceError::failed("failed to look whether there is a place left", error))
    }
}

#[derive(Debug, Error)]
pub enum AdmitError {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Place(#[from] PlaceError),
}

fn full(reason: &str) -> Refused {
    Refused { reason: reason.to_owned(), retry_after: SOON }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut ledger = self.admission.ledger();
        if let Some(count) = ledger.making.get_mut(&self.owner) {
            *count -= 1;
            if *count == 0 {
                ledger.making.remove(&self.owner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admission(total: usize, per_owner: usize, creates_per_second: f64) -> Arc<Admission> {
        Admission::new(Limits { total, per_owner, creates_per_second, ..Limits::default() }, None)
    }

    fn listed(id: &str) -> Listed {
        Listed {
            id: id.to_owned(),
            owner: Some("a".to_owned()),
            slot: String::new(),
            created: 0,
            state: State::Running,
        }
    }

    #[test]
    fn an_owner_gets_as_many_as_one_may_have_and_the_rest_is_for_others() {
        let admission = admission(3, 2, 1000.0);
        let _first = admission.reserve("a").unwrap();
        let second = admission.reserve("a").unwrap();
        assert!(admission.reserve("a").is_err());
        let _third = admission.reserve("b").unwrap();
        assert!(admission.reserve("c").is_err(), "all three are taken");
        drop(second);
        assert!(admission.reserve("a").is_ok(), "a place that was not made in the end is free again");
    }

    #[tokio::test]
    async fn nobody_is_refused_for_an_old_count() {
        let admission = admission(1, 1, 1.0);
        admission.refresh(&[listed("p")]);
        let first = admission.admit("b", async || admission.refresh(&[])).await.unwrap();
        drop(first);
        admission.refresh(&[listed("p")]);
        let asked = async || panic!("the engine is asked more often than places may be made");
        assert!(admission.admit("b", asked).await.is_err());
    }

    #[test]
    fn a_place_that_ends_while_the_engine_is_asked_is_free_at_once() {
        let admission = admission(1, 1, 1000.0);
        admission.will_refresh();
        admission.forget("p");
        admission.refresh(&[listed("p")]);
        assert!(admission.reserve("a").is_ok());
        admission.will_refresh();
        admission.refresh(&[listed("p")]);
        assert!(admission.reserve("a").is_err(), "the engine still has it");
    }

    #[test]
    fn a_burst_is_as_large_as_the_rate() {
        let admission = admission(100, 100, 5.0);
        let made = (0..50).filter_map(|_| admission.reserve("a").ok()).collect::<Vec<_>>();
        assert!((5..8).contains(&made.len()), "{}", made.len());
        assert!(admission.reserve("a").err().unwrap().retry_after >= Duration::from_secs(1));
    }
}
