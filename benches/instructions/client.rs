//! One conversation with a server that runs under callgrind.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use crate::instructions;

/// Starts the server, lists its tools, calls one of them so many times, and returns the instructions of it all. valgrind
/// cannot start commands in the sandbox, so they are left out and the sandbox is off.
pub fn converse(mut server: Command, scratch: &Path, tool: &str, calls: u64) -> anyhow::Result<u64> {
    let project = scratch.join("project");
    std::fs::create_dir_all(&project)?;
    std::fs::write(project.join("file"), "a line of the file\n".repeat(200) + "needle\n")?;
    for name in ["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
        server.env(name, scratch);
    }
    let server = server.args(["--sandbox", "off", "--log-level", "error"]).current_dir(&project);
    let mut child = server.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.as_mut().map_err(|error| anyhow::anyhow!("failed to start valgrind: {error}"))?;
    let mut input = child.stdin.take().context("no stdin")?;
    let mut output = BufReader::new(child.stdout.take().context("no stdout")?);
    let client = json!({ "name": "bench", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    let requests = [("initialize", hello), ("tools/list", json!({}))].into_iter();
    let calls = (0..calls).map(|count| ("tools/call", json!({ "name": tool, "arguments": arguments(tool, count) })));
    for (id, (method, params)) in requests.chain(calls).enumerate() {
        writeln!(input, "{}", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let answer = answer(&mut output, id)?;
        ensure!(answer.get("result").is_some(), "{method} failed: {answer}");
        if method == "initialize" {
            writeln!(input, "{}", json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        }
    }
    drop(input);
    let mut report = String::new();
    child.stderr.take().context("no stderr")?.read_to_string(&mut report)?;
    ensure!(child.wait()?.success(), "the server failed:\n{report}");
    instructions(&report)
}

/// An unknown task is answered at once: such a call costs nothing but itself.
fn arguments(tool: &str, count: u64) -> Value {
    let (old, new) = if count.is_multiple_of(2) { ("needle", "NEEDLE") } else { ("NEEDLE", "needle") };
    match tool {
        "str_replace" => json!({ "path": "file", "old_str": old, "new_str": new }),
        _ => json!({ "task_id": "t1" }),
    }
}

fn answer(output: &mut BufReader<ChildStdout>, id: usize) -> anyhow::Result<Value> {
    loop {
        let mut line = String::new();
        ensure!(output.read_line(&mut line)? > 0, "the server ended");
        let message: Value = serde_json::from_str(&line)?;
        if message["id"] == json!(id) && message.get("method").is_none() {
            return Ok(message);
        }
    }
}
