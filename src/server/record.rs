//! What a call leaves in the audit log.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::{Call, Server, Stop, ToolOutput};
use crate::audit::{Event, Log, Who};

/// One call in the audit log.
#[derive(Clone, Debug)]
pub struct CallRecord {
    log: Arc<Log>,
    who: Arc<Who>,
    begun: Instant,
}

/// Arguments that hold content. The log has their sizes only: they may be passwords.
const CONTENT: [&str; 7] = ["content", "file_text", "old_str", "new_str", "stdin", "text", "keys"];
/// An error may quote what it is about, so only its beginning is kept.
const LONGEST_ERROR: usize = 300;

impl CallRecord {
    pub fn new(log: &Arc<Log>, call: &Call, tool: &'static str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let session = call.arguments.get("session").and_then(Value::as_str).filter(|name| !name.is_empty());
        let who = Who {
            call: NEXT.fetch_add(1, Ordering::Relaxed),
            connection: call.client.number(),
            principal: call.client.principal().to_owned(),
            client: call.client.name(),
            session: session.unwrap_or("default").to_owned(),
            tool,
        };
        Self { log: log.clone(), who: Arc::new(who), begun: Instant::now() }
    }

    pub fn who(&self) -> &Arc<Who> {
        &self.who
    }

    /// Whether somebody sees what happens while it happens.
    pub fn is_watched(&self) -> bool {
        self.log.is_watched()
    }

    pub fn add(&self, event: Event) {
        self.log.record(Some(self.who.clone()), event);
    }

    /// The error says why the call must not happen: it could not be written down.
    pub async fn begin(&self, arguments: &Map<String, Value>) -> Result<(), String> {
        let arguments = arguments.iter().map(|(name, value)| (name.clone(), shown(name, value))).collect();
        self.log.record_first(Some(self.who.clone()), Event::Call { arguments }).await
    }

    pub fn end(&self, result: &Result<ToolOutput, Stop>) {
        let (bytes, error) = match result {
            Ok(output) => (output.size(), None),
            Err(Stop::Error(error)) => (error.to_string().len(), Some(error.first_line(LONGEST_ERROR))),
            Err(Stop::Ask(_)) => (0, Some("the client has to ask its person first".to_owned())),
        };
        if let Some(what) = error.as_ref().filter(|error| error.contains("access denied: ")) {
            self.add(Event::Denied { what: what.clone() });
        }
        let milliseconds = milliseconds(self.begun);
        self.add(Event::Result { milliseconds, bytes, error });
    }
}

pub fn milliseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn shown(name: &str, value: &Value) -> Value {
    if CONTENT.contains(&name) {
        let bytes = value.as_str().map_or_else(|| value.to_string().len(), str::len);
        return json!({ "bytes": bytes });
    }
    value.clone()
}

/// The configuration that a server starts with, as far as it decides what agents may do.
pub fn configuration(server: &Server) -> Value {
    let (config, gate) = (server.config(), server.gate());
    let level = server.enforcement().map(|found| found.level.to_string());
    // Paths need not be text, and JSON is.
    let text = |path: &Path| path.display().to_string();
    json!({
        "file": config.file.as_deref().map(text),
        "transport": format!("{:?}", config.transport).to_ascii_lowercase(),
        "project": text(&config.directories.project_dir()),
        "directories": server.workplace(&[]).directories.iter().map(|path| text(path)).collect::<Vec<_>>(),
        "tools": server.tools().iter().map(|entry| entry.name).collect::<Vec<_>>(),
        "sandbox": config.sandbox.mode.to_string(),
        "level": level,
        "policy": gate.policy().lines(),
    })
}
