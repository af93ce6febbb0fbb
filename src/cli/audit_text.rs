//! How the events of the audit log read. Everything in an event may come from an agent, so nothing of it reaches the
//! terminal as it is.

use std::collections::HashMap;

use chrono::{DateTime, Local};
use serde_json::Value;

use crate::base::invisible::made_visible;

/// Tells one event after the other. It remembers what commands were started, for the time when they end.
#[derive(Default)]
pub struct Narrator {
    commands: HashMap<String, String>,
}

/// The most characters of a text that an event quotes.
const LONGEST: usize = 400;

impl Narrator {
    /// One line. `None` for an event that says nothing that other events do not say.
    pub fn text(&mut self, event: &Value) -> Option<String> {
        let what = self.what(event)?;
        let time = DateTime::parse_from_rfc3339(event["time"].as_str().unwrap_or_default());
        let time = time.map(|time| time.with_timezone(&Local).format("%F %T").to_string()).unwrap_or_default();
        let who = match (event["principal"].as_str(), event["session"].as_str()) {
            (Some(principal), Some(session)) => format!("{}/{}", row(principal), row(session)),
            _ => format!("server {}", row(event["server"].as_str().unwrap_or_default())),
        };
        Some(format!("{time}  {who}  {what}"))
    }

    /// What happened, without time and session.
    pub fn what(&mut self, event: &Value) -> Option<String> {
        let text = |name: &str| row(event[name].as_str().unwrap_or_default());
        let number = |name: &str| event[name].as_u64().unwrap_or_default();
        let command = format!("{} {}", event["server"], event["process"]);
        Some(match event["event"].as_str()? {
            "server_start" => {
                let set = |name: &str| row(event["configuration"][name].as_str().unwrap_or("unknown"));
                format!(
                    "starts: testudo {}, project {}, sandbox {}, level {}",
                    text("version"),
                    set("project"),
                    set("sandbox"),
                    set("level")
                )
            }
            "configuration_changed" => {
                let changed = event["changed"].as_array().into_iter().flatten().filter_map(Value::as_str);
                format!("has read its configuration again: {}", row(&changed.collect::<Vec<_>>().join(", ")))
            }
            "configuration_refused" => format!("refuses the changed configuration: {}", text("reason")),
            "draft" => {
                let (count, project) = (number("changes"), text("project"));
                format!("{} {count} changes of the draft of {project}, by {}", text("decision"), text("by"))
            }
            "server_end" => "ends".to_owned(),
            "call" => format!("{} {}", text("tool"), arguments(&event["arguments"])),
            "verdict" => {
                let rule = event["rule"].as_str().map(|rule| format!(" ({})", row(rule))).unwrap_or_default();
                match (text("verdict").as_str(), event["approved_before"] == true) {
                    ("allow", _) if rule.is_empty() => return None,
                    (_, true) => format!("approved before: {}", text("action")),
                    (verdict, false) => format!("{verdict}: {}: {}{rule}", text("action"), text("reason")),
                }
            }
            "question" => {
                let lines = event["action"].as_str().unwrap_or_default().lines();
                let about: Vec<&str> = lines.filter_map(|line| line.strip_prefix("│ ")).collect();
                format!("asks {}: {}", text("question"), row(&about.join("\n")))
            }
            "answer" => format!("answer to {}: {}, by {}", text("question"), text("decision"), text("by")),
            "refused" => text("reason"),
            "process_start" => {
                let shown = text("command");
                self.commands.insert(command, shown.clone());
                format!("$ {shown}    (in {})", text("cwd"))
            }
            "background" => format!("task {}: {}", text("task"), self.commands.get(&command)?),
            "digest" => return None,
            "typed" => format!("typed into by {}: {}", text("by"), self.commands.get(&command)?),
            "process_exit" => {
                let code = event["exit_code"].as_i64().map_or_else(|| "unknown".to_owned(), |code| code.to_string());
                let why = event["ended_by"].as_str().map(|why| format!(" ({})", row(why))).unwrap_or_default();
                let of = self.commands.remove(&command).unwrap_or_default();
                let bytes = number("stdout_bytes") + number("stderr_bytes");
                format!("exit {code}{why} after {}, {bytes} bytes: {of}", duration(number("milliseconds")))
            }
            "connection" => {
                let host = format!("{}:{}", text("host"), number("port"));
                let reason = event["reason"].as_str().map(|reason| format!(": {}", row(reason))).unwrap_or_default();
                if text("verdict") == "deny" {
                    format!("connection refused to {host}{reason}")
                } else {
                    let (sent, received) = (number("sent"), number("received"));
                    let time = duration(number("milliseconds"));
                    format!("connection to {host}, {sent} bytes sent, {received} received, {time}{reason}")
                }
            }
            "denied" => format!("denied: {}", text("what")),
            "result" => format!("{} error: {}", text("tool"), row(event["error"].as_str()?)),
            "lost" => format!("{} events could not be written here", number("events")),
            other => row(other),
        })
    }
}

/// `1.2 s`, `3 min 5 s`.
pub fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        0..60 => format!("{seconds}.{} s", milliseconds % 1000 / 100),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// The text in one row.
pub fn row(text: &str) -> String {
    let visible = made_visible(text).replace('\n', "⏎").replace('\t', " ");
    if visible.chars().count() <= LONGEST {
        return visible;
    }
    visible.chars().take(LONGEST - 1).chain(['…']).collect()
}

fn arguments(arguments: &Value) -> String {
    let Some(members) = arguments.as_object() else { return String::new() };
    let value = |value: &Value| match (value.as_str(), value["bytes"].as_u64()) {
        (Some(text), _) => row(text),
        (None, Some(bytes)) => format!("{bytes} bytes"),
        (None, None) => row(&value.to_string()),
    };
    let of = |name: &str| members.get(name).map(value);
    let first = of("command").or_else(|| of("path")).or_else(|| of("task_id"));
    let others = members.iter().filter(|(name, _)| !["command", "path", "task_id", "session"].contains(&name.as_str()));
    let others = others.map(|(name, member)| format!("{}={}", row(name), value(member)));
    first.into_iter().chain(others).collect::<Vec<_>>().join("  ")
}
