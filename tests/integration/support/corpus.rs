use serde_json::Value;

/// The published attacks, one row per attack.
pub fn corpus() -> impl Iterator<Item = Value> {
    include_str!("../../data/corpus.jsonl").lines().map(|line| serde_json::from_str(line).unwrap())
}
