//! `testudo call`: one call against a fresh server in this process.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::server::Stop;
use crate::server::{Asker, Call, Server};

pub async fn run(server: Arc<Server>, tool: String, words: &[String]) -> anyhow::Result<ExitCode> {
    let cancel = CancellationToken::new();
    let interrupted = cancel.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            interrupted.cancel();
        }
    });
    let arguments = arguments(&tool, words)?;
    let result = server
        .call(Call { client: server.clients().local(), tool, arguments, cancel, progress: None, asker: Asker::Nobody })
        .await;
    server.shut_down().await;
    Ok(match result? {
        Ok(output) => {
            let (image, texts) = output.into_blocks();
            if let Some(image) = image {
                print(&format!("[{}, {} bytes]", image.mime, image.data.len()));
            }
            texts.iter().for_each(|text| print(text));
            ExitCode::SUCCESS
        }
        Err(Stop::Error(error)) => {
            print(&format!("ERR {error}"));
            ExitCode::FAILURE
        }
        // Nobody can be asked here, so the gate refuses instead.
        Err(Stop::Ask(question)) => {
            print(&format!("ERR {}", question.message));
            ExitCode::FAILURE
        }
    })
}

#[expect(clippy::print_stdout, reason = "the result is what was asked for")]
fn print(text: &str) {
    if text.ends_with('\n') { print!("{text}") } else { println!("{text}") }
}

/// One JSON object, or pairs whose values are read by what the tool wants: a string stays a string, whatever it looks
/// like.
fn arguments(tool: &str, words: &[String]) -> anyhow::Result<Map<String, Value>> {
    if let [only] = words
        && only.trim_start().starts_with('{')
    {
        return serde_json::from_str(only).context("failed to parse the arguments as a JSON object");
    }
    let schema = crate::tools::TOOLS.iter().find(|entry| entry.name == tool).map(|entry| (entry.schema)());
    let wants_text = |key: &str| {
        let property = schema.as_ref().and_then(|schema| schema.get("properties")?.get(key));
        property.and_then(|property| property.get("type")) == Some(&Value::from("string"))
    };
    let mut map = Map::new();
    for word in words {
        let Some((key, value)) = word.split_once('=') else {
            bail!(
                "{word:?} is neither key=value nor a JSON object; for example: testudo call bash command='echo hello'"
            );
        };
        let text = Value::from(value);
        let read = if wants_text(key) { text } else { serde_json::from_str(value).unwrap_or(text) };
        map.insert(key.to_owned(), read);
    }
    Ok(map)
}
