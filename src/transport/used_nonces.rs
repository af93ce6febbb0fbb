use std::collections::{HashSet, VecDeque};
use std::time::Duration;

/// Accepts each nonce once. A used nonce is remembered for as long as it is valid, and no longer.
///
/// The caller passes the time as the duration since some start: a system clock that is set back must not make an old nonce
/// valid again.
#[derive(Debug)]
pub struct UsedNonces {
    nonces: HashSet<String>,
    /// In the order of their use, each with the time when it can be forgotten.
    forgettable: VecDeque<(Duration, String)>,
    valid: Duration,
}

impl UsedNonces {
    pub fn new(valid: Duration) -> Self {
        Self { nonces: HashSet::new(), forgettable: VecDeque::new(), valid }
    }

    /// Uses up a nonce that was made at that time. False if it has expired or was used before.
    pub fn take(&mut self, nonce: String, made: Duration, now: Duration) -> bool {
        while self.forgettable.front().is_some_and(|(until, _)| *until < now) {
            let forgotten = self.forgettable.pop_front();
            forgotten.iter().for_each(|(_, nonce)| _ = self.nonces.remove(nonce));
        }
        if made + self.valid < now || !self.nonces.insert(nonce.clone()) {
            return false;
        }
        // `made + valid` would be enough. Counting from `now` keeps the queue in the order in which nonces expire.
        self.forgettable.push_back((now + self.valid, nonce));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_valid_once_and_for_a_while() {
        let second = Duration::from_secs;
        let mut used = UsedNonces::new(second(10));
        assert!(used.take("a".to_owned(), second(0), second(5)));
        assert!(!used.take("a".to_owned(), second(0), second(5)), "used up");
        assert!(!used.take("a".to_owned(), second(0), second(10)), "used up for as long as it is valid");
        assert!(!used.take("b".to_owned(), second(0), second(11)), "too old");
        assert!(used.take("b".to_owned(), second(1), second(11)));
    }

    #[test]
    fn an_expired_nonce_is_forgotten() {
        let mut used = UsedNonces::new(Duration::from_secs(10));
        for minute in 0..1000 {
            let now = Duration::from_secs(minute * 60);
            assert!(used.take(minute.to_string(), now, now));
        }
        assert_eq!((used.nonces.len(), used.forgettable.len()), (1, 1));
    }
}
