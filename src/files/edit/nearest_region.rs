use std::collections::HashMap;

use super::punctuation::made_plain;

/// How many lines are compared by similarity when no line is the same apart from case, blanks and typography.
const MOST_COMPARED: usize = 20_000;
/// The least similarity of a line that is worth showing, from 0 to 1.
const SIMILAR: f64 = 0.5;
/// A line with fewer characters, such as a brace, occurs everywhere and says nothing about the place.
const TELLING: usize = 3;

/// The line at which the nearest region begins: where most lines of the old text occur apart from case, blanks and
/// typography, else where a line is similar to the longest line of the old text.
pub fn nearest_region(file: &[&[u8]], old: &[&[u8]]) -> Option<usize> {
    let folded: Vec<String> = old.iter().map(|line| fold(line)).collect();
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, line) in folded.iter().enumerate().filter(|(_, line)| line.len() >= TELLING) {
        places.entry(line).or_default().push(index);
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (at, line) in file.iter().enumerate() {
        let line = fold(line);
        for index in places.get(line.as_str()).into_iter().flatten() {
            if let Some(start) = at.checked_sub(*index) {
                *votes.entry(start).or_default() += line.len().min(40);
            }
        }
    }
    let best = votes.into_iter().max_by_key(|(start, votes)| (*votes, std::cmp::Reverse(*start)));
    best.map(|(start, _)| start).or_else(|| similar_region(file, &folded))
}

fn similar_region(file: &[&[u8]], old: &[String]) -> Option<usize> {
    let (index, longest) = old.iter().enumerate().max_by_key(|(_, line)| line.len())?;
    let similarity = |line: &[u8]| {
        let line = fold(line);
        let part = line.contains(longest.as_str()) && !longest.is_empty();
        if part { 1.0 } else { strsim::sorensen_dice(&line, longest) }
    };
    let rated = file.iter().take(MOST_COMPARED).enumerate().map(|(at, line)| (at, similarity(line)));
    let best = rated
        .filter(|(_, similarity)| *similarity >= SIMILAR)
        .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    Some(best.0.saturating_sub(index))
}

/// A line without case, blanks and typography.
fn fold(line: &[u8]) -> String {
    let plain = made_plain(line);
    String::from_utf8_lossy(&plain).chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect()
}
