//! What all requests share: kinds of places, owners, the key, and the ways to places that were used before.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::admission::{Admission, AdmitError};
use super::owners::Owners;
use super::seats::Seats;
use super::settings::{Limits, Settings};
use crate::key::{Key, random_id};
use crate::link::Link;
use crate::places::{Launcher, Listed, Order, PlaceError, State};

pub struct Gateway {
    pub key: Key,
    pub owners: Owners,
    pub limits: Limits,
    pub origins: Vec<String>,
    pub kinds: Vec<Arc<PlaceKind>>,
    admission: Arc<Admission>,
    /// When the last count of all places began.
    counted: tokio::sync::Mutex<Option<Instant>>,
    /// Becomes true when this replica ends.
    pub closing: watch::Receiver<bool>,
    /// Only to use connections again: every entry can be made anew from a handle.
    links: Mutex<HashMap<(String, String), Arc<Link>>>,
    /// The place of an owner's slot, found in the engine once.
    slots: Mutex<HashMap<(String, String), String>>,
    /// When this replica first saw that a place had ended.
    ended: Mutex<HashMap<(String, String), u64>>,
}

pub struct PlaceKind {
    pub name: String,
    pub launcher: Arc<dyn Launcher>,
    /// Who may use it.
    pub owners: Option<Vec<String>>,
}

/// So long a gateway waits for a place that another one is making.
const MAKING: Duration = Duration::from_mins(1);

/// The place of a client of the lifecycle without sessions.
pub enum Slot {
    There(Arc<Link>),
    /// It has ended, and how. A new one is made when the client begins anew.
    Ended(Arc<Link>, String),
}

/// A place that ends again unless its client gets to know it.
pub struct NewPlace {
    pub link: Arc<Link>,
    kind: Arc<PlaceKind>,
    gateway: Arc<Gateway>,
    is_kept: bool,
}

impl NewPlace {
    pub fn keep(mut self) -> Arc<Link> {
        self.is_kept = true;
        self.link.clone()
    }
}

impl Drop for NewPlace {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        let (gateway, kind, link) = (self.gateway.clone(), self.kind.clone(), self.link.clone());
        tokio::spawn(async move {
            if let Err(error) = gateway.end(&kind, &link.id).await {
                tracing::warn!("{error}");
            }
        });
    }
}

impl Gateway {
    pub fn new(settings: &Settings, closing: watch::Receiver<bool>) -> anyhow::Result<Self> {
        let key = Key::load(&settings.key_file)?;
        let kinds = settings.place.iter().map(|place| -> anyhow::Result<_> {
            let launcher = settings.launcher(place, &key)?;
            Ok(Arc::new(PlaceKind { name: place.name.clone(), launcher, owners: place.owners.clone() }))
        });
        let kinds = kinds.collect::<anyhow::Result<Vec<_>>>()?;
        let owners = Owners::read(&settings.token_file)?;
        for place in &settings.place {
            for owner in place.owners.iter().flatten().filter(|owner| !owners.has(owner)) {
                tracing::warn!("the place {} is for {owner}, who has no token", place.name);
            }
        }
        Ok(Self {
            owners,
            limits: settings.limits.clone(),
            origins: settings.allowed_origins.clone(),
            // Launchers that need the directory have made it.
            admission: Admission::new(settings.limits.clone(), Seats::open(&settings.directory)),
            counted: tokio::sync::Mutex::default(),
            kinds,
            closing,
            links: Mutex::default(),
            slots: Mutex::default(),
            ended: Mutex::default(),
            key,
        })
    }

    pub fn kind(&self, name: &str) -> Option<&Arc<PlaceKind>> {
        self.kinds.iter().find(|kind| kind.name == name)
    }

    pub fn owner_tag(&self, owner: &str) -> String {
        self.key.tag("owner", owner)
    }

    /// The way to a place that somebody made before.
    pub fn link(&self, kind: &PlaceKind, id: &str) -> Arc<Link> {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = links.entry((kind.name.clone(), id.to_owned()));
        let patience = Duration::from_secs(self.limits.patience);
        entry.or_insert_with(|| Link::new(kind.launcher.clone(), id.to_owned(), patience)).clone()
    }

    /// Makes a place for a session, if the owner may have one more.
    pub async fn make(self: &Arc<Self>, kind: &Arc<PlaceKind>, owner: &str) -> Result<NewPlace, AdmitError> {
        let slot = random_id().map_err(|error| PlaceError::Failed(error.to_string()))?;
        self.make_in(kind, self.owner_tag(owner), slot).await
    }

    /// A client may go meanwhile, and a place that is half made is nobody's. So it is made to its end in any case.
    async fn make_in(
        self: &Arc<Self>,
        kind: &Arc<PlaceKind>,
        owner: String,
        slot: String,
    ) -> Result<NewPlace, AdmitError> {
        let (gateway, kind) = (self.clone(), kind.clone());
        let making = tokio::spawn(async move {
            let is_private = kind.launcher.is_private();
            let _reservation = if is_private {
                Some(gateway.admission.admit(&owner, async || gateway.count().await).await?)
            } else {
                None
            };
            let id = kind.launcher.make(&Order { owner: owner.clone(), slot }).await?;
            let place = NewPlace { link: gateway.link(&kind, &id), kind, gateway, is_kept: false };
            if is_private {
                place.gateway.admission.confirm(&*place.kind.launcher, &id, &owner).await?;
            }
            Ok(place)
        });
        making.await.unwrap_or_else(|error| Err(PlaceError::Failed(error.to_string()).into()))
    }

    /// The place of a client without a protocol session. It has one place per owner, kind and name, and the engine refuses
    /// a second one with the same name, so that replicas agree. `anew` replaces a place that has ended.
    pub async fn slot(
        self: &Arc<Self>,
        kind: &Arc<PlaceKind>,
        owner: &str,
        name: &str,
        anew: bool,
    ) -> Result<Slot, AdmitError> {
        let owner = self.owner_tag(owner);
        let slot = self.key.tag("slot", &format!("{}\0{owner}\0{name}", kind.name));
        let known =
            self.slots.lock().unwrap_or_else(PoisonError::into_inner).get(&(owner.clone(), slot.clone())).cloned();
        if let (Some(id), false) = (known, anew) {
            return Ok(Slot::There(self.link(kind, &id)));
        }
        let begin = Instant::now();
        while begin.elapsed() < MAKING {
            let all = kind.launcher.list().await?;
            let found = all.into_iter().find(|one| one.slot == slot && one.owner.as_ref() == Some(&owner));
            let link = match found {
                Some(Listed { id, state: State::Ended { how }, .. }) if !anew => {
                    return Ok(Slot::Ended(self.link(kind, &id), how));
                }
                Some(Listed { id, state: State::Ended { .. }, .. }) => {
                    kind.launcher.destroy(&id).await?;
                    continue;
                }
                Some(Listed { id, state: State::Running, .. }) => self.link(kind, &id),
                // Another replica is making it.
                Some(_) => {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    continue;
                }
                None => match self.make_in(kind, owner.clone(), slot.clone()).await {
                    Err(AdmitError::Place(PlaceError::Taken)) => continue,
                    made => made?.keep(),
                },
            };
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            slots.insert((owner, slot), link.id.clone());
            return Ok(Slot::There(link));
        }
        Err(PlaceError::Failed("the place is being made or removed by another gateway; try again".to_owned()).into())
    }

    /// Ends a place whose client has said that it is done.
    pub async fn end(&self, kind: &PlaceKind, id: &str) -> Result<(), PlaceError> {
        self.forget(kind, id);
        let ended = kind.launcher.destroy(id).await;
        // A count of the engine's places that began before the end has counted this one.
        if ended.is_ok() {
            self.admission.forget(id);
        }
        ended
    }

    fn forget(&self, kind: &PlaceKind, id: &str) {
        self.admission.forget(id);
        self.links.lock().unwrap_or_else(PoisonError::into_inner).remove(&(kind.name.clone(), id.to_owned()));
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, known| known != id);
    }

    /// Other replicas remove places too. What is remembered of those would stay forever.
    fn forget_others(&self, kind: &PlaceKind, found: &[Listed]) {
        if !kind.launcher.is_private() {
            return;
        }
        let is_there = |id: &String| found.iter().any(|one| one.id == *id);
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|(of, id), _| *of != kind.name || is_there(id));
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.retain(|(of, id), _| *of != kind.name || is_there(id));
    }

    /// Looks after the places of all kinds: counts them, removes what has ended or was left half made, and makes places in
    /// advance. Every replica does this; to remove a place twice does no harm.
    pub async fn tend(&self, now: u64) {
        for kind in &self.kinds {
            match kind.launcher.list().await {
                Ok(found) => {
                    self.reap(kind, &found, now).await;
                    self.forget_others(kind, &found);
                }
                Err(error) => tracing::warn!("{error}"),
            }
            if let Err(error) = kind.launcher.prepare().await {
                tracing::warn!("{error}");
            }
        }
        self.count().await;
    }

    /// Asks the engines how many places there are. Of several that ask at the same time, one does it for all.
    async fn count(&self) {
        let asked = Instant::now();
        let mut begun = self.counted.lock().await;
        if begun.is_some_and(|begun| begun > asked) {
            return;
        }
        *begun = Some(Instant::now());
        self.admission.will_refresh();
        let mut all = Vec::new();
        for kind in &self.kinds {
            match kind.launcher.list().await {
                Ok(found) => all.extend(found),
                Err(error) => return tracing::warn!("{error}"),
            }
        }
        self.admission.refresh(&all);
    }

    async fn reap(&self, kind: &PlaceKind, found: &[Listed], now: u64) {
        for one in found {
            let age = now.saturating_sub(one.created);
            let is_over = match one.state {
                // Nobody has to be told of a place that waited for an owner.
                State::Ended { .. } if one.owner.is_none() => true,
                State::Ended { .. } => {
                    // The next request looks it up and hears how it ended.
                    self.forget(kind, &one.id);
                    let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
                    let since = *ended.entry((kind.name.clone(), one.id.clone())).or_insert(now);
                    now.saturating_sub(since) >= self.limits.remember
                }
                State::Unstarted => age > self.limits.unstarted,
                State::Running => age > self.limits.session + self.limits.remember,
            };
            if !is_over {
                continue;
            }
            // If this fails, it stays in the list and is removed the next time.
            if let Err(error) = kind.launcher.destroy(&one.id).await {
                tracing::warn!("{error}");
            }
        }
    }
}
