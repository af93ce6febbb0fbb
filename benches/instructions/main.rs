//! Counts the instructions of four things that every agent waits for, and fails if one has grown: a decision of the policy,
//! an edit, a call that does nothing, and a start. Times depend on what else the machine does; these counts hardly do, so
//! they can be checked on any machine.
//!
//! `cargo bench --profile dev --bench instructions` compares with `baseline.toml`; with `-- --bless` it writes the file anew.
//! It needs valgrind. What happens once in a process is subtracted: each thing is done a few times in one run and many times
//! in another, and the difference counts.
#![expect(clippy::print_stdout, reason = "the counts are the output of the benchmark")]

mod client;
#[path = "../policy/commands.rs"]
mod commands;
mod decisions;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};

/// How much a count may grow before it is a failure. A decision is always the same work. A server
/// also reads the machine's table of mounts and works beside the call: two runs of one binary differed by a sixth.
fn tolerance(name: &str) -> f64 {
    if name == "decision" { 0.05 } else { 0.3 }
}

const BASELINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/instructions/baseline.toml");
const BLESS: &str = "cargo bench --profile dev --bench instructions -- --bless";

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        // This program under valgrind.
        ["decide", programs, rounds] => decisions::run(Path::new(programs), rounds.parse()?),
        ["--bless"] => bless(&counts()?),
        [] => compare(&counts()?),
        _ => bail!("unknown arguments {words:?}; the only option is --bless"),
    }
}

type Counts = BTreeMap<String, u64>;

/// Instructions for one of each thing. All runs go on at the same time, each in a directory of its own.
fn counts() -> anyhow::Result<Counts> {
    let scratch = tempfile::tempdir()?;
    let server = without_debug_information(Path::new(env!("CARGO_BIN_EXE_testudo")), scratch.path());
    let ourselves = without_debug_information(&std::env::current_exe()?, scratch.path());
    let programs = decisions::programs(scratch.path())?;
    let decide = |rounds: u64| -> anyhow::Result<u64> {
        let output = under_callgrind(&ourselves).arg("decide").arg(&programs).arg(rounds.to_string()).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        instructions(&String::from_utf8_lossy(&output.stderr))
    };
    let converse = |tool: &str, calls: u64| {
        let directory = tempfile::tempdir_in(scratch.path())?;
        client::converse(under_callgrind(&server), directory.path(), tool, calls)
    };
    let (decide, converse) = (&decide, &converse);
    let counts: anyhow::Result<Vec<u64>> = std::thread::scope(|scope| {
        let runs = [
            scope.spawn(move || converse("task_output", 0)),
            scope.spawn(move || converse("task_output", 2)),
            scope.spawn(move || converse("task_output", 22)),
            scope.spawn(move || converse("str_replace", 2)),
            scope.spawn(move || converse("str_replace", 12)),
            scope.spawn(move || decide(1)),
            scope.spawn(move || decide(6)),
        ];
        runs.into_iter().map(|run| run.join().expect("no panic")).collect()
    });
    let [start, calls, more_calls, edits, more_edits, decisions, more_decisions] = counts?[..] else {
        bail!("a run is missing");
    };
    Ok(Counts::from([
        ("decision".to_owned(), (more_decisions - decisions) / (5 * commands::ORDINARY.len() as u64)),
        ("call".to_owned(), (more_calls - calls) / 20),
        ("edit".to_owned(), (more_edits - edits) / 10),
        ("start".to_owned(), start),
    ]))
}

fn bless(counts: &Counts) -> anyhow::Result<()> {
    let lines: Vec<String> = counts.iter().map(|(name, count)| format!("{name} = {count}\n")).collect();
    let compiler = Command::new("rustc").arg("--version").output().context("failed to ask for the compiler")?;
    let head = format!(
        "# Instructions in the unoptimised build, as {BLESS}\n# counted them with {}.\n",
        String::from_utf8_lossy(&compiler.stdout).trim(),
    );
    std::fs::write(BASELINE, head + &lines.concat())?;
    compare(counts)
}

fn compare(counts: &Counts) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(BASELINE).context("failed to read the baseline")?;
    let baseline: Counts = toml::from_str(&text).context("failed to read the baseline")?;
    let mut grown = Vec::new();
    for (name, count) in counts {
        let before = *baseline.get(name).with_context(|| format!("the baseline lacks {name}"))?;
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let change = *count as f64 / before as f64 - 1.0;
        println!("{name:<9}{count:>12} instructions, {:+.1} % since the baseline", change * 100.0);
        if change > tolerance(name) {
            grown.push(name.as_str());
        }
        if change < -tolerance(name) {
            println!("         fewer than before: keep the gain with {BLESS}");
        }
    }
    ensure!(
        grown.is_empty(),
        "more than 30 % (a decision: 5 %) above benches/instructions/baseline.toml: {}. If that is worth it, or the compiler is another \
         one, renew the baseline: {BLESS}",
        grown.join(", ")
    );
    Ok(())
}

/// valgrind reads the debug information of a program before it runs it, which takes longer than everything else here.
fn without_debug_information(program: &Path, scratch: &Path) -> PathBuf {
    let stripped = scratch.join(program.file_name().unwrap_or_default());
    let strip = Command::new("strip").arg("-o").arg(&stripped).arg(program).status();
    if strip.is_ok_and(|status| status.success()) { stripped } else { program.to_owned() }
}

fn under_callgrind(program: &Path) -> Command {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program).env_clear();
    command.env("PATH", "/usr/bin:/bin").env("LANG", "C.UTF-8");
    command
}

/// What callgrind says at the end of a run.
fn instructions(report: &str) -> anyhow::Result<u64> {
    let count = report.lines().find_map(|line| line.split_once("Collected : "));
    let (_, count) = count.with_context(|| format!("callgrind has counted nothing:\n{report}"))?;
    Ok(count.trim().parse()?)
}
