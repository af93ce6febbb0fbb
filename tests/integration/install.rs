//! `testudo install`: the entry in each client's own configuration, and nothing else in it changed.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use testudo::install::{CLIENTS, Client as Application, backup_of};

use crate::support::{Client, StartOptions, World, text};

/// Where each client keeps its configuration on Linux.
const FILES: [(&str, &str); 12] = [
    ("claude-code", ".claude.json"),
    ("claude-desktop", ".config/Claude/claude_desktop_config.json"),
    ("cursor", ".cursor/mcp.json"),
    ("vscode", ".config/Code/User/mcp.json"),
    ("codex", ".codex/config.toml"),
    ("gemini", ".gemini/settings.json"),
    ("zed", ".config/zed/settings.json"),
    ("goose", ".config/goose/config.yaml"),
    ("opencode", ".config/opencode/opencode.jsonc"),
    ("qwen", ".qwen/settings.json"),
    ("cline", ".cline/data/settings/cline_mcp_settings.json"),
    ("windsurf", ".codeium/windsurf/mcp_config.json"),
];

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn run(world: &World, words: &[&str]) -> String {
    let output = world.run(words);
    assert!(output.status.success(), "{words:?}: {}", err(&output));
    out(&output)
}

fn application(name: &str) -> &'static Application {
    testudo::install::named(name).unwrap()
}

fn entry(application: &Application, file: &Path) -> Value {
    let content = std::fs::read_to_string(file).unwrap();
    application.format.read(&content).unwrap()[application.servers]["testudo"].clone()
}

fn write(path: &Path, content: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

/// Every file below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut next = vec![directory.to_owned()];
    while let Some(directory) = next.pop() {
        for entry in std::fs::read_dir(directory).unwrap().flatten() {
            if entry.path().is_dir() { next.push(entry.path()) } else { found.push(entry.path()) }
        }
    }
    found
}

/// Whether `before` is left if some bytes of `after` are taken away.
fn only_adds(before: &str, after: &str) -> bool {
    let mut rest = after.bytes();
    before.bytes().all(|byte| rest.any(|other| other == byte))
}

#[test]
fn every_client_gets_its_entry_once_and_gives_it_back() {
    assert_eq!(CLIENTS.iter().map(|client| client.name).collect::<Vec<_>>(), FILES.map(|(name, _)| name));
    let world = World::new();
    for (name, path) in FILES {
        let file = world.home().join(path);
        let shown = run(&world, &["install", name, "--print"]);
        assert!(shown.contains(&format!("+++ {}", file.display())) && shown.contains("testudo"), "{shown}");
        assert!(!file.exists(), "{name}: --print writes nothing");

        let said = run(&world, &["install", name]);
        assert!(said.contains(&format!(": {}", file.display())), "{said}");
        let content = std::fs::read_to_string(&file).unwrap();
        assert!(content.contains(env!("CARGO_BIN_EXE_testudo")), "{content}");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "{name}");

        let again = run(&world, &["install", name]);
        assert!(again.contains("already registered"), "{again}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), content);
        assert!(run(&world, &["install", name, "--print"]).contains("nothing to change"));

        run(&world, &["install", name, "--uninstall"]);
        assert!(!file.exists(), "{name}: {}", std::fs::read_to_string(&file).unwrap());
        assert!(run(&world, &["install", name, "--uninstall"]).contains("is not registered"));
    }
    assert_eq!(files(&world.home()), Vec::<PathBuf>::new(), "nothing is left");
}

#[test]
fn entries_look_as_each_client_wants_them() {
    let world = World::new();
    let program = env!("CARGO_BIN_EXE_testudo");
    let args = json!(["--timeout", "60"]);
    let plain = json!({ "command": program, "args": args });
    let typed = json!({ "type": "stdio", "command": program, "args": args });
    let want = |name: &str| match name {
        "claude-code" | "vscode" => typed.clone(),
        "codex" => json!({ "command": program, "args": args, "default_tools_approval_mode": "approve" }),
        "opencode" => json!({ "type": "local", "command": [program, "--timeout", "60"] }),
        "cline" => json!({ "transport": typed, "timeout": 660 }),
        "goose" => json!({
            "enabled": true, "type": "stdio", "name": "testudo", "cmd": program, "args": args, "timeout": 660,
            "description": "A shielded shell and the files of a project",
        }),
        _ => plain.clone(),
    };
    for (name, path) in FILES {
        run(&world, &["install", name, "--", "--timeout", "60"]);
        assert_eq!(entry(application(name), &world.home().join(path)), want(name), "{name}");
    }
}

/// The files in `tests/data/clients` were written by the clients' own `mcp add`.
#[test]
fn files_of_the_clients_themselves_keep_every_byte() {
    for (name, fixture) in [
        ("claude-code", include_str!("../data/clients/claude-code.json")),
        ("codex", include_str!("../data/clients/codex.toml")),
        ("gemini", include_str!("../data/clients/gemini.json")),
        ("qwen", include_str!("../data/clients/qwen.json")),
        ("opencode", include_str!("../data/clients/opencode.jsonc")),
        ("cline", include_str!("../data/clients/cline.json")),
    ] {
        let world = World::new();
        let file = world.home().join(FILES.iter().find(|(client, _)| *client == name).unwrap().1);
        write(&file, fixture);
        let said = run(&world, &["install", name]);
        let after = std::fs::read_to_string(&file).unwrap();
        assert!(only_adds(fixture, &after) && after.contains("/usr/bin/other"), "{name}: {after}");
        let backup = backup_of(&file);
        assert!(said.contains(&text(&backup)), "{said}");
        assert_eq!(std::fs::read_to_string(&backup).unwrap(), fixture);
        run(&world, &["install", name, "--uninstall"]);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), fixture, "{name}");
        assert!(!backup.exists(), "the file is what the backup was");
    }
}

/// An entry that the person has refined keeps what testudo does not set. Only the program changes.
#[test]
fn an_existing_entry_keeps_the_persons_own_settings() {
    let world = World::new();
    let program = env!("CARGO_BIN_EXE_testudo");
    let rows = [
        (
            "cursor",
            "{\n  // mine\n  \"mcpServers\": {\n    \"testudo\": { \"command\": \"OLD\", \"env\": {\"A\": \"1\"} }\n  }\n}\n",
        ),
        (
            "codex",
            "[mcp_servers.testudo]\ncommand = \"OLD\" # mine\nargs = []\ndefault_tools_approval_mode = \"prompt\"\n",
        ),
        (
            "goose",
            "extensions:\n  testudo:\n    type: stdio\n    name: testudo\n    cmd: OLD\n    args: []\n    timeout: 9 # mine\n",
        ),
    ];
    for (name, before) in rows {
        let file = world.home().join(FILES.iter().find(|(client, _)| *client == name).unwrap().1);
        write(&file, before);
        run(&world, &["install", name]);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), before.replace("OLD", program), "{name}");
    }
    // Taken back, the entry is gone, although the backup has an older one.
    run(&world, &["install", "cursor", "--uninstall"]);
    let left = std::fs::read_to_string(world.home().join(".cursor/mcp.json")).unwrap();
    assert!(left.contains("// mine") && !left.contains("testudo"), "{left}");
    let remote = r#"{"mcpServers": {"testudo": {"url": "http://127.0.0.1:8731/mcp"}}}"#;
    write(&world.home().join(".cursor/mcp.json"), remote);
    let output = world.run(&["install", "cursor"]);
    assert!(err(&output).contains("another kind (it has \"url\")"), "{}", err(&output));
    assert_eq!(std::fs::read_to_string(world.home().join(".cursor/mcp.json")).unwrap(), remote);
}

#[test]
fn a_file_that_does_not_parse_is_refused_with_line_and_column() {
    let world = World::new();
    let rows = [
        ("claude-code", "{\n  \"mcpServers\": {\n", "line 2, column 17"),
        ("vscode", "{\n  // fine here\n  \"servers\": { ]\n}", "line 3, column 16"),
        ("codex", "model = \"x\"\n[mcp_servers\n", "line 2, column "),
        ("goose", "extensions:\n  a: [1\nb: }\n", "line "),
        ("cursor", "{\n  \"mcpServers\": 5\n}", "line 2, column 17: \"mcpServers\" is not an object"),
    ];
    for (name, content, want) in rows {
        let file = world.home().join(FILES.iter().find(|(client, _)| *client == name).unwrap().1);
        write(&file, content);
        for words in [&["install", name][..], &["install", name, "--print"]] {
            let output = world.run(words);
            assert_eq!(output.status.code(), Some(2), "{name}");
            assert!(err(&output).contains(want) && err(&output).contains(&text(&file)), "{name}: {}", err(&output));
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), content, "{name}");
        assert!(!backup_of(&file).exists(), "{name}");
    }
}

#[test]
fn links_and_modes_stay_as_they_are() {
    let world = World::new();
    let (link, target) = (world.home().join(".cursor/mcp.json"), world.outside().join("dotfiles.json"));
    std::fs::create_dir(link.parent().unwrap()).unwrap();
    std::fs::write(&target, "{}\n").unwrap();
    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink("../../outside/dotfiles.json", &link).unwrap();
    run(&world, &["install", "cursor"]);
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert!(std::fs::read_to_string(&target).unwrap().contains("testudo"));
    assert_eq!(std::fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(std::fs::metadata(backup_of(&link)).unwrap().permissions().mode() & 0o777, 0o640);
    // A link to a file that is not there yet.
    std::fs::remove_file(&target).unwrap();
    run(&world, &["install", "cursor"]);
    assert!(link.symlink_metadata().unwrap().is_symlink() && target.exists());
    assert_eq!(files(&world.outside()), [target], "no drafts are left");
}

/// A rename could replace it, but a person who makes a file read-only does not want that.
#[test]
fn a_file_that_is_read_only_or_no_text_stays_as_it_is() {
    let world = World::new();
    for (name, path) in FILES {
        let file = world.home().join(path);
        write(&file, "");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o444)).unwrap();
        assert!(run(&world, &["install", name, "--print"]).contains("testudo"), "{name}: looking is no change");
        let output = world.run(&["install", name]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(err(&output).contains("the file is read-only; make it writable first"), "{name}: {}", err(&output));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "", "{name}");
        let left = files(file.parent().unwrap());
        assert!(left.iter().eq([&file]), "{name}: neither a backup nor a draft is left: {left:?}");
        std::fs::remove_file(&file).unwrap();

        write(&file, "");
        std::fs::write(&file, b"\xff\xfe{\0}\0").unwrap();
        assert!(err(&world.run(&["install", name])).contains("it is not text in UTF-8"), "{name}");
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        assert!(err(&world.run(&["install", name])).contains("it is not a file of settings"), "{name}");
        std::fs::remove_dir(&file).unwrap();
    }
}

#[test]
fn a_project_has_a_configuration_of_its_own() {
    let world = World::new();
    for (name, path) in [
        ("claude-code", ".mcp.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
        ("codex", ".codex/config.toml"),
        ("gemini", ".gemini/settings.json"),
        ("zed", ".zed/settings.json"),
        ("opencode", "opencode.jsonc"),
        ("qwen", ".qwen/settings.json"),
    ] {
        run(&world, &["install", name, "--project"]);
        assert!(entry(application(name), &world.project().join(path)).is_object(), "{name}");
        run(&world, &["install", name, "--project", "--uninstall"]);
        assert!(!world.project().join(path).exists(), "{name}");
    }
    assert_eq!(files(&world.home()), Vec::<PathBuf>::new());
    // opencode's other file, if the project has it.
    world.file("opencode.json", "{\"theme\": \"x\"}");
    run(&world, &["install", "opencode", "--project"]);
    assert!(world.read("opencode.json").contains("testudo"));
    let output = world.run(&["install", "windsurf", "--project"]);
    assert!(err(&output).contains("Windsurf has no configuration for a single project"), "{}", err(&output));
}

#[test]
fn options_of_the_server_are_checked_and_their_paths_are_absolute() {
    let world = World::new();
    std::fs::create_dir(world.project().join("app")).unwrap();
    run(&world, &["install", "Claude Desktop", "--", "--project-dir", "app", "--allow-dir=.", "--deny", "rm"]);
    let file = world.home().join(".config/Claude/claude_desktop_config.json");
    let (app, project) = (text(&world.project().join("app")), text(&world.project()));
    let args = entry(application("claude-desktop"), &file)["args"].clone();
    assert_eq!(args, json!(["--project-dir", app, format!("--allow-dir={project}"), "--deny", "rm"]));
    for (words, want) in [
        (&["install", "cursor", "--", "--tmeout", "5"][..], "'--tmeout'"),
        (&["install", "cursor", "--", "--timeout", "soon"], "bad value for --timeout"),
        (&["install", "cursor", "--", "doctor"], "no subcommand"),
        (&["install", "cursor", "--", "--disable-tools", "bosh"], "did you mean bash?"),
        (&["install", "cursor", "--timeout", "5"], "-- --timeout"),
        (&["--timeout", "5", "install", "cursor"], "behind `--`"),
        (&["install", "cursr"], "did you mean cursor?"),
        (&["install", "emacs-of-old"], "the clients are claude-code, "),
        (&["install"], "CLIENT"),
    ] {
        let output = world.run(words);
        assert!(err(&output).contains(want), "{words:?}: {}", err(&output));
        assert_eq!(output.status.code(), Some(2), "{words:?}");
    }
    assert!(!world.home().join(".cursor").exists());
}

#[test]
fn the_list_and_doctor_show_where_it_is_registered() {
    let world = World::new();
    std::fs::create_dir(world.home().join(".cursor")).unwrap();
    run(&world, &["install", "codex", "--", "--timeout", "60"]);
    run(&world, &["install", "claude-code", "--project"]);
    write(&world.home().join(".qwen/settings.json"), r#"{"mcpServers": {"testudo": {"command": "/gone/testudo"}}}"#);
    write(&world.home().join(".gemini/settings.json"), "{");
    let list = run(&world, &["install", "--list"]);
    let row = |name: &str| list.lines().filter(|line| line.starts_with(name)).collect::<Vec<_>>().join("\n");
    assert!(row("cursor").contains("yes         no"), "{list}");
    assert!(row("windsurf").contains("no          no"), "{list}");
    assert!(row("codex").contains("testudo --timeout 60 ("), "{list}");
    assert!(row("claude-code").contains(".mcp.json"), "{list}");
    assert!(row("qwen").contains("the program is not there"), "{list}");
    assert!(row("gemini").contains("line 1, column "), "{list}");
    let doctor = out(&world.run(&["doctor"]));
    for part in ["Codex in ", "Claude Code in ", "Qwen Code in ", "the program is not there"] {
        assert!(doctor.contains(part), "{part} is missing in:\n{doctor}");
    }
}

/// What the entry says can be started, and speaks MCP.
#[test]
fn the_registered_command_serves() {
    let world = World::new();
    run(&world, &["install", "cursor", "--", "--project-dir", "."]);
    let entry = entry(application("cursor"), &world.home().join(".cursor/mcp.json"));
    let mut command = Command::new(entry["command"].as_str().unwrap());
    command.args(entry["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap())).current_dir("/");
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", world.home());
    let mut client = Client::connect(command, StartOptions::default());
    let reply = client.call("bash", json!({ "command": "pwd" }));
    assert!(reply.text().contains(&text(&world.project())), "{}", reply.text());
}
