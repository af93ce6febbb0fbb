//! What may be used once. Nothing is remembered for longer than it could be used again.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

/// Names that were used, for as long as they are valid. Time is given by the caller, as what has passed since some
/// beginning: a clock that somebody sets back must not make old names new.
#[derive(Debug)]
pub struct UsedUp {
    names: HashSet<String>,
    /// In the order of their use, with when they can be forgotten.
    forgettable: VecDeque<(Duration, String)>,
    valid: Duration,
}

impl UsedUp {
    pub fn new(valid: Duration) -> Self {
        Self { names: HashSet::new(), forgettable: VecDeque::new(), valid }
    }

    /// Whether a name that was made then may be used now, and from now on not again.
    pub fn take(&mut self, name: String, made: Duration, now: Duration) -> bool {
        while self.forgettable.front().is_some_and(|(until, _)| *until < now) {
            let forgotten = self.forgettable.pop_front();
            forgotten.iter().for_each(|(_, name)| _ = self.names.remove(name));
        }
        if made + self.valid < now || !self.names.insert(name.clone()) {
            return false;
        }
        // Longer than needed, so that the oldest use is always the first to be forgotten.
        self.forgettable.push_back((now + self.valid, name));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_good_once_and_for_a_while() {
        let second = Duration::from_secs;
        let mut used = UsedUp::new(second(10));
        assert!(used.take("a".to_owned(), second(0), second(5)));
        assert!(!used.take("a".to_owned(), second(0), second(5)), "used up");
        assert!(!used.take("a".to_owned(), second(0), second(10)), "used up for as long as it is valid");
        assert!(!used.take("b".to_owned(), second(0), second(11)), "too old");
        assert!(used.take("b".to_owned(), second(1), second(11)));
    }

    #[test]
    fn what_is_no_longer_valid_is_forgotten() {
        let mut used = UsedUp::new(Duration::from_secs(10));
        for minute in 0..1000 {
            let now = Duration::from_secs(minute * 60);
            assert!(used.take(minute.to_string(), now, now));
        }
        assert_eq!((used.names.len(), used.forgettable.len()), (1, 1));
    }
}
