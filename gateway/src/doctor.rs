//! `testudo-gateway doctor`: makes the place, runs a command in it, and says what was found. Exits 1 if work is not possible.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Value, json};

use crate::arguments::DoctorOptions;
use crate::key::random_id;
use crate::launch;
use crate::link::{Headers, Link};
use crate::message::Envelope;
use crate::places::{Kind, Order, Program};

pub async fn run(options: &DoctorOptions) -> anyhow::Result<ExitCode> {
    let one = &options.one;
    let mut fine = true;
    if !matches!(one.place, Some(Kind::Url(_)) | None) {
        let program = Program::find(one.testudo.as_deref())?;
        let is_static = program.is_static()?;
        say("program", &format!("{}{}", program.path.display(), if is_static { "" } else { " (not static)" }));
        if !is_static {
            say("", "In an image or on a host without the same libraries it does not start. Take the release.");
        }
    }
    let launcher = launch::one(one)?;
    say("place", &launcher.name());
    let begin = Instant::now();
    let id = launcher.make(&Order { owner: "me".to_owned(), slot: random_id()? }).await?;
    say("made in", &format!("{} ms", begin.elapsed().as_millis()));
    let link = Link::new(launcher, id, Duration::from_secs(one.patience));
    if let Err(reason) = look(&link).await {
        say("fault", &reason);
        fine = false;
    }
    link.launcher.destroy(&link.id).await?;
    say("result", if fine { "an agent can work there" } else { "an agent cannot work there as it is" });
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn look(link: &Arc<Link>) -> Result<(), String> {
    let welcome = ask(link, "server/discover", json!({})).await?;
    let instructions = welcome["instructions"].as_str().unwrap_or_default();
    for line in
        instructions.lines().filter(|line| ["Project", "Scope", "Sandbox"].iter().any(|word| line.starts_with(word)))
    {
        say("inside", line);
    }
    let begin = Instant::now();
    let result = ask(link, "tools/call", json!({"name": "bash", "arguments": {"command": "uname -srm"}})).await?;
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    if result["isError"] == json!(true) {
        return Err(text.to_owned());
    }
    say("command", &format!("uname -srm answered {:?} in {} ms", text.trim(), begin.elapsed().as_millis()));
    Ok(())
}

async fn ask(link: &Arc<Link>, method: &str, mut params: Value) -> Result<Value, String> {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "testudo-gateway doctor", "version": env!("CARGO_PKG_VERSION")},
    });
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let message = Bytes::from(message);
    let envelope = Envelope::of(&message).ok_or("not a message")?;
    let mut headers = Headers::default();
    headers.set("mcp-protocol-version", "2026-07-28");
    headers.set_from(&envelope);
    let mut exchange = link.exchange(message, envelope, headers);
    let in_words = |answer: Vec<u8>| String::from_utf8_lossy(&answer).into_owned();
    exchange.begin().await.map_err(in_words)?;
    let mut last = Value::Null;
    while let Some(event) = exchange.next().await {
        last = serde_json::from_slice(&event.data()).unwrap_or(last);
    }
    match last.get("result") {
        Some(result) => Ok(result.clone()),
        None => Err(last.to_string()),
    }
}

#[expect(clippy::print_stdout, reason = "this is what the person asked for")]
fn say(what: &str, text: &str) {
    println!("{what:>8}  {text}");
}
