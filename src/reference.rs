//! The reference pages of `docs/`. They are generated from the tables that the program itself uses, so they cannot be out
//! of date.

use serde_json::Value;

use crate::config::options::SETTINGS;
use crate::config::{DEFAULTS, EFFECTS, Effect, OptionKind};
use crate::tools::TOOLS;

/// `docs/tools.md`.
pub fn tools() -> String {
    let mut page = "# Tools\n\nGenerated from the code: what a client sees in `tools/list`.\n".to_owned();
    for entry in TOOLS {
        let toolsets: Vec<&str> = entry.toolsets.iter().map(|toolset| toolset.name()).collect();
        page.push_str(&format!("\n## `{}`\n\n{}\n\n", entry.name, entry.description));
        page.push_str(&format!("Toolsets: {}.\n\n| argument | type | |\n|---|---|---|\n", toolsets.join(", ")));
        let schema = (entry.schema)();
        let required =
            |name: &str| schema.get("required").and_then(Value::as_array).is_some_and(|all| all.contains(&name.into()));
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let kind = property.get("type").and_then(Value::as_str).unwrap_or("string");
            let choices = property.get("enum").and_then(Value::as_array).map(|values| {
                let names: Vec<String> =
                    values.iter().filter_map(Value::as_str).map(|value| format!("`{value}`")).collect();
                format!(" ({})", names.join(", "))
            });
            let text = property.get("description").and_then(Value::as_str).unwrap_or_default().replace('\n', " ");
            let must = if required(name) { ", required" } else { "" };
            page.push_str(&format!("| `{name}` | {kind}{}{must} | {text} |\n", choices.unwrap_or_default()));
        }
    }
    page
}

const CHANGES: &str = "\n## Changes while the server runs\n\nA server looks at its configuration file at every call, and at \
    SIGHUP. A file that was changed is read and checked as a whole. If something in it is wrong, nothing of it counts: the \
    server goes on with the configuration it has, and says why on stderr, in the audit log and in `testudo ps`; \
    `testudo doctor` says what is wrong with the file. A file that is removed changes nothing; an empty one returns to the \
    defaults. Flags and environment keep winning over the file. A file that lies in the scope of a session is not read \
    again, because an agent could have changed it. With the sandbox off, commands can change every file of the person, this \
    one included. A server that was started in a terminal ends with it; under `nohup` it ignores SIGHUP.\n\n\
    | takes effect | settings |\n|---|---|\n";

/// `docs/configuration.md`.
pub fn configuration() -> String {
    let mut page = "# Configuration\n\nGenerated from the code. Flags win over the environment, the environment over the file, \
        the file over the defaults.\n\n## Flags and variables\n\n| flag | variable | key in the file | |\n|---|---|---|---|\n"
        .to_owned();
    for setting in SETTINGS {
        let value = match setting.kind {
            OptionKind::Switch => String::new(),
            _ => format!(" {}", setting.value.replace('|', "\\|")),
        };
        let variable = if setting.variable.is_empty() { "–".to_owned() } else { format!("`{}`", setting.variable) };
        page.push_str(&format!(
            "| `--{}{value}` | {variable} | `{}` | {} |\n",
            setting.flag, setting.key, setting.help
        ));
    }
    page.push_str("| `--config FILE` | `TESTUDO_CONFIG` | – | Read settings from this file |\n");
    page.push_str(CHANGES);
    for (when, effect) in [("at the next call", Effect::NextCall), ("at the next start", Effect::NextStart)] {
        let keys = EFFECTS.iter().filter(|(_, other)| *other == effect);
        let keys: Vec<String> = keys.map(|(key, _)| format!("`{}`", key.trim_end_matches('.'))).collect();
        page.push_str(&format!("| {when} | {} |\n", keys.join(", ")));
    }
    page.push_str("| in sessions that begin afterwards | everything else: directories, `sandbox`, `env`, … |\n");
    page.push_str(&format!("\n## The file\n\n```toml\n{DEFAULTS}```\n"));
    page
}
