//! Many clients at once over HTTP, each with its own cwd, variables and task. No client may see the state of another,
//! and clients that do not read their answers must not slow down the others.

use std::net::TcpStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::json;

use super::row;
use crate::floor;
use crate::http_client::{HttpServer, HttpSession};
use crate::memory;
use crate::options::{Options, Subject};
use crate::samples::Samples;
use crate::table::{Figure, Row};

const SESSIONS: usize = 300;
const COMMANDS: usize = 20;
const NOT_READING: usize = 30;
const TEXT: &str = "export COUNT=$((COUNT + 1)); echo $OWN $COUNT $PWD";

struct Outcome {
    waits: Samples,
    seconds: f64,
    /// MiB per session: of the server alone, and in `all` of the server and its descendants.
    server: f64,
    all: f64,
}

pub fn measure(options: &Options, scratch: &Path) -> Vec<Row> {
    let ours = options.servers.iter().filter(|subject| subject.ours);
    ours.flat_map(|subject| rows(subject, once(subject, scratch, 0), once(subject, scratch, NOT_READING))).collect()
}

fn rows(subject: &Subject, alone: anyhow::Result<Outcome>, beside: anyhow::Result<Outcome>) -> Vec<Row> {
    let name = |what: &str| format!("{SESSIONS} HTTP sessions × {COMMANDS} commands: {what}");
    let alone = match alone {
        Ok(outcome) => outcome,
        Err(error) => return vec![row(subject, &name("no mix-ups"), Err(error), None)],
    };
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let [sessions, calls] = [SESSIONS as f64, (SESSIONS * COMMANDS) as f64];
    let bare = floor::parallel_bash(&format!("{TEXT} >/dev/null"), SESSIONS).expect("bash runs");
    let figures = [
        ("median wait", Figure::alone(alone.waits.median(), "ms")),
        ("95 % wait less than", Figure::alone(alone.waits.percentile(95), "ms")),
        ("99 % wait less than", Figure::alone(alone.waits.percentile(99), "ms")),
        ("throughput / bash -c at once", Figure::over(calls / alone.seconds, sessions / bare.as_secs_f64(), "/s")),
        ("server memory each", Figure::alone(alone.server, "MiB")),
        ("all memory each", Figure::alone(alone.all, "MiB")),
    ];
    let beside = beside.map(|beside| Figure::over(beside.waits.median(), alone.waits.median(), "ms"));
    let mut rows: Vec<Row> =
        figures.into_iter().map(|(what, figure)| row(subject, &name(what), Ok(figure), None)).collect();
    rows.push(row(subject, &name(&format!("median beside {NOT_READING} that do not read")), beside, None));
    rows
}

fn once(subject: &Subject, scratch: &Path, not_reading: usize) -> anyhow::Result<Outcome> {
    let server = HttpServer::start(subject, scratch)?;
    let before = memory::resident(server.pid())?;
    let _ignoring = (0..not_reading).map(|_| ignore(&server)).collect::<anyhow::Result<Vec<TcpStream>>>()?;
    let begun = Instant::now();
    let results: Vec<anyhow::Result<Vec<Duration>>> = thread::scope(|scope| {
        let session = |number: usize| {
            let (address, scratch) = (server.address.as_str(), scratch);
            let small = thread::Builder::new().stack_size(256 * 1024);
            small.spawn_scoped(scope, move || converse(address, scratch, number)).expect("a thread starts")
        };
        let running: Vec<_> = (0..SESSIONS).map(session).collect();
        running.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let seconds = begun.elapsed().as_secs_f64();
    let mut waits = Samples::default();
    for result in results {
        result?.into_iter().for_each(|wait| waits.add(wait));
    }
    #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
    let each = |total: f64| total / (SESSIONS + not_reading) as f64;
    let tree = memory::descendants(server.pid()).into_iter().filter_map(|pid| memory::proportional(pid).ok());
    let server_memory = memory::resident(server.pid())? - before;
    Ok(Outcome { waits, seconds, server: each(server_memory), all: each(server_memory + tree.sum::<f64>()) })
}

/// Opens a session that asks for the progress of many long lines and never reads it, so its connection stays full.
fn ignore(server: &HttpServer) -> anyhow::Result<TcpStream> {
    let line = "head -c 4000 /dev/zero | tr '\\0' y; echo";
    HttpSession::open(&server.address)?.ignore(&format!("for i in $(seq 1000); do {line}; sleep 0.06; done"))
}

/// All calls of one client. Fails if an answer shows the state of another client.
fn converse(address: &str, scratch: &Path, number: usize) -> anyhow::Result<Vec<Duration>> {
    let mut session = HttpSession::open(address).with_context(|| format!("session {number}"))?;
    let home = scratch.join(format!("session-{number}"));
    std::fs::create_dir_all(&home)?;
    session.call("bash", &json!({"command": format!("cd {}; export OWN={number} COUNT=0", home.display())}))?;
    let task = json!({"command": format!("echo task {number}; sleep 600"), "run_in_background": true});
    ensure!(session.call("bash", &task)?.starts_with("task_id: t1\n"), "session {number} has another's task");
    let mut waits = Vec::new();
    for count in 1..=COMMANDS {
        let sent = Instant::now();
        let text = session.call("bash", &json!({"command": TEXT}))?;
        waits.push(sent.elapsed());
        let expected = format!("exit_code: 0\n\nstdout:\n{number} {count} {}\n", home.display());
        ensure!(text == expected, "mixed up: session {number} expected {expected:?} and got {text:?}");
    }
    let output = session.call("task_output", &json!({"task_id": "t1"}))?;
    ensure!(output.contains(&format!("task {number}\n")), "mixed up: session {number} read {output:?}");
    Ok(waits)
}
