use std::ffi::OsString;
use std::path::Path;

use toml::{Table, Value};

use super::error::did_you_mean;
use super::options::{CONFIG_VARIABLE, SETTINGS, Setting};
use super::written::Written;
use super::{ConfigError, DEFAULT_TABLE, OptionKind};

/// The layers that were added so far, merged into one table. A layer is checked when it is added, so that an error names
/// the layer that is wrong.
pub struct Layers {
    merged: Table,
}

impl Layers {
    pub fn defaults() -> Self {
        Self { merged: DEFAULT_TABLE.clone() }
    }

    pub fn add_file(&mut self, path: &Path) -> Result<(), ConfigError> {
        let shown = path.display().to_string();
        let text =
            std::fs::read_to_string(path).map_err(|error| ConfigError::Unreadable { path: shown.clone(), error })?;
        let mut table: Table = text.parse().map_err(|error| ConfigError::Syntax { path: shown.clone(), error })?;
        gather_tool_lists(&mut table);
        move_network(&mut table);
        refuse_unknown(&table, &self.merged, "", &shown)?;
        overlay(&mut self.merged, table);
        self.read(&shown).map(drop)
    }

    /// Returns a warning for each variable that has our prefix but is unknown.
    pub fn add_environment(&mut self, environment: &[(OsString, OsString)]) -> Result<Vec<String>, ConfigError> {
        let mut warnings = Vec::new();
        for (name, value) in environment {
            let ours = |name: &&str| name.starts_with("TESTUDO_") && *name != CONFIG_VARIABLE;
            let Some(name) = name.to_str().filter(ours) else { continue };
            let Some(setting) = SETTINGS.iter().find(|setting| setting.variable == name) else {
                // Not an error: other programs may use the prefix too.
                let known = SETTINGS.iter().map(|setting| setting.variable).filter(|name| !name.is_empty());
                warnings.push(format!("testudo has no variable {name}{}", did_you_mean(name, known, "")));
                continue;
            };
            if !value.is_empty() {
                let value = self.with_earlier(setting, setting.kind.read_variable(&value.to_string_lossy()));
                self.set(setting.key, value, name)?;
            }
        }
        Ok(warnings)
    }

    pub fn add_flags(&mut self, flags: &[(String, Vec<String>)]) -> Result<(), ConfigError> {
        for (name, values) in flags {
            let Some(setting) = SETTINGS.iter().find(|setting| setting.flag == name) else { continue };
            let value = self.with_earlier(setting, setting.kind.read(values));
            self.set(setting.key, value, &format!("--{name}"))?;
        }
        Ok(())
    }

    /// Rules are added to those of the earlier layers.
    fn with_earlier(&self, setting: &Setting, mut value: Result<Value, String>) -> Result<Value, String> {
        if let (OptionKind::Rules, Ok(Value::Array(rules))) = (setting.kind, &mut value) {
            let earlier = self.get(setting.key).and_then(Value::as_array).cloned().unwrap_or_default();
            rules.splice(0..0, earlier);
        }
        value
    }

    /// `origin` is blamed for an error.
    pub fn read(&self, origin: &str) -> Result<Written, ConfigError> {
        Written::read(&self.merged)
            .map_err(|error| ConfigError::bad_value(origin, error.to_string().trim_end().replace('\n', " ")))
    }

    pub fn into_table(self) -> Table {
        self.merged
    }

    fn get(&self, key: &str) -> Option<&Value> {
        match key.split_once('.') {
            Some((table, key)) => self.merged.get(table)?.get(key),
            None => self.merged.get(key),
        }
    }

    fn set(&mut self, key: &str, value: Result<Value, String>, origin: &str) -> Result<(), ConfigError> {
        let value = value.map_err(|reason| ConfigError::bad_value(origin, reason))?;
        let layer = match key.split_once('.') {
            Some((table, key)) => {
                Table::from_iter([(table.to_owned(), Table::from_iter([(key.to_owned(), value)]).into())])
            }
            None => Table::from_iter([(key.to_owned(), value)]),
        };
        overlay(&mut self.merged, layer);
        self.read(origin).map(drop)
    }
}

/// Gemini CLI writes these lists at the top of its settings, as `coreTools` and `excludeTools`. Both places and both
/// spellings are accepted.
fn gather_tool_lists(table: &mut Table) {
    for (key, other_spelling) in [("core_tools", "coreTools"), ("exclude_tools", "excludeTools")] {
        let found = [key, other_spelling].into_iter().filter_map(|name| table.remove(name)).collect::<Vec<_>>();
        let policy = table.entry("policy").or_insert_with(|| Value::Table(Table::new()));
        let Some(policy) = policy.as_table_mut() else { return };
        for value in policy.remove(other_spelling).into_iter().chain(found) {
            match (policy.get_mut(key), value) {
                (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
                (_, value) => drop(policy.insert(key.to_owned(), value)),
            }
        }
    }
}

/// The mode of the network was a key of the sandbox once, and a loopback interface had to be asked for.
fn move_network(table: &mut Table) {
    let Some(sandbox) = table.get_mut("sandbox").and_then(Value::as_table_mut) else { return };
    sandbox.remove("loopback");
    if let Some(mode) = sandbox.remove("network") {
        let network = table.entry("network").or_insert_with(|| Value::Table(Table::new()));
        if let Some(network) = network.as_table_mut() {
            network.entry("mode").or_insert(mode);
        }
    }
}

/// The defaults hold every key there is, so a key that they lack is a mistake.
fn refuse_unknown(written: &Table, known: &Table, prefix: &str, origin: &str) -> Result<(), ConfigError> {
    for (key, value) in written {
        match (known.get(key), value) {
            (Some(Value::Table(known)), Value::Table(written)) => {
                refuse_unknown(written, known, &format!("{prefix}{key}."), origin)?;
            }
            (Some(_), _) => {}
            (None, _) => {
                return Err(ConfigError::UnknownKey {
                    key: format!("{prefix}{key}"),
                    origin: origin.to_owned(),
                    suggestion: did_you_mean(key, known.keys().map(String::as_str), prefix),
                });
            }
        }
    }
    Ok(())
}

fn overlay(base: &mut Table, over: Table) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(base)), Value::Table(over)) => overlay(base, over),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}
