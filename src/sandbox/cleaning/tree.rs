//! JSON and TOML: values with names, in any depth. Names of credentials are left out. Comments go with them, because they
//! may repeat a credential.

use super::names::{is_credential, is_credential_name};
use super::text;

/// `None` if it is not JSON. Unchanged if there is nothing to leave out.
pub fn json(content: &str) -> Option<String> {
    let mut value: serde_json::Value = serde_json::from_str(content).ok()?;
    let found = clean_json(&mut value);
    if !found {
        return Some(content.to_owned());
    }
    serde_json::to_string_pretty(&value).ok().map(|text| text + "\n")
}

fn clean_json(value: &mut serde_json::Value) -> bool {
    use serde_json::Value;
    match value {
        Value::Object(members) => {
            let before = members.len();
            // A container such as docker's `auths` stays, with what is in it cleaned: it names the registries.
            members.retain(|name, value| match value {
                Value::String(text) => !is_credential(name, text),
                Value::Object(_) => !is_credential_name(name),
                Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) => true,
            });
            let inner = members.values_mut().map(clean_json).filter(|found| *found).count();
            members.len() != before || inner > 0
        }
        Value::Array(items) => items.iter_mut().map(clean_json).filter(|found| *found).count() > 0,
        Value::String(text) => clean_string(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// `None` if it is not TOML. Unchanged if there is nothing to leave out.
pub fn toml(content: &str) -> Option<String> {
    let mut table: toml::Table = content.parse().ok()?;
    let found = clean_table(&mut table) || content.lines().any(is_credential_in_comment);
    if !found {
        return Some(content.to_owned());
    }
    toml::to_string(&table).ok()
}

fn clean_table(table: &mut toml::Table) -> bool {
    let before = table.len();
    table.retain(|name, value| match value {
        toml::Value::String(text) => !is_credential(name, text),
        toml::Value::Table(_) | toml::Value::Array(_) => !is_credential_name(name),
        _ => true,
    });
    let inner = table.iter_mut().map(|(_, value)| clean_toml(value)).filter(|found| *found).count();
    table.len() != before || inner > 0
}

fn clean_toml(value: &mut toml::Value) -> bool {
    match value {
        toml::Value::Table(table) => clean_table(table),
        toml::Value::Array(items) => items.iter_mut().map(clean_toml).filter(|found| *found).count() > 0,
        toml::Value::String(text) => clean_string(text),
        _ => false,
    }
}

fn clean_string(text: &mut String) -> bool {
    let cleaned = text::clean(text);
    let found = cleaned != *text;
    *text = cleaned;
    found
}

fn is_credential_in_comment(line: &str) -> bool {
    let comment = line.trim_start().strip_prefix('#').and_then(|comment| comment.split_once('='));
    comment.is_some_and(|(name, value)| is_credential(name.trim(), value))
}
