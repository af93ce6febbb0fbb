//! When a changed setting of a running server takes effect.

use toml::{Table, Value};

/// From when on a changed setting counts.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Effect {
    NextCall,
    /// A session keeps what it began with: its sandbox cannot be changed while commands run in it.
    NewSessions,
    /// It was used up when the server started.
    NextStart,
}

/// Keys, or tables with a `.` at the end. The longest one that fits a key counts; what none fits is for new sessions.
pub const EFFECTS: &[(&str, Effect)] = &[
    ("toolset", Effect::NextCall),
    ("anthropic_compat", Effect::NextCall),
    ("disable_tools", Effect::NextCall),
    ("timeout", Effect::NextCall),
    ("answer_within", Effect::NextCall),
    ("background_timeout", Effect::NextCall),
    ("max_file_size", Effect::NextCall),
    ("policy.", Effect::NextCall),
    ("transport", Effect::NextStart),
    ("draft", Effect::NextStart),
    ("http.", Effect::NextStart),
    ("log.", Effect::NextStart),
    ("audit.", Effect::NextStart),
    ("output.store_bytes", Effect::NextStart),
    ("sandbox.limits.disk", Effect::NextStart),
    ("sandbox.limits.total_disk", Effect::NextStart),
    ("sandbox.limits.total_memory", Effect::NextStart),
    ("sandbox.limits.total_processes", Effect::NextStart),
];

impl Effect {
    pub fn of(key: &str) -> Self {
        let fits = |name: &str| if name.ends_with('.') { key.starts_with(name) } else { key == name };
        let longest = EFFECTS.iter().filter(|(name, _)| fits(name)).max_by_key(|(name, _)| name.len());
        longest.map_or(Self::NewSessions, |(_, effect)| *effect)
    }
}

/// The keys that have another value in the second table. Both have all keys, because both began with the defaults.
pub fn changed_keys(old: &Table, new: &Table) -> Vec<String> {
    let mut keys = Vec::new();
    compare("", old, new, &mut keys);
    keys
}

fn compare(prefix: &str, old: &Table, new: &Table, keys: &mut Vec<String>) {
    for (key, value) in new {
        match (old.get(key), value) {
            (Some(Value::Table(old)), Value::Table(new)) => compare(&format!("{prefix}{key}."), old, new, keys),
            (Some(old), new) if old == new => {}
            _ => keys.push(format!("{prefix}{key}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DEFAULTS;

    #[test]
    fn every_named_setting_exists() {
        let defaults: Table = DEFAULTS.parse().unwrap();
        for (name, _) in EFFECTS {
            let mut found = Value::Table(defaults.clone());
            for part in name.trim_end_matches('.').split('.') {
                found = found.get(part).unwrap_or_else(|| panic!("{name}")).clone();
            }
            assert_eq!(found.is_table(), name.ends_with('.'), "{name}");
        }
    }

    #[test]
    fn the_most_specific_entry_counts() {
        let rows = [
            ("timeout", Effect::NextCall),
            ("policy.rule", Effect::NextCall),
            ("project_dir", Effect::NewSessions),
            ("sandbox.mode", Effect::NewSessions),
            ("sandbox.limits.memory", Effect::NewSessions),
            ("sandbox.limits.total_memory", Effect::NextStart),
            ("http.token", Effect::NextStart),
        ];
        for (key, effect) in rows {
            assert_eq!(Effect::of(key), effect, "{key}");
        }
    }

    #[test]
    fn changes_are_named_by_their_whole_key() {
        let read = |text: &str| text.parse::<Table>().unwrap();
        let old = read("timeout = 1\n[sandbox]\nmode = 'off'\n[sandbox.limits]\nfile = '1GB'");
        let new = read("timeout = 2\n[sandbox]\nmode = 'off'\n[sandbox.limits]\nfile = '2GB'");
        assert_eq!(changed_keys(&old, &new), ["sandbox.limits.file", "timeout"]);
        assert!(changed_keys(&old, &old).is_empty());
    }
}
