//! Changes one value in the text of a configuration file and leaves every other byte as it is.
//!
//! Each format finds the place of the change with a parser that knows positions, and then changes the text there: no file
//! is ever written out again from its parsed form. [`Format::set`] and [`Format::remove`] parse the result and compare it
//! with what was wanted. A layout that the editor does not understand is therefore refused, never damaged.

mod fault;
mod json;
mod splice;
mod toml;
mod yaml;
mod yaml_value;

use serde_json::Value;

use super::Item;
pub use fault::Fault;

/// The format of a configuration file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    Json,
    /// JSON with comments and trailing commas.
    Jsonc,
    Toml,
    Yaml,
}

/// Some editors on Windows begin a file with it.
const BYTE_ORDER_MARK: char = '\u{feff}';

impl Format {
    /// The whole file as a value. An empty file is an empty table.
    pub fn read(self, text: &str) -> Result<Value, Fault> {
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let value = match self {
            _ if text.trim().is_empty() => Value::Object(serde_json::Map::new()),
            Self::Json | Self::Jsonc => json::read(text, self == Self::Jsonc)?,
            Self::Toml => toml::read(text)?,
            Self::Yaml => yaml_value::read(text)?,
        };
        match value {
            Value::Object(_) => Ok(value),
            // A YAML file of comments alone.
            Value::Null if self == Self::Yaml => Ok(Value::Object(serde_json::Map::new())),
            _ => {
                Err(Fault::at(text, text.len() - text.trim_start().len(), "the file does not hold a table of settings"))
            }
        }
    }

    /// The text with the value at `path` set. Tables that are missing on the way are made.
    pub fn set(self, text: &str, path: &[&str], item: &Item) -> Result<String, Fault> {
        let mut wanted = self.read(text)?;
        put(&mut wanted, path, item.to_value());
        self.changed(text, &wanted, |text| match self {
            Self::Json | Self::Jsonc => json::set(text, self == Self::Jsonc, path, item),
            Self::Toml => toml::set(text, path, item),
            Self::Yaml => yaml::set(text, path, item),
        })
    }

    /// The text without the value at `path`, which exists.
    pub fn remove(self, text: &str, path: &[&str]) -> Result<String, Fault> {
        let mut wanted = self.read(text)?;
        take(&mut wanted, path);
        self.changed(text, &wanted, |text| match self {
            Self::Json | Self::Jsonc => json::remove(text, self == Self::Jsonc, path),
            Self::Toml => toml::remove(text, path),
            Self::Yaml => yaml::remove(text, path),
        })
    }

    fn changed(
        self,
        text: &str,
        wanted: &Value,
        change: impl Fn(&str) -> Result<String, Fault>,
    ) -> Result<String, Fault> {
        let (mark, body) = match text.strip_prefix(BYTE_ORDER_MARK) {
            Some(body) => (&text[..BYTE_ORDER_MARK.len_utf8()], body),
            None => ("", text),
        };
        let body = match self {
            Self::Json | Self::Jsonc if body.trim().is_empty() => "{}\n",
            _ => body,
        };
        let changed = format!("{mark}{}", change(body)?);
        if self.read(&changed).is_ok_and(|value| same(&value, wanted)) { Ok(changed) } else { Err(Fault::layout()) }
    }
}

/// Whether two files mean the same. TOML and YAML have tables that are empty or not there at all.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Object(left), Value::Object(right)) => {
            let missing = |value: &Value| value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
            let covers = |one: &serde_json::Map<String, Value>, other: &serde_json::Map<String, Value>| {
                one.iter().all(|(key, value)| match other.get(key) {
                    Some(other) => same(value, other) || missing(value) && missing(other),
                    None => missing(value),
                })
            };
            covers(left, right) && covers(right, left)
        }
        _ => left == right,
    }
}

fn put(value: &mut Value, path: &[&str], item: Value) {
    match path {
        [] => *value = item,
        [key, rest @ ..] => {
            if value.is_null() {
                *value = Value::Object(serde_json::Map::new());
            }
            // Anything else that is no table is refused by the editor of the format, which can name the place.
            if let Some(table) = value.as_object_mut() {
                put(table.entry(*key).or_insert(Value::Null), rest, item);
            }
        }
    }
}

fn take(value: &mut Value, path: &[&str]) {
    match path {
        [] => {}
        [key] => drop(value.as_object_mut().and_then(|table| table.remove(*key))),
        [key, rest @ ..] => {
            if let Some(inner) = value.get_mut(*key) {
                take(inner, rest);
            }
        }
    }
}

#[cfg(test)]
mod tests;
