//! How long a decision takes: ordinary command lines, judged with an allow list and with a deny list. Names of programs
//! are looked up on this machine.
//! `cargo bench --bench policy`

mod commands;

use std::path::Path;
use std::time::{Duration, Instant};

use testudo::gate::Machine;
use testudo::policy::{Policy, Scene, Settings, Subject};

use commands::ORDINARY;

#[expect(clippy::print_stdout, reason = "the figures are the output of the benchmark")]
fn main() {
    let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let allow =
        names(&["ls", "git", "cargo", "grep", "find", "cat", "echo", "wc", "head", "tail", "sort", "cd", "test"]);
    let settings = [
        ("allow list", Settings { allow, ..Settings::default() }),
        ("deny list", Settings { deny: names(&["rm", "sudo", "git push"]), ..Settings::default() }),
    ];
    let machine = Machine::new(std::ffi::OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    let cwd = Path::new("/");
    let scene = Scene::in_project(cwd);
    for (name, settings) in settings {
        let policy = Policy::new(&settings).expect("the rules are sound");
        let mut times: Vec<Duration> = (0..2_000)
            .flat_map(|_| ORDINARY)
            .map(|text| {
                let start = Instant::now();
                std::hint::black_box(policy.judge(
                    &Subject::ShellText { text, cwd, search_path: None },
                    &scene,
                    &machine,
                ));
                start.elapsed()
            })
            .collect();
        times.sort_unstable();
        let at = |share: usize| times[times.len() * share / 1000];
        println!("{name}: median {:?}, p99 {:?}, p99.9 {:?}, of {} decisions", at(500), at(990), at(999), times.len());
    }
}
