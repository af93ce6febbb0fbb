use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::path::Path;
use std::sync::Arc;

use chrono::DateTime;
use serde_json::Value;

use super::entry::{Entry, Outcome};
use crate::audit::reader::Reader;

/// The entries of the log, up to where it was read.
pub struct Index {
    reader: Reader,
    entries: VecDeque<Entry>,
    /// The id of the first of the entries.
    first: u64,
    /// Which entry belongs to a call: by server and number of the call.
    calls: HashMap<(Arc<str>, u64), u64>,
    words: HashSet<Arc<str>>,
}

/// With more calls than this, the oldest ones are not shown.
const MOST: usize = 100_000;

impl Index {
    pub fn new(directory: &Path) -> Self {
        let (entries, calls, words) = (VecDeque::new(), HashMap::new(), HashSet::new());
        Self { reader: Reader::new(directory), entries, first: 0, calls, words }
    }

    /// Takes in what was written since the last time.
    pub fn read_on(&mut self) -> io::Result<()> {
        let mut reader = std::mem::replace(&mut self.reader, Reader::new(Path::new("")));
        let result = reader.read(|_, event| {
            self.add(&event);
            Ok(())
        });
        self.reader = reader;
        result
    }

    /// The newest first.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> + Clone {
        self.entries.iter().rev()
    }

    fn add(&mut self, event: &Value) {
        let time = event["time"].as_str().and_then(|time| DateTime::parse_from_rfc3339(time).ok());
        let at = time.map_or(0, |time| time.timestamp_millis());
        let server = self.word(&event["server"]);
        if let Some(call) = event["call"].as_u64() {
            let key = (server.clone(), call);
            let known = self.calls.get(&key).copied();
            let id = known.unwrap_or_else(|| {
                let id = self.begin(event, server, at);
                self.calls.insert(key, id);
                id
            });
            let at_index = id.checked_sub(self.first).and_then(|index| usize::try_from(index).ok());
            if let Some(entry) = at_index.and_then(|index| self.entries.get_mut(index)) {
                entry.add(event, at);
            }
            return;
        }
        let what = match event["event"].as_str() {
            Some("server_start") => {
                format!("a server starts in {}", event["configuration"]["project"].as_str().unwrap_or("?"))
            }
            Some("server_end") => "the server ends".to_owned(),
            Some("configuration_changed") => format!("the configuration has changed: {}", words(&event["changed"])),
            Some("configuration_refused") => {
                format!("the changed configuration does not count: {}", event["reason"].as_str().unwrap_or("?"))
            }
            Some("lost") => format!("{} events could not be written here", event["events"]),
            _ => return,
        };
        let id = self.begin(event, server, at);
        if let Some(entry) = usize::try_from(id - self.first).ok().and_then(|index| self.entries.get_mut(index)) {
            let failed = event["event"] == "lost" || event["event"] == "configuration_refused";
            (entry.what, entry.to) = (what, Some(at));
            entry.outcome = if failed { Outcome::Failed } else { Outcome::Ok };
        }
    }

    /// A new entry. Returns its id.
    fn begin(&mut self, event: &Value, server: Arc<str>, at: i64) -> u64 {
        if self.entries.len() >= MOST {
            self.entries.pop_front();
            self.first += 1;
            if self.first.is_multiple_of(1024) {
                let first = self.first;
                self.calls.retain(|_, id| *id >= first);
            }
        }
        let id = self.first + self.entries.len() as u64;
        let mut optional = |name: &str| event[name].is_string().then(|| self.word(&event[name]));
        let (principal, client) = (optional("principal"), optional("client"));
        let (session, tool) = (self.word(&event["session"]), self.word(&event["tool"]));
        self.entries.push_back(Entry { id, from: at, server, principal, client, session, tool, ..Entry::default() });
        id
    }

    /// Names repeat, so each is kept once.
    fn word(&mut self, value: &Value) -> Arc<str> {
        let text = value.as_str().unwrap_or_default();
        if let Some(known) = self.words.get(text) {
            return known.clone();
        }
        let word: Arc<str> = text.into();
        if self.words.len() < MOST {
            self.words.insert(word.clone());
        }
        word
    }
}

fn words(list: &Value) -> String {
    let words = list.as_array().into_iter().flatten().filter_map(Value::as_str);
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_one_entry() {
        let mut index = Index::new(Path::new("/nowhere"));
        for line in [
            r#"{"time":"2026-11-16T10:00:00.000Z","server":"s","event":"server_start","configuration":{"project":"/p"}}"#,
            r#"{"time":"2026-11-16T10:00:01.000Z","server":"s","call":1,"principal":"local","session":"work","tool":"bash","event":"call","arguments":{"command":"false"}}"#,
            r#"{"time":"2026-11-16T10:00:01.000Z","server":"s","call":2,"principal":"local","session":"work","tool":"bash","event":"call","arguments":{"command":"rm x"}}"#,
            r#"{"time":"2026-11-16T10:00:01.100Z","server":"s","call":1,"event":"process_start","process":"c1","command":"false","cwd":"/p"}"#,
            r#"{"time":"2026-11-16T10:00:02.000Z","server":"s","call":1,"event":"process_exit","process":"c1","exit_code":1,"stdout_bytes":5,"stderr_bytes":0}"#,
            r#"{"time":"2026-11-16T10:00:02.001Z","server":"s","call":1,"event":"result"}"#,
            r#"{"time":"2026-11-16T10:00:03.000Z","server":"s","call":2,"event":"verdict","verdict":"deny","rule":"deny rm","reason":"a rule"}"#,
            r#"{"time":"2026-11-16T10:00:03.000Z","server":"s","call":2,"event":"result","error":"denied"}"#,
        ] {
            index.add(&serde_json::from_str(line).unwrap());
        }
        let all: Vec<&Entry> = index.entries().collect();
        let short: Vec<_> = all.iter().map(|entry| (&*entry.what, entry.outcome, entry.exit_code)).collect();
        let want = [
            ("rm x", Outcome::Denied, None),
            ("false", Outcome::Failed, Some(1)),
            ("a server starts in /p", Outcome::Ok, None),
        ];
        assert_eq!(short, want);
        assert_eq!((all[1].to.unwrap() - all[1].from, all[1].stdout_bytes, &*all[1].session), (1001, 5, "work"));
    }
}
