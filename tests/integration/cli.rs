//! What a person types: help, version, call, doctor, and start-up errors that say what is wrong.

use std::process::{Output, Stdio};

use crate::support::{World, text};

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn call_prints_the_result_of_one_call() {
    let world = World::new();
    let output = world.run(&["call", "bash", "command=echo hello"]);
    assert_eq!((out(&output).as_str(), err(&output).as_str()), ("exit_code: 0\n\nstdout:\nhello\n", ""));
    assert!(output.status.success());
    let json = world.run(&["call", "bash", r#"{"command": "cat", "stdin": "given"}"#]);
    assert_eq!(out(&json), "exit_code: 0\n\nstdout:\ngiven\n");
    let pairs = world.run(&["call", "bash", "command=sleep 9", "timeout=200"]);
    assert!(out(&pairs).starts_with("Command timed out after 200ms"), "{}", out(&pairs));
}

#[test]
fn call_fails_visibly() {
    let world = World::new();
    let refused = world.run(&["call", "bash", "command="]);
    assert_eq!((out(&refused).as_str(), refused.status.code()), ("ERR command must not be empty\n", Some(1)));
    let unknown = world.run(&["call", "bosh"]);
    assert!(err(&unknown).contains("unknown tool \"bosh\""), "{}", err(&unknown));
    assert_eq!(unknown.status.code(), Some(2));
    let malformed = world.run(&["call", "bash", "echo"]);
    assert!(err(&malformed).contains("neither key=value nor a JSON object"), "{}", err(&malformed));
    for words in [[r#"{"command": "true"}"#, "timeout=5"], ["timeout=5", r#"{"command": "true"}"#]] {
        let mixed = world.run(&["call", "bash", words[0], words[1]]);
        assert!(err(&mixed).contains("either one JSON object or key=value pairs, not both"), "{}", err(&mixed));
        assert_eq!(mixed.status.code(), Some(2));
    }
}

#[test]
fn call_explains_why_a_tool_is_not_offered() {
    let world = World::new();
    let terminal = world.run(&["call", "execute_command", "command=ls"]);
    assert!(err(&terminal).contains("belongs to the toolset terminal; add --toolset terminal"), "{}", err(&terminal));
    assert_eq!(terminal.status.code(), Some(2));
    let disabled = world.run(&["call", "bash", "command=true", "--disable-tools", "bash"]);
    assert!(err(&disabled).contains("\"bash\" is disabled by --disable-tools"), "{}", err(&disabled));
    // The advice works: the call is now refused by ALLOWED_COMMANDS, which is not set.
    let advised = world.run(&["call", "execute_command", "command=ls", "--toolset", "terminal"]);
    assert!(out(&advised).contains("Command \"ls\" is not allowed"), "{}", out(&advised));
}

/// As behind `| head`, when `head` has ended.
#[test]
fn a_closed_pipe_ends_every_subcommand_quietly() {
    let world = World::new();
    world.run(&["call", "bash", "command=true"]);
    let rows: [(&[&str], i32); 28] = [
        (&["--help"], 0),
        (&["--version"], 0),
        (&["help", "call"], 0),
        (&["doctor", "--help"], 0),
        (&["doctor"], 0),
        (&["explain", "ls", "--ask", "ls"], 1),
        (&["explain", "ls", "--json"], 0),
        (&["call", "bash", "command=seq 1 9999"], 0),
        (&["revoke", "all"], 0),
        (&["doctor", "--json"], 0),
        (&["install", "--list"], 0),
        (&["install", "cursor", "--print"], 0),
        (&["completions", "bash"], 0),
        (&["man"], 0),
        (&["explain", "@safe"], 0),
        (&["home"], 0),
        (&["home", "--list"], 0),
        (&["home", "--reset", "--all"], 0),
        (&["ps"], 0),
        (&["ps", "--json"], 0),
        (&["watch"], 0),
        (&["watch", "--json"], 0),
        (&["approve"], 0),
        (&["approve", "--wait"], 0),
        (&["audit"], 0),
        (&["audit", "--json"], 0),
        (&["audit", "--follow"], 0),
        (&["audit", "verify"], 0),
    ];
    for (words, code) in rows {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = world.command(words).stdin(Stdio::null()).stdout(writer).output().unwrap();
        assert_eq!((output.status.code(), err(&output).as_str()), (Some(code), ""), "{words:?}");
    }
    // The same for stderr: an error that nobody reads is no panic.
    for words in [&["call", "bash", "echo"][..], &["--timeout", "soon"], &["revoke", "nothing"], &["--no-such-flag"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status = world.command(words).stdin(Stdio::null()).stderr(writer).stdout(Stdio::null()).status().unwrap();
        assert!(matches!(status.code(), Some(1 | 2)), "{words:?}: {status:?}");
    }
}

/// The subcommands that the help lists, so that a new one is tried too.
fn subcommands(help: &str) -> Vec<String> {
    let (_, list) = help.split_once("\nCommands:\n").unwrap();
    let words = list.lines().take_while(|line| line.starts_with("  ")).filter(|line| !line.starts_with("   "));
    words.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn help_and_version_read_well() {
    let world = World::new();
    let help = out(&world.run(&["--help"]));
    for part in [
        "Usage: testudo",
        "--project-dir <DIR>",
        "[$TESTUDO_TIMEOUT, default: 120]",
        "call",
        "doctor",
        "Try it by hand",
    ] {
        assert!(help.contains(part), "{part} is missing in:\n{help}");
    }
    // The options of the server stand in the help of the server, and every help has one heading for options.
    let headings = |help: &str| help.lines().filter(|line| line.to_lowercase().ends_with("options:")).count();
    assert_eq!(headings(&help), 1, "{help}");
    for subcommand in subcommands(&help) {
        let subcommand = subcommand.as_str();
        let help = out(&world.run(&[subcommand, "--help"]));
        assert_eq!(headings(&help), 1, "{subcommand}:\n{help}");
        assert_eq!(help.contains("[$TESTUDO_TIMEOUT"), subcommand == "serve", "{subcommand}:\n{help}");
    }
    let call = out(&world.run(&["call", "--help"]));
    assert!(call.contains("Examples:") && call.contains("options of the server too"), "{call}");
    assert!(out(&world.run(&["call", "--timeout", "7", "bash", "command=true"])).starts_with("exit_code: 0"));
    assert!(out(&world.run(&["completions", "bash"])).matches("--answer-within").count() > 10, "each subcommand");
    assert_eq!(out(&world.run(&["--version"])), format!("testudo {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn doctor_tells_shell_configuration_and_sandbox() {
    let world = World::new();
    let text = out(&world.run(&["doctor"]));
    for part in ["testudo ", "/bin/bash", "none, defaults apply", world.project().to_str().unwrap(), "sandbox"] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
}

#[test]
fn doctor_speaks_to_scripts() {
    let world = World::new();
    world.run(&["install", "cursor"]);
    let output = world.run(&["doctor", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((report["ok"].as_bool(), output.status.code()), (Some(true), Some(0)), "{report}");
    assert_eq!(report["project_dir"], text(&world.project()));
    assert!(report["sandbox"]["promises"].as_array().is_some_and(|promises| !promises.is_empty()), "{report}");
    assert!(report["clients"][0].as_str().unwrap().starts_with("Cursor in "), "{report}");
    // A level that this machine cannot reach: commands would be refused.
    let file = world.outside().join("config.toml");
    std::fs::write(&file, "[sandbox]\nlevel = \"landlock\"\nminimum = \"full\"\n").unwrap();
    let weak = world.run(&["doctor", "--config", &text(&file)]);
    assert!(out(&weak).contains("so commands are refused"), "{}{}", out(&weak), err(&weak));
    assert_eq!(weak.status.code(), Some(1));
}

/// One line of advice for each shortcoming, and none where there is nothing to do.
#[test]
fn doctor_advises_about_each_shortcoming() {
    let world = World::new();
    let advice = |output: &std::process::Output| -> Vec<String> {
        out(output).lines().filter_map(|line| Some(line.strip_prefix("advice")?.trim().to_owned())).collect()
    };
    let fresh = world.run(&["doctor"]);
    assert_eq!(advice(&fresh), ["no client starts testudo: testudo install --list shows those on this machine"]);
    world.run(&["install", "cursor"]);
    let installed = world.run(&["doctor"]);
    assert_eq!(advice(&installed), Vec::<String>::new(), "{}", out(&installed));

    let moved = std::fs::read_to_string(world.home().join(".cursor/mcp.json")).unwrap();
    let moved = moved.replace(env!("CARGO_BIN_EXE_testudo"), "/nowhere/testudo");
    std::fs::write(world.home().join(".cursor/mcp.json"), moved).unwrap();
    std::fs::create_dir_all(world.home().join(".gemini")).unwrap();
    std::fs::write(world.home().join(".gemini/settings.json"), "{").unwrap();
    // A file where the state directory should be: no audit log, no control socket.
    std::fs::remove_dir_all(world.home().join(".local")).unwrap();
    std::fs::write(world.home().join(".local"), "").unwrap();
    let output = world.command(&["doctor"]).current_dir("/").output().unwrap();
    let lines = advice(&output);
    for part in [
        "name one with --project-dir",
        "testudo ps, watch and approve will not find servers",
        "nothing is recorded in the audit log",
        "Cursor starts /nowhere/testudo, which is not there",
        "Gemini CLI's configuration cannot be read",
    ] {
        assert_eq!(lines.iter().filter(|line| line.contains(part)).count(), 1, "{part}: {}", out(&output));
    }
    let json = world.command(&["doctor", "--json"]).current_dir("/").output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(report["advice"].as_array().unwrap().len(), lines.len(), "{report}");
}

#[test]
fn doctor_shows_what_is_kept_on_disk() {
    let world = World::new();
    world.run(&["call", "bash", "command=head -c 300000 /dev/zero > ~/kept"]);
    let report: serde_json::Value = serde_json::from_slice(&world.run(&["doctor", "--json"]).stdout).unwrap();
    assert!(report["sizes"]["audit_log"].as_u64().unwrap() > 0, "{report}");
    assert!(report["sizes"]["home"].as_u64().unwrap() >= 300_000, "{report}");
    assert!(report["sizes"]["stored_output"].is_u64(), "{report}");
    let text = out(&world.run(&["doctor"]));
    let row = |title: &str| text.lines().find(|line| line.starts_with(title)).unwrap().to_owned();
    assert!(row("audit log").contains("audit.jsonl, ") && row("stored output").contains(", "), "{text}");
}

#[test]
fn completions_and_the_manual_come_from_the_command_line() {
    let world = World::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = out(&world.run(&["completions", shell]));
        for word in ["uninstall", "project-dir", "explain"] {
            assert!(script.contains(word), "{word} is missing for {shell}");
        }
    }
    let page = out(&world.run(&["man"]));
    for part in [".TH testudo 1", "TESTUDO INSTALL", "\\-\\-uninstall", "\\-\\-project\\-dir"] {
        assert!(page.contains(part), "{part} is missing in:\n{page}");
    }
}

#[test]
fn on_a_terminal_it_explains_itself() {
    let world = World::new();
    // `script` gives the program a terminal for stdin and stdout.
    let mut command = std::process::Command::new("script");
    command.args(["-qec", env!("CARGO_BIN_EXE_testudo"), "/dev/null"]).current_dir(world.project());
    let output = command.env("HOME", world.home()).stdin(Stdio::null()).output().unwrap();
    assert!(out(&output).contains("claude mcp add testudo"), "{}", out(&output));
}

#[test]
fn a_mistake_in_the_configuration_stops_the_start_and_names_the_remedy() {
    let world = World::new();
    let file = world.outside().join("config.toml");
    let path = file.to_str().unwrap();
    let rows = [
        ("timout = 5", "unknown key `timout`", "did you mean `timeout`?"),
        ("[output]\nview_chars = 5", "unknown key `output.view_chars`", "did you mean `output.view_characters`?"),
        ("timeout = \"soon\"", "bad value for", "timeout"),
        ("toolset = \"standart\"", "unknown toolset \"standart\"", "did you mean standard?"),
        ("disable_tools = [\"bosh\"]", "unknown tool \"bosh\"", "did you mean bash?"),
        ("max_file_size = \"10XB\"", "bad value for", "10XB"),
        ("timeout = ", "failed to parse", "config.toml"),
    ];
    for (content, problem, remedy) in rows {
        std::fs::write(&file, content).unwrap();
        let output = world.run(&["call", "bash", "command=true", "--config", path]);
        let text = err(&output);
        assert!(text.contains(problem) && text.contains(remedy), "{content}: {text}");
        assert_eq!(output.status.code(), Some(2), "{content}");
    }
}

#[test]
fn bad_flags_and_variables_are_named() {
    let world = World::new();
    let missing = text(&world.outside().join("missing"));
    let not_found = format!("bad value for --workdir: {missing}: No such file or directory");
    let unreadable = format!("failed to read the configuration file {missing}");
    let rows: [(&[&str], &str); 8] = [
        (&["--timeout", "soon"], "bad value for --timeout: \"soon\" is not a whole number"),
        (&["--sandbox", "of"], "\"of\" is not one of read-only, workspace-write, off; did you mean off?"),
        (&["--workdir", &missing], &not_found),
        (&["--project-dir", &missing], "bad value for --project-dir"),
        (&["--config", &missing], &unreadable),
        (&["--disable-tools", "bash,nope"], "bad value for --disable-tools: unknown tool \"nope\""),
        (
            &["--toolset", "standard,germini"],
            "bad value for --toolset: unknown toolset \"germini\"; did you mean gemini?",
        ),
        (&["--listen", "8731"], "bad value for --listen: \"8731\" is not an address and a port"),
    ];
    for (flags, want) in rows {
        let output = world.run(flags);
        assert!(err(&output).contains(want), "{flags:?}: {}", err(&output));
        assert_eq!(output.status.code(), Some(2), "{flags:?}");
    }
    let mut command = world.command(&["call", "bash", "command=true"]);
    let text = err(&command.env("TESTUDO_TIMEOUT", "soon").output().unwrap());
    assert!(text.contains("bad value for TESTUDO_TIMEOUT"), "{text}");
    let mut command = world.command(&["call", "bash", "command=true"]);
    let output = command.env("TESTUDO_TIMOUT", "5").output().unwrap();
    assert!(
        err(&output).contains("testudo has no variable TESTUDO_TIMOUT; did you mean `TESTUDO_TIMEOUT`?"),
        "{}",
        err(&output)
    );
    assert!(output.status.success());
}

#[test]
fn flags_win_over_the_environment_and_the_environment_over_the_file() {
    let world = World::new();
    let file = world.home().join(".config/testudo/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "timeout = 1").unwrap();
    let timed_out = |flags: &[&str], variable: Option<&str>| {
        let mut words = vec!["call", "bash", "command=sleep 60"];
        words.extend(flags);
        let mut command = world.command(&words);
        if let Some(value) = variable {
            command.env("TESTUDO_TIMEOUT", value);
        }
        out(&command.output().unwrap()).lines().next().unwrap().to_owned()
    };
    assert_eq!(timed_out(&[], None), "Command timed out after 1000ms");
    assert_eq!(timed_out(&[], Some("2")), "Command timed out after 2000ms");
    assert_eq!(timed_out(&["--timeout", "1"], Some("2")), "Command timed out after 1000ms");
}

#[test]
fn a_configuration_file_inside_the_project_is_never_read() {
    let world = World::new();
    world.file("testudo.toml", "timeout = 1");
    world.file(".config/testudo/config.toml", "nonsense = 1");
    let named = world.run(&["--config", "testudo.toml", "call", "bash", "command=true"]);
    assert!(err(&named).contains("is inside the project"), "{}", err(&named));
    assert!(world.run(&["call", "bash", "command=true"]).status.success());
}

#[test]
fn an_unreadable_project_is_a_clear_start_up_error() {
    let world = World::new();
    let locked = world.project().join("locked");
    std::fs::create_dir(&locked).unwrap();
    std::fs::set_permissions(&locked, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    let mut command = std::process::Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", env!("CARGO_BIN_EXE_testudo")]);
    command.args(["--project-dir", locked.to_str().unwrap(), "call", "bash", "command=true"]).current_dir("/");
    let text = err(&command.output().unwrap());
    assert!(text.contains("bad value for --project-dir") && text.contains("Permission denied"), "{text}");
}
