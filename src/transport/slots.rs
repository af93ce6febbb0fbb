use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, OnceLock};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::share::Share;
use crate::base::locks::LockExt;

/// The slots for connections. A connection whose client has not shown a token yet loses its slot to a newer one when all
/// are taken, so nobody without a token can keep others out. Those who have a token are kept to their [`Share`].
pub struct Slots {
    share: Share,
    taken: Mutex<Taken>,
    /// How many there are.
    count: watch::Sender<usize>,
}

#[derive(Default)]
struct Taken {
    next: u64,
    /// By age: the oldest comes first.
    unknown: BTreeMap<u64, CancellationToken>,
    known: HashMap<Arc<str>, usize>,
}

impl Taken {
    fn known(&self) -> usize {
        self.known.values().sum()
    }
}

/// The slot of one connection. It is free again when this value is dropped.
pub struct Slot {
    slots: Arc<Slots>,
    number: u64,
    principal: OnceLock<Arc<str>>,
    /// Fires when the connection has to go.
    pub lost: CancellationToken,
}

impl Slots {
    pub fn new(share: Share) -> Arc<Self> {
        Arc::new(Self { share, taken: Mutex::default(), count: watch::Sender::new(0) })
    }

    /// `None` if every slot belongs to a client with a token.
    pub fn take(self: &Arc<Self>) -> Option<Arc<Slot>> {
        let mut taken = self.taken.locked();
        if taken.unknown.len() + taken.known() >= self.share.most {
            taken.unknown.pop_first()?.1.cancel();
        }
        let (number, lost) = (taken.next, CancellationToken::new());
        taken.next += 1;
        taken.unknown.insert(number, lost.clone());
        self.count.send_modify(|count| *count += 1);
        Some(Arc::new(Slot { slots: self.clone(), number, principal: OnceLock::new(), lost }))
    }

    /// Waits until no connection is left.
    pub async fn empty(&self) {
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }
}

impl Slot {
    /// The client has shown its token. Returns `false` if the token has its share of connections already.
    pub fn belongs_to(&self, principal: &Arc<str>) -> bool {
        let mut taken = self.slots.taken.locked();
        if self.principal.get().is_some() {
            // A connection keeps its slot, even if its client changes to another token.
            return true;
        }
        let (used, own) = (taken.known(), taken.known.get(principal).copied().unwrap_or_default());
        if taken.unknown.contains_key(&self.number) && self.slots.share.allows(used, own) {
            taken.unknown.remove(&self.number);
            *taken.known.entry(principal.clone()).or_default() += 1;
            return self.principal.set(principal.clone()).is_ok();
        }
        false
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.slots.taken.locked();
        taken.unknown.remove(&self.number);
        if let Some(principal) = self.principal.get()
            && let Some(count) = taken.known.get_mut(principal)
        {
            *count -= 1;
            taken.known.retain(|_, count| *count > 0);
        }
        self.slots.count.send_modify(|count| *count -= 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_token_the_oldest_goes_and_with_one_the_share_counts() {
        let slots = Slots::new(Share { most: 4, principals: 2 });
        let (alice, bob): (Arc<str>, Arc<str>) = ("alice".into(), "bob".into());
        let mut idle: Vec<_> = (0..4).map(|_| slots.take().unwrap()).collect();
        let newcomer = slots.take().unwrap();
        assert!(idle[0].lost.is_cancelled() && !idle[1].lost.is_cancelled());
        assert!(!idle[0].belongs_to(&alice), "it has lost its slot");
        assert!(newcomer.belongs_to(&alice) && newcomer.belongs_to(&alice));
        let second = slots.take().unwrap();
        assert!(second.belongs_to(&alice));
        assert!(!slots.take().unwrap().belongs_to(&alice), "no more than are free");
        let other = slots.take().unwrap();
        assert!(other.belongs_to(&bob));
        idle.clear();
        drop(second);
        assert!(slots.take().unwrap().belongs_to(&alice));
    }

    #[test]
    fn all_slots_may_belong_to_the_only_token() {
        let slots = Slots::new(Share { most: 2, principals: 1 });
        let name: Arc<str> = "token".into();
        let taken: Vec<_> = (0..2).map(|_| slots.take().unwrap()).collect();
        assert!(taken.iter().all(|slot| slot.belongs_to(&name)));
        assert!(slots.take().is_none());
    }
}
