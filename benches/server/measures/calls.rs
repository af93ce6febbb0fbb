//! Ten thousand calls of every kind in one session: the server's memory stays as it is. What one turn leaves behind (a file, an
//! output on disk) replaces what the turn before it left, as far as a session can replace it.

use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};

use super::row;
use crate::driver::Connection;
use crate::memory;
use crate::options::Options;
use crate::subject::Subject;
use crate::table::{Figure, Row, Target};

const CALLS: usize = 10_000;
/// After so many, caches and threads are what they will be.
const WARM: usize = 1_000;

pub fn measure(options: &Options, scratch: &Path) -> Vec<Row> {
    let name = format!("{CALLS} calls of every kind, memory growth after the first {WARM}");
    let ours = options.testudos().into_iter();
    ours.map(|subject| row(subject, &name, growth(subject, scratch), Some(Target::ValueAtMost(1.0)))).collect()
}

fn growth(subject: &Subject, scratch: &Path) -> anyhow::Result<Figure> {
    let project = scratch.join("calls");
    std::fs::create_dir_all(&project)?;
    std::fs::write(project.join("text"), "one needle\n".repeat(200))?;
    let mut connection = Connection::open(subject, &project)?;
    let (mut made, mut warm) = (0, None);
    while made < CALLS {
        made += turn(&mut connection)?;
        if made >= WARM {
            warm = warm.or(Some(memory::resident(connection.pid())?));
        }
    }
    let grown = memory::resident(connection.pid())? - warm.context("too few calls")?;
    Ok(Figure::alone(grown, "MiB"))
}

/// One call of each kind, and how many those are.
fn turn(connection: &mut Connection<'_>) -> anyhow::Result<usize> {
    let calls: [(&str, Value); 9] = [
        ("bash", json!({ "command": "true" })),
        ("bash", json!({ "command": "cd ..; cd calls; export N=$((N + 1)); seq 100; false" })),
        ("bash", json!({ "command": "cat", "stdin": "typed" })),
        ("create_file", json!({ "path": "made", "content": "a needle\n" })),
        ("str_replace", json!({ "path": "made", "old_str": "needle", "new_str": "pin" })),
        ("view", json!({ "path": "text", "view_range": [10, 20] })),
        ("grep", json!({ "pattern": "needle" })),
        ("find", json!({ "pattern": "*" })),
        ("find", json!({ "pattern": "not there" })),
    ];
    for (tool, arguments) in &calls {
        connection.result_of_tool(tool, arguments)?;
    }
    let refused = [
        ("view", json!({ "path": "not there" })),
        ("str_replace", json!({ "path": "text", "old_str": "neddle", "new_str": "" })),
        ("bash", json!({ "command": "if" })),
        ("no such tool", json!({})),
    ];
    for (tool, arguments) in &refused {
        // An unknown tool is an error of the protocol. The answer counts, not what it says.
        let _ = connection.result_of_tool(tool, arguments);
    }
    let task = connection.result_of_tool("bash", &json!({ "command": "sleep 600", "run_in_background": true }))?;
    let id = task["content"][0]["text"].as_str().and_then(|text| text.strip_prefix("task_id: ")?.split('\n').next());
    let id = json!({ "task_id": id.with_context(|| task.to_string())? });
    connection.result_of_tool("task_output", &id)?;
    connection.result_of_tool("task_stop", &id)?;
    // A task that nobody has read is kept for an hour.
    connection.result_of_tool("task_output", &id)?;
    Ok(calls.len() + refused.len() + 4)
}
