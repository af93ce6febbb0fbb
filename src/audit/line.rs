use std::sync::Arc;
use std::time::SystemTime;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::Value;

use super::redact::Redactor;
use super::{Event, Who};
use crate::base::invisible::{is_control, is_invisible};

/// One event before it is written.
#[derive(Clone, Debug)]
pub struct Entry {
    pub at: SystemTime,
    pub who: Option<Arc<Who>>,
    pub event: Event,
}

impl Entry {
    pub fn now(who: Option<Arc<Who>>, event: Event) -> Self {
        Self { at: SystemTime::now(), who, event }
    }

    /// About how many bytes it keeps in memory.
    pub fn weight(&self) -> usize {
        let text = match &self.event {
            Event::Call { arguments } => arguments.values().map(|value| value.as_str().map_or(16, str::len)).sum(),
            Event::Verdict { action, reason, .. } => action.len() + reason.len(),
            Event::Question { action, .. } => action.len(),
            Event::ProcessStart { command, .. } => command.len(),
            _ => 0,
        };
        text + 512
    }

    /// The members of its JSON object, without the braces. Secrets are gone and nothing in it is invisible.
    pub fn members(&self, server: &str, redactor: &Redactor) -> String {
        let time = DateTime::<Utc>::from(self.at).to_rfc3339_opts(SecondsFormat::Millis, true);
        let mut text = format!("\"time\":\"{time}\",\"server\":\"{server}\"");
        let who = self.who.as_ref().map(|who| serde_json::to_value(&**who));
        let parts = who.into_iter().chain([serde_json::to_value(&self.event)]);
        for (name, mut value) in parts.flatten().flat_map(|part| match part {
            Value::Object(members) => members,
            _ => serde_json::Map::new(),
        }) {
            redact(&mut value, redactor);
            text.push_str(&format!(",{}:{value}", Value::from(name)));
        }
        without_invisible(text)
    }
}

fn redact(value: &mut Value, redactor: &Redactor) {
    match value {
        Value::String(text) => {
            if let Some(redacted) = redactor.redacted(text) {
                *text = redacted;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redact(item, redactor)),
        Value::Object(members) => members.values_mut().for_each(|member| redact(member, redactor)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// JSON escapes the control characters of ASCII only. A terminal acts on others too.
fn without_invisible(text: String) -> String {
    let hidden = |c: char| is_control(c) || is_invisible(c);
    if !text.chars().any(hidden) {
        return text;
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hidden(c) {
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().for_each(|unit| escaped.push_str(&format!("\\u{unit:04x}")));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_ascii_safe_json_that_says_what_happened() {
        let who = Who {
            call: 3,
            connection: 1,
            principal: "local".to_owned(),
            client: None,
            session: "default".to_owned(),
            tool: "bash".into(),
        };
        let what = "a\u{1b}[2K\n\u{202e}b\u{9b}\u{e0041}".to_owned();
        let entry =
            Entry { at: SystemTime::UNIX_EPOCH, who: Some(Arc::new(who)), event: Event::Denied { what: what.clone() } };
        let members = entry.members("7-x", &Redactor::new(Vec::new()));
        assert!(
            members.starts_with("\"time\":\"1970-01-01T00:00:00.000Z\",\"server\":\"7-x\",\"call\":3,"),
            "{members}"
        );
        assert!(!members.contains(|c: char| c.is_control() || is_invisible(c)), "{members}");
        let value: Value = serde_json::from_str(&format!("{{{members}}}")).unwrap();
        assert_eq!((value["event"].as_str(), value["what"].as_str()), (Some("denied"), Some(what.as_str())));
    }
}
