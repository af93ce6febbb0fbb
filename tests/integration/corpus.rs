//! The published attacks on shell policies, against the real binary. `pwn` is a program that writes a mark, and no attack
//! may make it run. The tests of the sandbox, the file tools and the transport have the attacks that those must stop.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Client, StartOptions, World, corpus, text};

/// The policy must refuse the attacks of these classes before anything runs. `benign` commands must run.
const CLASSES: &[&str] = &[
    "structure",
    "substitution",
    "arithmetic",
    "name-obfuscation",
    "builtin-wrapper",
    "assignment-prefix",
    "arg-injection",
    "redirection",
    "parser-dos",
    "confirmation",
    "benign",
];

/// The most sessions of one client. Every case has a session of its own.
const CASES_PER_SERVER: usize = 50;

struct Case {
    id: String,
    class: String,
    must: String,
    input: String,
    flags: Vec<String>,
}

/// The rows of the corpus that the policy must judge.
pub fn shell_rows() -> impl Iterator<Item = Value> {
    corpus().filter(|row| row["tool"] == "shell" && CLASSES.contains(&row["class"].as_str().unwrap()))
}

fn cases() -> Vec<Case> {
    shell_rows()
        .map(|row| {
            let own = |name: &str| row[name].as_str().unwrap().to_owned();
            let flags = ["allow", "ask", "deny"].iter().flat_map(|verdict| {
                let words = row["policy_setup"][verdict].as_array().cloned().unwrap_or_default();
                words.into_iter().flat_map(move |word| [format!("--{verdict}"), word.as_str().unwrap().to_owned()])
            });
            Case { id: own("id"), class: own("class"), must: own("must"), input: own("input"), flags: flags.collect() }
        })
        .collect()
}

/// A project with the files that the cases name, a home with startup files, and a directory with `pwn` for the `PATH`.
fn prepare(world: &World) -> std::path::PathBuf {
    let bin = world.outside().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let mark = world.outside().join("mark");
    let pwn = bin.join("pwn");
    std::fs::write(&pwn, format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\n", text(&mark))).unwrap();
    std::fs::set_permissions(&pwn, PermissionsExt::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink(&pwn, world.project().join("pwn")).unwrap();
    for name in ["README", "README.md", "a", "data.csv", "big", "src/main.rs", "Cargo.toml"] {
        world.file(name, "some,text\nmore,text\n".repeat(40));
    }
    world.file("s.sh", "pwn\n");
    for name in [".bashrc", ".profile"] {
        std::fs::write(world.home().join(name), "").unwrap();
    }
    std::fs::create_dir(world.home().join(".ssh")).unwrap();
    let git = "git init -q . && git config user.email a@b && git config user.name a && git add . && git commit -qm one \
               && echo x >> README.md && git commit -qam two";
    let status = std::process::Command::new("bash")
        .args(["-c", git])
        .current_dir(world.project())
        .env("HOME", world.home())
        .status()
        .unwrap();
    assert!(status.success());
    mark
}

fn server(world: &World, flags: &[String]) -> Client {
    // Without the sandbox, so that only the policy can keep `pwn` from writing its mark.
    let flags: Vec<&str> = ["--sandbox", "off"].into_iter().chain(flags.iter().map(String::as_str)).collect();
    let mut command = world.command(&flags);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", text(&world.outside().join("bin"))));
    Client::connect(command, StartOptions::default())
}

#[test]
#[expect(clippy::print_stdout, reason = "the figures are part of the result")]
fn no_published_attack_gets_through_and_work_goes_on() {
    let world = World::new();
    let mark = prepare(&world);
    let mut groups: BTreeMap<Vec<String>, Vec<Case>> = BTreeMap::new();
    for case in cases() {
        groups.entry(case.flags.clone()).or_default().push(case);
    }
    let (mut through, mut blocked) = (Vec::new(), Vec::new());
    let (mut refused, mut ran, mut left) = (0, 0, 0);
    for (flags, cases) in &groups {
        for cases in cases.chunks(CASES_PER_SERVER) {
            let mut server = server(&world, flags);
            for case in cases {
                match case.must.as_str() {
                    "contain" => left += 1,
                    must => {
                        let reply =
                            server.call("bash", json!({"command": case.input, "session": case.id, "timeout": 20000}));
                        let harmed = mark.exists() || startup_files_changed(&world);
                        match must {
                            "reject" if harmed || !reply.is_error() => through.push((case.id.clone(), reply.text())),
                            "allow" if reply.is_error() => blocked.push((case.id.clone(), reply.text())),
                            "reject" => refused += 1,
                            _ => ran += 1,
                        }
                        clean(&mark, &world);
                    }
                }
            }
        }
    }
    let classes: BTreeMap<_, usize> = groups.values().flatten().fold(BTreeMap::new(), |mut counts, case| {
        *counts.entry(case.class.as_str()).or_default() += 1;
        counts
    });
    println!("{refused} attacks refused, {ran} benign commands run, {left} left to the sandbox; {classes:?}");
    assert!(through.is_empty(), "got through: {through:#?}");
    assert!(blocked.len() * 50 <= ran, "benign, but blocked: {blocked:#?}");
}

fn startup_files_changed(world: &World) -> bool {
    [".bashrc", ".profile"].iter().any(|name| !std::fs::read(world.home().join(name)).unwrap().is_empty())
        || world.home().join(".ssh/authorized_keys").exists()
        || Path::new("/etc/cron.d/x").exists()
}

fn clean(mark: &Path, world: &World) {
    let _ = std::fs::remove_file(mark);
    for name in [".bashrc", ".profile"] {
        std::fs::write(world.home().join(name), "").unwrap();
    }
}
