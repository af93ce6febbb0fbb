//! What a draft costs: a command that does nothing, listing 20,000 changed files, and applying them.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use super::row;
use crate::driver::Connection;
use crate::options::Options;
use crate::samples::Samples;
use crate::subject::Subject;
use crate::table::{Figure, Row, Target};

const FILES: usize = 20_000;
const WARM_UP: usize = 20;

pub fn measure(options: &Options, scratch: &Path) -> Vec<Row> {
    let Some(ours) = options.ours() else { return Vec::new() };
    let [plain, draft] = [false, true].map(|draft| variant(ours, scratch, draft));
    let promised = [Target::RatioAtMost(1.03), Target::ValueAtMost(1000.0), Target::RatioAtMost(2.0)];
    let names = ["`true` with --draft / without", "`changes`, 20,000 files", "`apply` / cp -a, 20,000 files"];
    let latency = latency(options, scratch, &plain, &draft);
    let (changes, apply) = match large(&draft, scratch) {
        Ok((changes, apply)) => (Ok(changes), Ok(apply)),
        Err(error) => (Err(anyhow::anyhow!("{error:#}")), Err(error)),
    };
    let results = [latency, changes, apply];
    names
        .into_iter()
        .zip(results)
        .zip(promised)
        .map(|((name, result), target)| row(ours, name, result, Some(target)))
        .collect()
}

/// Its draft is kept beside the project, not in the home of the person who runs the benchmark.
fn variant(ours: &Subject, scratch: &Path, draft: bool) -> Subject {
    let state = format!("XDG_STATE_HOME={}", scratch.join("state").display());
    let mut words = vec!["env".to_owned(), state];
    words.extend(ours.words.iter().cloned());
    words.extend(draft.then(|| "--draft".to_owned()));
    Subject { words, ..ours.clone() }
}

fn latency(options: &Options, scratch: &Path, plain: &Subject, draft: &Subject) -> anyhow::Result<Figure> {
    let project = scratch.join("latency");
    std::fs::create_dir(&project)?;
    let mut runs = [
        (Connection::open(plain, &project)?, Samples::default()),
        (Connection::open(draft, &project)?, Samples::default()),
    ];
    for round in 0..WARM_UP + options.rounds {
        for (connection, samples) in &mut runs {
            std::thread::sleep(Duration::from_millis(5));
            let time = connection.call("true")?;
            if round >= WARM_UP {
                samples.add(time);
            }
        }
    }
    Ok(Figure::over(runs[1].1.median(), runs[0].1.median(), "ms"))
}

fn large(draft: &Subject, scratch: &Path) -> anyhow::Result<(Figure, Figure)> {
    let (project, copy) = (scratch.join("large"), scratch.join("copy"));
    for directory in 0..FILES / 100 {
        let directory = project.join(directory.to_string());
        std::fs::create_dir_all(&directory)?;
        (0..100).try_for_each(|name| std::fs::write(directory.join(name.to_string()), [b'a'; 2000]))?;
    }
    let mut server = Connection::open(draft, &project)?;
    server.call("for f in */*; do echo changed >> $f; done")?;
    drop(server);
    let changes = timed(&project, &[&draft.words[..3], &["changes".to_owned()]].concat())?;
    let apply = timed(&project, &[&draft.words[..3], &["apply".to_owned()]].concat())?;
    ensure!(std::fs::metadata(project.join("0/0"))?.len() == 2008, "the changes are not applied");
    let words = ["cp", "-a", ".", copy.to_str().context("an odd path")?].map(str::to_owned);
    let floor = timed(&project, &words)?;
    Ok((Figure::alone(changes, "ms"), Figure::over(apply, floor, "ms")))
}

fn timed(directory: &Path, words: &[String]) -> anyhow::Result<f64> {
    let began = Instant::now();
    let status = Command::new(&words[0]).args(&words[1..]).current_dir(directory).stdout(Stdio::null()).status()?;
    ensure!(status.success(), "{words:?} failed");
    Ok(began.elapsed().as_secs_f64() * 1e3)
}
