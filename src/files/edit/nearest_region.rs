//! Where in a file a text almost occurs. The time for it grows with the size of the file and never with the size of the text
//! too, and the memory for it does not grow with either.

use std::collections::HashMap;

use memchr::memmem::Finder;

use super::lines::{body, split};
use super::punctuation::each_plain;
use super::similarity::Similarity;
use crate::files::Interrupt;

/// How many different lines of the old text are looked for, from its beginning on.
const MOST_LOOKED_FOR: usize = 1_000;
/// A line that occurs more often in the old text says little about the place.
const MOST_PLACES: usize = 8;
/// After so many votes more of them would not make the place clearer.
const MOST_VOTES: usize = 1_000_000;
/// How many places can collect votes.
const MOST_CANDIDATES: usize = 100_000;
/// How many lines are compared by similarity when no line is the same apart from case, blanks and typography.
const MOST_COMPARED: usize = 20_000;
/// The least similarity of a line that is worth showing, from 0 to 1.
const SIMILAR: f64 = 0.5;
/// A line with fewer characters, such as a brace, occurs everywhere and says nothing about the place.
const TELLING: usize = 3;

/// The line at which the nearest region begins, counted from 0: where most lines of the old text occur apart from case,
/// blanks and typography, else where a line is similar to the longest line of the old text.
pub fn nearest_region(text: &[u8], old: &[u8], interrupt: &Interrupt) -> Option<usize> {
    let mut folded = Folded::default();
    let mut places: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
    let mut longest = (0, Vec::new());
    for (index, line) in split(old).map(body).enumerate() {
        let line = folded.fold(line);
        if line.len() >= longest.1.len() {
            longest = (index, line.to_owned());
        }
        if line.len() < TELLING {
            continue;
        }
        if let Some(at) = places.get_mut(line) {
            if at.len() < MOST_PLACES {
                at.push(index);
            }
        } else if places.len() < MOST_LOOKED_FOR {
            places.insert(line.to_owned(), vec![index]);
        } else {
            break;
        }
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    let mut cast = 0;
    for (at, line) in split(text).map(body).enumerate() {
        if interrupt.is_due() {
            return None;
        }
        if cast > MOST_VOTES {
            break;
        }
        let line = folded.fold(line);
        if line.len() < TELLING {
            continue;
        }
        for start in places.get(line).into_iter().flatten().filter_map(|index| at.checked_sub(*index)) {
            cast += 1;
            if votes.len() < MOST_CANDIDATES {
                *votes.entry(start).or_default() += line.len().min(40);
            } else if let Some(votes) = votes.get_mut(&start) {
                *votes += line.len().min(40);
            }
        }
    }
    let best = votes.into_iter().max_by_key(|(start, votes)| (*votes, std::cmp::Reverse(*start)));
    best.map(|(start, _)| start).or_else(|| similar_region(text, longest.0, &longest.1, interrupt))
}

/// Where a line is similar to line `index` of the old text.
fn similar_region(text: &[u8], index: usize, wanted: &[u8], interrupt: &Interrupt) -> Option<usize> {
    let finder = (!wanted.is_empty()).then(|| Finder::new(wanted));
    let mut similarity = Similarity::to(wanted);
    let mut folded = Folded::default();
    let mut best: Option<(usize, f64)> = None;
    for (at, line) in split(text).map(body).take(MOST_COMPARED).enumerate() {
        if interrupt.is_due() {
            return None;
        }
        let line = folded.fold(line);
        let part = finder.as_ref().is_some_and(|finder| finder.find(line).is_some());
        let similar = if part { 1.0 } else { similarity.of(line) };
        if similar >= SIMILAR && best.is_none_or(|(_, known)| similar > known) {
            best = Some((at, similar));
        }
    }
    best.map(|(at, _)| at.saturating_sub(index))
}

/// Lines without case, blanks and typography. One buffer serves for all lines.
#[derive(Default)]
struct Folded {
    line: Vec<u8>,
}

impl Folded {
    fn fold(&mut self, line: &[u8]) -> &[u8] {
        self.line.clear();
        let folded = &mut self.line;
        each_plain(line, |piece, _| {
            if piece.is_ascii() {
                let kept = piece.iter().filter(|byte| !byte.is_ascii_whitespace());
                folded.extend(kept.map(u8::to_ascii_lowercase));
                return;
            }
            let mut buffer = [0; 4];
            let kept = String::from_utf8_lossy(piece);
            for c in kept.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase) {
                folded.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
            }
        });
        &self.line
    }
}
