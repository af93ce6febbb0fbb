//! Compares the policy with the real bash: in a text that the policy allows, bash must never run `pwn`.
//!
//! The texts are mutations of the published attacks and of tricky commands. They are judged in this process, and the
//! allowed ones run in a scratch directory, with a `PATH` that has only harmless stand-ins. `TESTUDO_MUTATIONS` sets how
//! many texts are tried.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use testudo::gate::Machine;
use testudo::policy::action::{Action, RunCommand};
use testudo::policy::{Policy, Scene, Settings, Verdict};

use crate::corpus::shell_rows;
use crate::support::{World, text};

const BASE: &[&str] =
    &["ls", "cat", "git", "find", "grep", "echo", "head", "tail", "wc", "sort", "true", "cd", "pwd", "printf", "test"];

const TRICKY: &[&str] = &[
    "echo a\\\n#b; pwn",
    "cat <<E\n`pwn`\nE",
    "cat <<'E'\n$(pwn)\nE\necho done",
    "cat <<-E\n\t$(pwn)\n\tE",
    "cat <<\"E F\"\n$(pwn)\nE F\n",
    "echo \"${x:-'$(pwn)'}\"",
    "echo $'a\\'$(pwn)'",
    "( ( pwn ) )",
    "echo ${x#$(pwn)} ${#x}",
    "echo {a,$(pwn)} {pwn,b}",
    "[ -f x ] && { ls; pwd; } || (echo no)",
    "for i in a b; do echo \"$i\"; done > out",
    "case a in a) echo x;; esac",
    "while false; do ls; done; until true; do pwd; done",
    "echo a & echo b; wait",
    "! true | cat |& head",
    "echo 'it'\\''s' \"a\\\"b\" a\\ b",
    "find . -name 'x*' -exec grep -l pwn {} +",
    "sort -k1,1 --reverse x | head -n 3",
    "printf '%s\\n' a b",
    "git log --oneline -n 3 -- pwn",
    "echo \"$(echo \"$(echo pwn)\")\"",
    "if [ \"$x\" = pwn ]; then echo pwn; elif true; then echo b; else echo c; fi",
    "x=pwn; echo \"$x\" $x ${x}",
    "echo <<< pwn; cat <<< \"pwn\"",
    "ls 2>&1 >/dev/null 3<x",
    "echo ${x:-0} \"${x%.c}\" ${#x} ${x##*/}",
    "cd sub && echo \"${x:-pwn}\" | head",
];

const TOKENS: &[&str] = &[
    "$(pwn)",
    "`pwn`",
    "\\\n",
    "<<E\n",
    "\nE\n",
    "<<'E'\n",
    "<<-E\n\t",
    "((",
    "))",
    "( (",
    "${",
    "}",
    "'",
    "\"",
    "#",
    " #",
    "|",
    "&",
    ";",
    "$'",
    "$\"",
    "pwn",
    "\npwn\n",
    "<(pwn)",
    ">(pwn)",
    "{",
    "}",
    ",",
    "=",
    "[",
    "]",
    "!",
    "case x in ",
    " esac",
    "if ",
    "; then ",
    "; fi",
    "-v ",
    "\\",
    "\n",
    " ",
    "\t",
    "$",
    "@",
    "*",
    "?",
    "~",
    "<",
    ">",
    "x=",
    "[[ ",
    " ]]",
    "for i in ",
    "; do ",
    "; done",
    ";;",
    "$((",
    "<<<",
    "&&",
    "||",
    "|&",
    "2>&1",
    "time ",
    "coproc ",
    "é",
    "E",
    "{a,b}",
    "{pwn,}",
    "${x:-pwn}",
    "${x%.c}",
    "${#x}",
    "${x##*/}",
    "\"${x:+a}\"",
    "$x",
    "\"$x\"",
    "exec ",
    "eval ",
    "command ",
    "-exec pwn {} +",
    "--output=x",
];

/// A xorshift generator: every run and every machine gets the same texts.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % sides.max(1)
    }
}

fn seeds() -> Vec<String> {
    // Mutations of these two classes are refused for their size or their control characters, or are about `rm` and `git`.
    let chosen = shell_rows().filter(|row| row["class"] != "parser-dos" && row["class"] != "confirmation");
    let inputs = chosen.map(|row| row["input"].as_str().unwrap().to_owned());
    inputs.chain(TRICKY.iter().map(|text| (*text).to_owned())).collect()
}

fn mutate(dice: &mut Dice, seeds: &[String]) -> String {
    let mut text: Vec<char> = seeds[dice.roll(seeds.len())].chars().collect();
    for _ in 0..=dice.roll(4) {
        let at = dice.roll(text.len() + 1);
        match dice.roll(6) {
            0 if at < text.len() => drop(text.remove(at)),
            1 => {
                let other: Vec<char> = seeds[dice.roll(seeds.len())].chars().collect();
                let from = dice.roll(other.len());
                let to = (from + dice.roll(12)).min(other.len());
                text.splice(at..at, other[from..to].iter().copied());
            }
            2 if at + 1 < text.len() => text.swap(at, at + 1),
            3 => {
                let end = (at + dice.roll(8)).min(text.len());
                let copy: Vec<char> = text[at..end].to_vec();
                text.splice(at..at, copy);
            }
            _ => {
                let token = TOKENS[dice.roll(TOKENS.len())];
                text.splice(at..at, token.chars());
            }
        }
    }
    text.into_iter().collect()
}

/// A directory with programs that do nothing, and `pwn`, which writes a mark.
fn stand_ins(world: &World) -> std::path::PathBuf {
    let bin = world.outside().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let program = |name: &str, body: &str| {
        let path = bin.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    };
    for name in
        BASE.iter().chain(&["sed", "less", "bash", "sh", "node", "env", "timeout", "nice", "xargs", "tar", "awk"])
    {
        program(name, "exit 0");
    }
    // The real programs of these names run others, so the stand-ins do too.
    program("env", "while :; do case $1 in -*|*=*) shift;; *) break;; esac; done; exec \"$@\"");
    program("find", "while [ $# -gt 0 ]; do case $1 in -exec|-ok) shift; exec \"$@\";; esac; shift; done");
    program("xargs", "exec \"$@\"");
    program("pwn", &format!("echo \"$*\" >> '{}'", text(&world.outside().join("mark"))));
    bin
}

/// Runs a text in the scratch project. True if `pwn` ran, also in the background.
fn runs_pwn(world: &World, bin: &Path, script: &str) -> bool {
    let mark = world.outside().join("mark");
    let _ = std::fs::remove_file(&mark);
    let limited = format!("ulimit -t 2 -f 2048\n{script}");
    let (mut output, shared) = std::io::pipe().unwrap();
    let mut command = Command::new("/bin/bash");
    command
        .args(["--noprofile", "--norc", "-c", &limited])
        .current_dir(world.project())
        .env_clear()
        .env("PATH", bin)
        .env("HOME", world.home())
        .stdin(Stdio::null())
        .stdout(shared.try_clone().unwrap())
        .stderr(shared)
        .process_group(0);
    let mut child = command.spawn().unwrap();
    // Its copies of the pipe are closed with it. The pipe then ends when bash and everything that it started have ended.
    drop(command);
    let (reader, ended) = channel::<()>();
    let drain = std::thread::spawn(move || {
        let _reader = reader;
        std::io::copy(&mut output, &mut std::io::sink())
    });
    // A text that runs on is stopped here.
    let _ = ended.recv_timeout(Duration::from_secs(3));
    let group = rustix::process::Pid::from_child(&child);
    let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    let _ = child.wait();
    drain.join().unwrap().unwrap();
    mark.exists()
}

/// Texts that are too risky to run unchanged: they may touch files outside the scratch world, or never end.
fn is_too_dangerous(text: &str) -> bool {
    let words = ["/", "~", "kill", "()", "function", "not_found", "while", "until", "coproc", "ulimit", "exec", "HOME"];
    words.iter().any(|word| text.contains(word))
}

#[test]
#[expect(clippy::print_stdout, reason = "the figures are part of the result")]
fn nothing_that_is_allowed_runs_pwn() {
    let world = World::new();
    let bin = stand_ins(&world);
    for name in ["README", "README.md", "a", "x", "out", "data.csv", "Cargo.toml"] {
        world.file(name, "text\n");
    }
    let machine = Machine::new(bin.as_os_str());
    let scene = Scene { home: Some(world.home()), ..Scene::in_project(&world.project()) };
    let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let allowing = Policy::new(&Settings { allow: list(BASE), ..Settings::default() }).unwrap();
    let denying = Policy::new(&Settings { deny: list(&["pwn"]), ..Settings::default() }).unwrap();

    let count = std::env::var("TESTUDO_MUTATIONS").ok().and_then(|text| text.parse().ok()).unwrap_or(3_000);
    let seed = std::env::var("TESTUDO_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0x2545_f491_4f6c_dd1d);
    let (mut dice, seeds) = (Dice(seed), seeds());
    let (mut bypasses, mut allowed, mut not_denied, mut unchanged) = (Vec::new(), 0, 0, 0);
    for round in 0..count {
        let text = if round < seeds.len() { seeds[round].clone() } else { mutate(&mut dice, &seeds) };
        let action = RunCommand { command: text.clone(), cwd: world.project(), search_path: None, description: None };
        let judgement = allowing.judge(&action.subject(), &scene, &machine);
        if judgement.verdict == Verdict::Allow {
            let canonical = judgement.canonical.expect("a text that is allowed by name is written out again");
            let again =
                testudo::policy::shell::parse(&canonical).map(|script| testudo::policy::shell::emit::script(&script));
            unchanged += usize::from(again == Ok(Ok(canonical.clone())));
            allowed += 1;
            if canonical.contains("pw") && runs_pwn(&world, &bin, &canonical) {
                bypasses.push(("allow", text.clone(), canonical));
            }
            assert!(unchanged == allowed, "written out again it reads differently: {text:?}");
        }
        if !is_too_dangerous(&text)
            && text.contains("pw")
            && denying.judge(&action.subject(), &scene, &machine).verdict == Verdict::Allow
        {
            not_denied += 1;
            if runs_pwn(&world, &bin, &text) {
                bypasses.push(("deny", text.clone(), String::new()));
            }
        }
    }
    println!("{count} texts: {allowed} allowed by name, {not_denied} not denied, {} bypasses", bypasses.len());
    assert!(bypasses.is_empty(), "{bypasses:#?}");
}
