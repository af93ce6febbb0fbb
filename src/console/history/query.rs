use std::collections::HashMap;
use std::hash::Hash;

use serde::{Deserialize, Serialize};

use super::entry::{Entry, Outcome};

/// Which entries somebody wants to see.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Filter {
    /// Anywhere in the entry, in small or capital letters.
    text: String,
    session: String,
    /// `allow`, `ask` or `deny`.
    verdict: String,
    /// `ok`, `failed`, `denied`, `open`, or an exit code.
    exit: String,
    program: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Query {
    #[serde(flatten)]
    filter: Filter,
    /// How many of the newest are passed over.
    offset: usize,
    limit: usize,
    /// Where this entry is in the list is wanted, too.
    find: Option<u64>,
}

#[derive(Debug, Serialize)]
pub struct Found {
    total: usize,
    offset: usize,
    entries: Vec<Entry>,
    /// The position of the entry that was to be found.
    position: Option<usize>,
    /// What the filters can be set to, the most frequent first.
    sessions: Vec<String>,
    programs: Vec<String>,
    /// Codes other than 0.
    exits: Vec<String>,
}

const MOST_AT_ONCE: usize = 500;
const MOST_CHOICES: usize = 50;

impl Query {
    pub fn list<'a>(&self, entries: impl Iterator<Item = &'a Entry> + Clone) -> Found {
        let codes = entries.clone().filter_map(|entry| entry.exit_code).filter(|code| *code != 0);
        let (sessions, programs, exits) = (
            frequent(entries.clone().map(|entry| &*entry.session).filter(|name| !name.is_empty())),
            frequent(entries.clone().map(|entry| &*entry.program).filter(|name| !name.is_empty())),
            frequent(codes),
        );
        let filter = self.filter.prepared();
        let mut found =
            Found { total: 0, offset: self.offset, entries: Vec::new(), position: None, sessions, programs, exits };
        let end = self.offset + self.limit.clamp(1, MOST_AT_ONCE);
        for entry in entries.filter(|entry| filter.wants(entry)) {
            if (self.offset..end).contains(&found.total) {
                found.entries.push(entry.clone());
            }
            if self.find == Some(entry.id) {
                found.position = Some(found.total);
            }
            found.total += 1;
        }
        found
    }
}

impl Filter {
    pub fn prepared(&self) -> Self {
        Self { text: self.text.to_lowercase(), ..self.clone() }
    }

    /// Of a filter that is [prepared](Self::prepared).
    pub fn wants(&self, entry: &Entry) -> bool {
        let is = |wanted: &str, value: &str| wanted.is_empty() || wanted == value;
        is(&self.session, &entry.session)
            && is(&self.program, &entry.program)
            && is(&self.verdict, entry.verdict.as_deref().unwrap_or_default())
            && self.wants_exit(entry)
            && self.wants_text(entry)
    }

    fn wants_exit(&self, entry: &Entry) -> bool {
        match self.exit.as_str() {
            "" => true,
            "ok" => entry.outcome == Outcome::Ok,
            "failed" => entry.outcome == Outcome::Failed,
            "denied" => entry.outcome == Outcome::Denied || !entry.denied.is_empty(),
            "open" => entry.outcome == Outcome::Open,
            code => code.parse::<i64>().is_ok_and(|code| entry.exit_code == Some(code)),
        }
    }

    fn wants_text(&self, entry: &Entry) -> bool {
        let has = |text: &str| text.to_lowercase().contains(&self.text);
        let some = |text: &Option<String>| text.as_deref().is_some_and(has);
        self.text.is_empty()
            || has(&entry.what)
            || [&*entry.session, &*entry.tool, &*entry.server].into_iter().any(has)
            || entry.client.as_deref().is_some_and(has)
            || [&entry.description, &entry.cwd, &entry.rule, &entry.error, &entry.answer].into_iter().any(some)
            || entry.denied.iter().any(|what| has(what))
    }
}

fn frequent<T: Copy + Eq + Hash + Ord + ToString>(all: impl Iterator<Item = T>) -> Vec<String> {
    let mut counts: HashMap<T, usize> = HashMap::new();
    all.for_each(|one| *counts.entry(one).or_default() += 1);
    let mut all: Vec<(T, usize)> = counts.into_iter().collect();
    all.sort_by(|(a, x), (b, y)| y.cmp(x).then(a.cmp(b)));
    all.into_iter().take(MOST_CHOICES).map(|(one, _)| one.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: u64, what: &str, outcome: Outcome, exit_code: Option<i64>) -> Entry {
        let program = what.split(' ').next().unwrap().into();
        Entry { id, what: what.to_owned(), outcome, exit_code, program, session: "default".into(), ..Entry::default() }
    }

    #[test]
    fn filters_find_what_they_name() {
        let all = [
            entry(0, "ls", Outcome::Ok, Some(0)),
            entry(1, "make ALL", Outcome::Failed, Some(2)),
            entry(2, "rm x", Outcome::Denied, None),
        ];
        let rows = [
            ("{}", vec![0, 1, 2]),
            (r#"{"text": "all"}"#, vec![1]),
            (r#"{"exit": "failed"}"#, vec![1]),
            (r#"{"exit": "2"}"#, vec![1]),
            (r#"{"exit": "denied"}"#, vec![2]),
            (r#"{"program": "ls", "session": "default"}"#, vec![0]),
            (r#"{"session": "other"}"#, vec![]),
            (r#"{"offset": 1, "limit": 1}"#, vec![1]),
        ];
        for (text, want) in rows {
            let query: Query = serde_json::from_str(text).unwrap();
            let query = Query { limit: query.limit.max(if query.offset == 0 { 10 } else { 1 }), ..query };
            let found: Vec<u64> = query.list(all.iter()).entries.iter().map(|entry| entry.id).collect();
            assert_eq!(found, want, "{text}");
        }
        let query: Query = serde_json::from_str(r#"{"find": 2, "exit": "denied"}"#).unwrap();
        assert_eq!(query.list(all.iter()).position, Some(0));
    }
}
