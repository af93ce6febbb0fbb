use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::entry::{Entry, Outcome};
use super::query::Filter;

/// The picture of a stretch of time: one lane per session, and a bar for each call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DayQuery {
    /// In milliseconds since 1970.
    from: i64,
    to: i64,
    #[serde(default)]
    filter: Filter,
}

#[derive(Debug, Serialize)]
pub struct Day {
    lanes: Vec<Lane>,
    /// Sessions for which there was no lane.
    left_out: usize,
}

#[derive(Debug, Serialize)]
struct Lane {
    session: Arc<str>,
    server: Arc<str>,
    client: Option<Arc<str>>,
    bars: Vec<Bar>,
}

#[derive(Debug, Serialize)]
struct Bar {
    from: i64,
    to: i64,
    outcome: Outcome,
    /// Calls too close together to be told apart share a bar. It shows the worst of them.
    count: usize,
    /// The entry that the bar leads to.
    id: u64,
    what: String,
}

const MOST_LANES: usize = 40;
/// Bars closer together than this part of the picture are one.
const FINEST: i64 = 1000;
const LONGEST: usize = 120;

impl DayQuery {
    /// The newest entries come first.
    pub fn draw<'a>(&self, entries: impl Iterator<Item = &'a Entry>) -> Day {
        let filter = self.filter.prepared();
        let gap = ((self.to - self.from) / FINEST).max(1);
        let mut lanes: BTreeMap<(Arc<str>, Arc<str>), Lane> = BTreeMap::new();
        let mut left_out = std::collections::BTreeSet::new();
        for entry in entries.filter(|entry| !entry.session.is_empty() && filter.wants(entry)) {
            let (from, to) = (entry.from, entry.to.unwrap_or(entry.from));
            if from >= self.to || to < self.from {
                continue;
            }
            let key = (entry.server.clone(), entry.session.clone());
            if !lanes.contains_key(&key) && lanes.len() >= MOST_LANES {
                left_out.insert(key);
                continue;
            }
            let (server, session) = key.clone();
            let client = entry.client.clone();
            let lane = lanes.entry(key).or_insert_with(|| Lane { session, server, client, bars: Vec::new() });
            lane.add(entry, from.max(self.from), to.min(self.to), gap);
        }
        let mut lanes: Vec<Lane> = lanes.into_values().collect();
        lanes.sort_by_key(|lane| lane.bars.last().map(|bar| bar.from));
        Day { lanes, left_out: left_out.len() }
    }
}

impl Lane {
    fn add(&mut self, entry: &Entry, from: i64, to: i64, gap: i64) {
        if let Some(last) = self.bars.last_mut().filter(|last| last.from - to < gap && last.to - from < 2 * gap) {
            if entry.outcome > last.outcome {
                (last.outcome, last.id, last.what) = (entry.outcome, entry.id, short(&entry.what));
            }
            (last.from, last.to, last.count) = (last.from.min(from), last.to.max(to), last.count + 1);
            return;
        }
        let (outcome, id, what) = (entry.outcome, entry.id, short(&entry.what));
        self.bars.push(Bar { from, to, outcome, count: 1, id, what });
    }
}

fn short(text: &str) -> String {
    text.chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_calls_share_a_bar_that_shows_the_worst() {
        let entry = |id: u64, from: i64, to: i64, outcome: Outcome| Entry {
            id,
            from,
            to: Some(to),
            session: "work".into(),
            outcome,
            ..Entry::default()
        };
        let all = [
            entry(3, 900_000, 990_000, Outcome::Ok),
            entry(2, 500_900, 500_950, Outcome::Ok),
            entry(1, 500_100, 500_200, Outcome::Failed),
            entry(0, 0, 10, Outcome::Ok),
        ];
        let day = DayQuery { from: 1000, to: 1_000_000, filter: Filter::default() }.draw(all.iter());
        let bars: Vec<_> = day.lanes[0].bars.iter().map(|bar| (bar.id, bar.count, bar.outcome)).collect();
        assert_eq!(bars, [(3, 1, Outcome::Ok), (1, 2, Outcome::Failed)]);
    }
}
