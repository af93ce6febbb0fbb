//! What a server lets a command do, and whether it answers. Each server runs with its defaults.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::driver::Connection;
use crate::subject::Subject;

/// Answers to the questions of [`QUESTIONS`], in their order.
pub type Facts = Vec<String>;

pub const QUESTIONS: [&str; 6] = [
    "tools, and the size of their list",
    "a command reads `~/.ssh/id_ed25519`",
    "a command writes outside the project",
    "a command leaves a git hook behind",
    "`sleep 1000 &` is answered within 20 s",
    "a `setsid` child lives on after `kill -9` of the server",
];

pub fn about(subject: &Subject, scratch: &Path) -> anyhow::Result<Facts> {
    let world = tempfile::Builder::new().prefix("facts-").tempdir_in(scratch)?;
    let (home, project) = (world.path().join("home"), world.path().join("project"));
    std::fs::create_dir_all(home.join(".ssh"))?;
    std::fs::write(home.join(".ssh/id_ed25519"), "a-private-key\n")?;
    std::fs::create_dir(&project)?;
    let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let mut connection = Connection::open(subject, &project)?;
    let tools = connection.list_tools()?;
    let size = tools.to_string().len().div_ceil(1024);
    let mut facts = vec![format!("{}, {size} KB", tools.as_array().context("no tools")?.len())];
    let key = connection.result_of(&format!("cat {}", home.join(".ssh/id_ed25519").display()))?;
    facts.push(yes(key.to_string().contains("a-private-key")));
    connection.result_of(&format!("touch {}", home.join("outside").display()))?;
    facts.push(yes(home.join("outside").exists()));
    let hook = project.join(".git/hooks/pre-commit");
    connection.result_of(&format!("mkdir -p {}", project.join(".git/hooks").display()))?;
    connection.result_of(&format!("cp /bin/true {}", hook.display()))?;
    facts.push(yes(!until(Duration::from_secs(5), || !hook.exists())));
    facts.push(if subject.takes_words() { "it has no shell".to_owned() } else { yes(answers(subject, &project)?) });
    facts.push(leaves_a_child(subject, &project)?.map_or_else(|| "it did not run".to_owned(), yes));
    Ok(facts)
}

fn answers(subject: &Subject, project: &Path) -> anyhow::Result<bool> {
    let seconds = format!("1{:06}.5", std::process::id());
    let mut connection = Connection::open(subject, project)?;
    let pid = connection.pid();
    let (id, at) = connection.send_call(&format!("sleep {seconds} &"))?;
    let waiting = std::thread::scope(|scope| {
        let answer = scope.spawn(move || connection.wait_call(id, at).is_ok());
        until(Duration::from_secs(20), || answer.is_finished());
        let answered = answer.is_finished();
        // The server's end is the end of the wait.
        kill(pid);
        answer.join().expect("no panic") && answered
    });
    sleepers(&seconds).into_iter().for_each(kill);
    Ok(waiting)
}

/// `None` if the command never ran.
fn leaves_a_child(subject: &Subject, project: &Path) -> anyhow::Result<Option<bool>> {
    let seconds = format!("2{:06}", std::process::id());
    let mut connection = Connection::open(subject, project)?;
    connection.send_call(&format!("setsid sleep {seconds}"))?;
    let ran = until(Duration::from_secs(20), || !sleepers(&seconds).is_empty());
    connection.kill();
    let ended = until(Duration::from_secs(5), || sleepers(&seconds).is_empty());
    sleepers(&seconds).into_iter().for_each(kill);
    Ok(ran.then_some(!ended))
}

fn kill(pid: u32) {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    let _ = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::KILL));
}

/// The processes that sleep so many seconds.
fn sleepers(seconds: &str) -> Vec<u32> {
    let wanted = format!("sleep\0{seconds}");
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let sleeps =
        |pid: &u32| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(wanted.as_bytes()));
    pids.filter(sleeps).collect()
}

fn until(within: Duration, condition: impl Fn() -> bool) -> bool {
    let end = Instant::now() + within;
    while !condition() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    condition()
}
