//! A configuration file that changes while the server runs.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::support::{Client, HttpServer, Inside, Level, Reply, StartOptions, World, everywhere, text, until};

/// Writes the person's own configuration file.
fn configure(world: &World, content: &str) -> PathBuf {
    let path = world.home().join(".config/testudo/config.toml");
    write(&path, content);
    path
}

fn write(path: &Path, content: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

fn hang_up(pid: u32) {
    assert!(Command::new("kill").args(["-HUP", &pid.to_string()]).status().unwrap().success());
}

fn bash_in(server: &mut Client, session: &str, command: &str) -> Reply {
    server.call("bash", json!({ "command": command, "session": session }))
}

#[test]
fn the_next_call_is_judged_by_the_changed_policy() {
    let world = World::new();
    let file = configure(&world, "");
    world.file("f", "keep");
    let mut server = world.server(&[]);
    assert_eq!(server.bash("cat f").stdout(), "keep");
    configure(&world, "[policy]\ndeny = [\"cat\"]\n");
    let refused = server.bash("cat f").err();
    assert!(refused.contains("refused by policy") && refused.contains("cat"), "{refused}");
    // Editors replace a file by another one. Its time may be older.
    let other = world.home().join("other");
    std::fs::write(&other, "[policy]\ndeny = [\"rm\"]\n").unwrap();
    assert!(Command::new("touch").args(["-d", "2001-01-01"]).arg(&other).status().unwrap().success());
    std::fs::rename(&other, &file).unwrap();
    assert_eq!(server.bash("cat f").stdout(), "keep");
    assert!(server.bash("rm f").err().contains("refused by policy"));
    until("the log", || server.log().contains("from the next call on: policy.deny").then_some(()));
}

#[test]
fn a_file_that_appears_later_counts_too() {
    let world = World::new();
    let mut server = world.server(&[]);
    server.bash("true").ok();
    configure(&world, "timeout = 1\n[policy]\ndeny = [\"cat\"]\n");
    assert!(server.bash("cat f").err().contains("refused by policy"));
    let slow = server.bash("sleep 60").ok();
    assert!(slow.starts_with("Command timed out after 1000ms"), "{slow}");
}

#[test]
fn a_bad_file_is_refused_as_a_whole_and_the_reason_is_logged_once() {
    let world = World::new();
    let file = configure(&world, "[policy]\ndeny = [\"rm\"]\n");
    let mut server = world.server(&[]);
    let rule = "[[policy.rule]]\ncommand = \"ls\"\nverdict = \"deny\"\nmatch = [\"cat x\"]\n";
    for (bad, reason) in [
        ("[policy]\ndeny = []\ntimeuot = 5\n", "timeuot"),
        ("[policy]\ndeny = []\n[sandbox\n", "failed to parse"),
        ("timeout = \"soon\"\n[policy]\ndeny = []\n", "timeout"),
        (rule, "cat x"),
        ("disable_tools = [\"bsh\"]\n", "did you mean bash?"),
        ("project_dir = \"/no/such/directory\"\n", "/no/such/directory"),
    ] {
        write(&file, bad);
        for _ in 0..3 {
            let refused = server.bash("rm f").err();
            assert!(refused.contains("refused by policy"), "{bad}: {refused}");
        }
        until(reason, || server.log().split("refused as a whole").last().unwrap().contains(reason).then_some(()));
    }
    // Once for each of them, although there were three calls.
    assert_eq!(server.log().matches("refused as a whole").count(), 6, "{}", server.log());
    // The broken file would keep this one from starting, too.
    let shown = String::from_utf8(world.run(&["ps", "--config", "/dev/null"]).stdout).unwrap();
    assert!(shown.contains("keeps its former configuration: bad value for --project-dir"), "{shown}");
    // The file is put right, and counts again.
    write(&file, "[policy]\ndeny = [\"cat\"]\n");
    assert!(server.bash("cat f").err().contains("refused by policy"));
    server.bash("rm -f f").ok();
}

#[test]
fn doctor_says_that_the_file_is_refused() {
    let world = World::new();
    let file = configure(&world, "timeuot = 5\n");
    let output = world.run(&["doctor"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    for part in
        [text(&file).as_str(), "refused: unknown key `timeuot`", "did you mean `timeout`?", "servers that run keep"]
    {
        assert!(said.contains(part), "{part} is missing in {said}");
    }
    let report: serde_json::Value = serde_json::from_slice(&world.run(&["doctor", "--json"]).stdout).unwrap();
    assert!(report["ok"] == false && report["configuration_error"].as_str().unwrap().contains("timeuot"), "{report}");
}

#[test]
fn a_file_that_is_gone_changes_nothing_and_an_empty_one_brings_the_defaults_back() {
    for named in [false, true] {
        let world = World::new();
        let file = configure(&world, "[policy]\ndeny = [\"cat\"]\n");
        let flags = ["--config", file.to_str().unwrap()];
        let mut server = world.server(if named { &flags } else { &[] });
        std::fs::remove_file(&file).unwrap();
        assert!(server.bash("cat f").err().contains("refused by policy"), "named: {named}");
        until("the reason", || server.log().contains(&text(&file)).then_some(()));
        write(&file, "");
        server.bash("cat /dev/null").ok();
    }
}

#[test]
fn flags_and_environment_still_win() {
    let world = World::new();
    configure(&world, "timeout = 100\n");
    let mut command = world.command(&["--timeout", "1", "--deny", "cat"]);
    command.env("TESTUDO_UNLISTED", "deny");
    let mut server = Client::connect(command, StartOptions::default());
    configure(&world, "timeout = 100\n[policy]\nunlisted = \"allow\"\nallow = [\"sleep\", \"cat\"]\n");
    let slow = server.bash("sleep 60").ok();
    assert!(slow.starts_with("Command timed out after 1000ms"), "{slow}");
    assert!(server.bash("cat f").err().contains("refused by policy"), "the flag denies what the file allows");
    assert!(server.bash("ls").err().contains("no rule names `ls`"), "the variable denies what no rule names");
}

#[test]
fn tools_are_offered_and_taken_away() {
    let world = World::new();
    configure(&world, "");
    let mut server = world.server(&[]);
    configure(&world, "disable_tools = [\"grep\"]\n");
    let listed = server.request("tools/list", json!({}));
    let names: Vec<&str> =
        listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(!names.contains(&"grep") && names.contains(&"find"), "{names:?}");
    let gone = server.start("grep", json!({ "pattern": "x" })).answer();
    assert!(gone["error"]["message"].as_str().unwrap().contains("unknown tool"), "{gone}");
}

#[test]
fn a_hangup_reads_the_file_again_and_ends_nothing() {
    let world = World::new();
    configure(&world, "");
    let mut server = world.server(&[]);
    let task = server.call("bash", json!({ "command": "cat", "run_in_background": true })).ok();
    configure(&world, "[policy]\ndeny = [\"touch\"]\n");
    hang_up(server.pid());
    // Nobody calls: the signal alone is enough.
    until("the log", || server.log().contains("read again; from the next call on: policy.deny").then_some(()));
    assert!(server.bash("touch f").err().contains("refused by policy"));
    hang_up(server.pid());
    until("the log", || server.log().contains("no setting has changed").then_some(()));
    assert!(task.contains("task_id: t1"), "{task}");
    let running = server.call("task_output", json!({ "task_id": "t1" })).ok();
    assert!(running.starts_with("status: running"), "{running}");
}

#[test]
fn a_hangup_is_heard_over_http() {
    let world = World::new();
    configure(&world, "");
    let server = HttpServer::with_token(&world);
    let mut client = server.client("tok");
    client.bash("true").ok();
    configure(&world, "[policy]\ndeny = [\"touch\"]\n");
    hang_up(server.pid());
    until("the log", || server.log().contains("from the next call on: policy.deny").then_some(()));
    assert!(client.bash("touch f").err().contains("refused by policy"));
}

/// As when the window of a terminal is closed in which somebody has started a server.
#[test]
fn a_server_ends_with_its_terminal() {
    let world = World::new();
    let ready = world.outside().join("log");
    let server = format!(
        "{} --transport http --listen 127.0.0.1:0 2>{} </dev/null",
        env!("CARGO_BIN_EXE_testudo"),
        ready.display()
    );
    // `script` gives it a terminal, which goes away with `script`.
    let mut terminal = Command::new("script")
        .args(["-qec", &server, "/dev/null"])
        .current_dir(world.project())
        .env("HOME", world.home())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let listens = || std::fs::read_to_string(&ready).unwrap_or_default().contains("testudo listens");
    until("the server", || listens().then_some(()));
    let outputs = world.home().join(".cache/testudo/outputs");
    assert_eq!(std::fs::read_dir(&outputs).unwrap().count(), 1);
    terminal.kill().unwrap();
    terminal.wait().unwrap();
    until("its end", || (std::fs::read_dir(&outputs).unwrap().count() == 0).then_some(()));
}

#[test]
fn what_a_session_cannot_change_counts_for_new_sessions() {
    everywhere("", &[], |inside: &mut Inside| {
        inside.does("echo old > here; export KEPT=1");
        let level = if inside.level == Level::Full { "auto" } else { "landlock" };
        let changed = format!(
            "[sandbox]\nlevel = \"{level}\"\nmode = \"read-only\"\n[sandbox.limits]\nopen_files = 99\n[env]\npass = [\"GITHUB_TOKEN\"]\n"
        );
        inside.outside_file("config.toml", &changed);
        // The session that runs keeps its sandbox, its limits and its variables.
        assert_eq!(inside.does("echo more >> here; ulimit -n; echo $KEPT${GITHUB_TOKEN-none}"), "4096\n1none\n");
        inside.client.call("create_file", json!({ "path": "made", "content": "x" })).ok();
        let fresh = bash_in(&mut inside.client, "fresh", "ulimit -n; echo $GITHUB_TOKEN; echo more >> here").ok();
        assert!(fresh.contains("99\ncanary-123\n") && fresh.contains("exit_code: 1"), "{fresh}");
        assert_eq!(inside.world.read("here"), "old\nmore\n");
        until("the log", || inside.client.log().contains("in sessions that begin now: ").then_some(()));
    });
}

#[test]
fn an_agent_cannot_change_the_configuration() {
    everywhere("", &[], |inside: &mut Inside| {
        let config = text(&inside.world.outside().join("config.toml"));
        inside.cannot(&format!("echo > {config}"));
        let refused = inside.client.call("create_file", json!({ "path": config, "content": "" })).err();
        assert!(refused.contains("access denied"), "{refused}");
        assert!(!inside.client.log().contains("the configuration was read again"), "{}", inside.client.log());
    });
}

/// A client's root can bring the file into the scope, after it was read for the first time.
#[test]
fn nothing_is_read_again_from_inside_a_scope() {
    let world = World::new();
    let real = world.outside().join("config.toml");
    write(&real, "[policy]\ndeny = [\"cat\"]\n");
    let link = world.home().join("link.toml");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    for file in [&real, &link] {
        write(&real, "[policy]\ndeny = [\"cat\"]\n");
        let root = format!("file://{}", world.outside().display());
        let options = StartOptions {
            capabilities: json!({ "roots": {} }),
            answers: std::sync::Arc::new(move |_, _| Some(json!({ "roots": [{ "uri": root }] }))),
            ..StartOptions::default()
        };
        let mut server = world.server_with(&["--config", file.to_str().unwrap()], options);
        assert_eq!(server.bash("pwd").stdout().trim(), text(&world.outside()));
        write(&real, "");
        assert!(server.bash("cat config.toml").err().contains("refused by policy"));
        until("the reason", || server.log().contains("where an agent could change it").then_some(()));
    }
}

#[test]
fn the_audit_log_has_the_change() {
    let world = World::new();
    configure(&world, "");
    let mut server = world.server(&[]);
    configure(&world, "[policy]\ndeny = [\"cat\"]\n");
    server.bash("true").ok();
    configure(&world, "timeuot = 1\n");
    server.bash("true").ok();
    server.hang_up();
    server.wait_for_exit();
    let log = String::from_utf8(world.run(&["audit", "--config", "/dev/null"]).stdout).unwrap();
    assert!(log.contains("has read its configuration again: policy.deny"), "{log}");
    assert!(log.contains("refuses the changed configuration: unknown key `timeuot`"), "{log}");
}

/// Git runs nothing that a planted repository names, as soon as a rule vouches for git.
#[test]
fn a_session_that_runs_gets_the_safe_settings_of_git() {
    let world = World::new();
    configure(&world, "");
    let mut server = world.server(&[]);
    server.bash("export SEEN=1").ok();
    configure(&world, "[policy]\nallow = [\"git\", \"env\"]\n");
    for _ in 0..2 {
        let settings = server.bash("git config --get core.fsmonitor").stdout();
        assert_eq!(settings, "false\n");
    }
}
