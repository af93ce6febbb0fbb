//! `testudo call`: one call on a new server in this process.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::output::print;
use crate::server::{Asker, Call, Server, Stop};
use crate::tools::TOOLS;
use crate::transport::signals::Signals;

pub async fn run(server: Arc<Server>, tool: String, words: &[String]) -> anyhow::Result<ExitCode> {
    refuse_hidden(&server, &tool)?;
    if server.config().draft {
        let found = server.self_test().await;
        super::refuse_weak_draft(&server, &found)?;
    }
    server.record_start();
    let arguments = arguments(&tool, words)?;
    let cancel = CancellationToken::new();
    let interrupted = cancel.clone();
    let mut signals = Signals::listen().context("failed to listen for signals")?;
    tokio::spawn(async move {
        signals.next().await;
        interrupted.cancel();
    });
    let result = server
        .call(Call { client: server.clients().local(), tool, arguments, cancel, progress: None, asker: Asker::Nobody })
        .await;
    server.shut_down().await;
    let (text, code) = match result? {
        Ok(output) => {
            let (image, texts) = output.into_blocks();
            let image = image.map(|image| format!("[{}, {} bytes]", image.mime, image.data.len()));
            (image.into_iter().chain(texts).collect::<Vec<_>>().join("\n"), ExitCode::SUCCESS)
        }
        Err(Stop::Error(error)) => (format!("ERR {error}"), ExitCode::FAILURE),
        // The gate refuses where nobody can be asked, as here.
        Err(Stop::Ask(question)) => (format!("ERR {}", question.form.message), ExitCode::FAILURE),
    };
    print(&text)?;
    Ok(code)
}

/// Explains why a tool that exists is not offered. A name that no tool has is left to the server.
fn refuse_hidden(server: &Server, tool: &str) -> anyhow::Result<()> {
    let Some(entry) = TOOLS.iter().find(|entry| entry.name == tool) else { return Ok(()) };
    if server.tools().iter().any(|offered| offered.name == tool) {
        return Ok(());
    }
    if server.config().tools.disables(tool) {
        bail!("the tool {tool:?} is disabled by --disable-tools");
    }
    let toolsets: Vec<&str> = entry.toolsets.iter().map(|toolset| toolset.name()).collect();
    bail!("the tool {tool:?} belongs to the toolset {}; add --toolset {}", toolsets.join(" and "), toolsets[0])
}

/// The arguments of the tool: one JSON object, or `key=value` pairs.
fn arguments(tool: &str, words: &[String]) -> anyhow::Result<Map<String, Value>> {
    let is_object = |word: &String| word.trim_start().starts_with('{');
    match words {
        [only] if is_object(only) => {
            serde_json::from_str(only).context("failed to parse the arguments as a JSON object")
        }
        several if several.iter().any(is_object) => bail!(
            "give either one JSON object or key=value pairs, not both; put every argument into the object, or write them \
             all as key=value"
        ),
        pairs => pairs.iter().map(|word| pair(tool, word)).collect(),
    }
}

/// The tool's schema decides how a value is read: where it wants a string, `5` stays a string.
fn pair(tool: &str, word: &str) -> anyhow::Result<(String, Value)> {
    let Some((key, value)) = word.split_once('=') else {
        bail!("{word:?} is neither key=value nor a JSON object; for example: testudo call bash command='echo hello'");
    };
    let schema = TOOLS.iter().find(|entry| entry.name == tool).map(|entry| (entry.schema)());
    let property = schema.and_then(|schema| schema.get("properties")?.get(key));
    let wants_text = property.and_then(|property| property.get("type")) == Some(&Value::from("string"));
    let text = Value::from(value);
    let read = if wants_text { text } else { serde_json::from_str(value).unwrap_or(text) };
    Ok((key.to_owned(), read))
}
