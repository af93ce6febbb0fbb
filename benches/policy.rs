//! How long a decision takes: ordinary command lines, judged with an allow list and with a deny list. Names of programs
//! are looked up on this machine.
//! `cargo bench --bench policy`

use std::path::Path;
use std::time::{Duration, Instant};

use testudo::gate::Machine;
use testudo::policy::{Policy, Scene, Settings, Subject};

const ORDINARY: &[&str] = &[
    "ls -la",
    "git status --porcelain",
    "git log --oneline -n 20 -- src | head -5",
    "cargo test --release 2>&1 | tail -20",
    "grep -rn --include='*.rs' 'fn main' . | sort | uniq -c",
    "cd src && find . -name '*.rs' -not -path './target/*' -type f | wc -l",
    "for f in *.rs; do wc -l \"$f\"; done",
    "if [ -f Cargo.toml ]; then cat Cargo.toml; else echo none; fi",
    "git commit -m \"$(cat <<'EOF'\nfix: it's (done)\n\nWith a body of some length, as agents write them.\nEOF\n)\"",
    "cat > notes.txt <<'EOF'\none\ntwo\nthree\nEOF",
    "x=$(date +%s); echo \"$x\" && sleep 0.1",
    "timeout 60 npm test -- --watch=false > out.log 2>&1 || tail -50 out.log",
    "sed -n '1,40p' src/main.rs",
    "find . -name '*.tmp' -exec rm {} +",
    "curl -s https://example.invalid/x | jq .a",
];

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
