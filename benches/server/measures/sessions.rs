//! Many clients at once over HTTP, each with its own cwd, variables and task. No client may see the state of another,
//! and clients that do not read their answers must not slow down the others.

use std::net::TcpStream;
use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::json;

use super::row;
use crate::floor;
use crate::http_client::{HttpServer, HttpSession};
use crate::machine;
use crate::memory;
use crate::options::Options;
use crate::samples::Samples;
use crate::subject::Subject;
use crate::table::{Figure, Row, Target};

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
    options
        .testudos()
        .into_iter()
        .flat_map(|subject| {
            machine::at_ordinary_priority(|| {
                rows(subject, once(subject, scratch, COMMANDS, 0), once(subject, scratch, COMMANDS / 4, NOT_READING))
            })
        })
        .collect()
}

fn rows(subject: &Subject, alone: anyhow::Result<Outcome>, beside: anyhow::Result<Outcome>) -> Vec<Row> {
    let name = |what: &str| format!("{SESSIONS} HTTP sessions × {COMMANDS} commands: {what}");
    let alone = match alone {
        Ok(outcome) => outcome,
        Err(error) => return vec![row(subject, &name("no mix-ups"), Err(error), None)],
    };
    #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
    let calls = (SESSIONS * COMMANDS) as f64;
    // The rate of fewer is the rate of all, and the benchmark is done sooner.
    let bare = floor::shells_per_second("true", SESSIONS * COMMANDS / 4).expect("bash runs");
    let figures = [
        ("median wait", Figure::alone(alone.waits.median(), "ms").with_p95(alone.waits.p95()), None),
        ("99 % wait less than", Figure::alone(alone.waits.percentile(99), "ms"), None),
        (
            "throughput / bash -c true on all cores",
            Figure::over(calls / alone.seconds, bare, "/s"),
            Some(Target::RatioAtLeast(0.8)),
        ),
        ("server memory each", Figure::alone(alone.server, "MiB"), Some(Target::ValueAtMost(0.3))),
        ("all memory each", Figure::alone(alone.all, "MiB"), None),
    ];
    let beside = beside.map(|beside| Figure::over(beside.waits.median(), alone.waits.median(), "ms"));
    let mut rows: Vec<Row> =
        figures.into_iter().map(|(what, figure, target)| row(subject, &name(what), Ok(figure), target)).collect();
    rows.push(row(subject, &name(&format!("median beside {NOT_READING} that do not read")), beside, None));
    rows
}

fn once(subject: &Subject, scratch: &Path, commands: usize, not_reading: usize) -> anyhow::Result<Outcome> {
    let server = HttpServer::start(subject, scratch)?;
    let before = memory::resident(server.pid())?;
    let _ignoring = (0..not_reading).map(|_| ignore(&server)).collect::<anyhow::Result<Vec<TcpStream>>>()?;
    // Everybody is ready before the first call that counts.
    let ready = Barrier::new(SESSIONS + 1);
    let mut begun = Instant::now();
    let results: Vec<anyhow::Result<Vec<Duration>>> = thread::scope(|scope| {
        let session = |number: usize| {
            let (address, ready) = (server.address.as_str(), &ready);
            let small = thread::Builder::new().stack_size(256 * 1024);
            small
                .spawn_scoped(scope, move || converse(address, scratch, number, commands, ready))
                .expect("a thread starts")
        };
        let running: Vec<_> = (0..SESSIONS).map(session).collect();
        ready.wait();
        begun = Instant::now();
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

/// Opens a session that asks for the progress of many long lines and never reads it, so its connection stays full. The
/// command starts no program: what it costs must not count.
fn ignore(server: &HttpServer) -> anyhow::Result<TcpStream> {
    let pause = "read -t 0.06 -u $silent";
    let text = format!("exec {{silent}}<> <(:); printf -v line %4000s; while :; do echo \"$line\"; {pause}; done");
    HttpSession::open(&server.address)?.ignore(&text)
}

/// All calls of one client. Fails if an answer shows the state of another client.
fn converse(
    address: &str,
    scratch: &Path,
    number: usize,
    commands: usize,
    ready: &Barrier,
) -> anyhow::Result<Vec<Duration>> {
    let home = scratch.join(format!("session-{number}"));
    let prepared = prepare(address, &home, number);
    ready.wait();
    let mut session = prepared.with_context(|| format!("session {number}"))?;
    let mut waits = Vec::new();
    for count in 1..=commands {
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

/// A session with a directory, a variable and a task of its own.
fn prepare(address: &str, home: &Path, number: usize) -> anyhow::Result<HttpSession> {
    let mut session = HttpSession::open(address)?;
    std::fs::create_dir_all(home)?;
    session.call("bash", &json!({"command": format!("cd {}; export OWN={number} COUNT=0", home.display())}))?;
    let task = json!({"command": format!("echo task {number}; sleep 600"), "run_in_background": true});
    ensure!(session.call("bash", &task)?.starts_with("task_id: t1\n"), "session {number} has another's task");
    Ok(session)
}
