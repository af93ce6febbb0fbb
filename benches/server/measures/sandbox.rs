//! The cost of the sandbox at each level, in one run: starting the keeper of a new session, and running a command in a
//! session whose keeper runs. The floor is the same shell without a server.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::row;
use crate::driver::Connection;
use crate::floor;
use crate::options::Options;
use crate::samples::Samples;
use crate::subject::Subject;
use crate::table::{Figure, Row, Target};

/// The limit of sessions per client, the default session included.
const SESSIONS: usize = 50;
/// An agent does something in a session before it begins another one. Meanwhile the server prepares for that.
const BETWEEN_SESSIONS: Duration = Duration::from_millis(100);
const WARM_UP: usize = 10;
const PROMISED_START: Target = Target::RatioAtMost(3.0);

pub fn measure(options: &Options, scratch: &Path) -> Vec<Row> {
    let landlock = scratch.join("landlock.toml");
    std::fs::write(&landlock, "[sandbox]\nlevel = \"landlock\"\n").expect("the scratch directory can be written");
    let landlock = landlock.display().to_string();
    // The project is another directory, because the server refuses a configuration file inside the project.
    let project = scratch.join("sandbox-project");
    std::fs::create_dir_all(&project).expect("the scratch directory can be written");
    let levels: [(&str, &[&str]); 3] =
        [("full", &[]), ("landlock", &["--config", &landlock]), ("off", &["--sandbox", "off"])];
    let variant =
        |(level, flags): (&str, &[&str])| Some(options.ours()?.with_flags(&format!("testudo, level {level}"), flags));
    let subjects: Vec<Subject> = levels.into_iter().filter_map(variant).collect();
    subjects.iter().flat_map(|subject| rows(subject, options.rounds, &project)).collect()
}

fn rows(subject: &Subject, rounds: usize, project: &Path) -> Vec<Row> {
    let names =
        ["first command of a session / spawn bash -c true", "`true` with stdin, in a fresh shell / spawn bash -c true"];
    match samples(subject, rounds, project) {
        Err(error) => vec![row(subject, names[0], Err(error), None)],
        Ok((starts, calls, shell)) => [starts, calls]
            .iter()
            .zip(names)
            .zip([Some(PROMISED_START), None])
            .map(|((samples, name), target)| {
                row(
                    subject,
                    name,
                    Ok(Figure::over(samples.median(), shell.median(), "ms").with_p95(samples.p95())),
                    target,
                )
            })
            .collect(),
    }
}

fn samples(subject: &Subject, rounds: usize, project: &Path) -> anyhow::Result<(Samples, Samples, Samples)> {
    let mut connection = Connection::open(subject, project)?;
    let (mut starts, mut calls, mut shell) = (Samples::default(), Samples::default(), Samples::default());
    for number in 0..SESSIONS {
        std::thread::sleep(BETWEEN_SESSIONS);
        let arguments = json!({ "command": "true", "session": format!("s{number}") });
        starts.add(connection.call_tool(&subject.tool, &arguments)?);
        shell.add(floor::spawn_bash("true")?);
    }
    for number in 0..rounds + WARM_UP {
        // A command with stdin gets a fresh shell. A shell started in advance would hide the cost.
        let time = connection.call_tool(&subject.tool, &json!({ "command": "true", "stdin": "" }))?;
        std::thread::sleep(Duration::from_millis(2));
        if number >= WARM_UP {
            calls.add(time);
            shell.add(floor::spawn_bash("true")?);
        }
    }
    Ok((starts, calls, shell))
}
