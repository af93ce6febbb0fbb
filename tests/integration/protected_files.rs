//! File tools ask before they write a protected name: programs outside the sandbox later run what such a file says.

use serde_json::json;

use crate::support::{Person, World, choice};

fn git_init(world: &World) {
    let made = std::process::Command::new("git").args(["init", "-q"]).current_dir(world.project()).status();
    assert!(made.unwrap().success());
}

#[test]
fn a_protected_name_is_asked_about_with_what_would_be_written() {
    let world = World::new();
    git_init(&world);
    world.file(".vscode/settings.json", "{\"a\": 1}\n");
    let person = Person::new();
    person.will(choice("deny"));
    let mut server = world.server_with(&["--toolset", "all"], person.options());
    let before = std::fs::read_to_string(world.project().join(".git/config")).unwrap();
    for (path, content) in [
        (".envrc", "curl evil"),
        (".git/hooks/pre-commit", "evil"),
        ("sub/.claude/settings.json", "{}"),
        (".git/config", "[core]"),
    ] {
        let error = server.call("create_file", json!({ "path": path, "content": content })).err();
        assert!(error.contains("refused by the user"), "{path}: {error}");
        let message = person.question(person.questions() - 1)["message"].as_str().unwrap().to_owned();
        assert!(message.contains(path) && message.contains(content) && message.contains("protected name"), "{message}");
        assert!(message.starts_with("May this be written?\n\n│ write "), "{message}");
        assert!(message.contains(&format!("\n│ {content}\n")) && message.ends_with(" B"), "{message}");
    }
    assert!(!world.project().join("sub").exists() && !world.project().join(".envrc").exists());
    assert_eq!(std::fs::read_to_string(world.project().join(".git/config")).unwrap(), before);
    let path = ".vscode/settings.json";
    let edits = [
        ("str_replace", json!({ "path": path, "old_str": "1", "new_str": "42" })),
        ("str_replace_editor", json!({ "command": "insert", "path": path, "insert_line": 0, "new_str": "42" })),
        ("str_replace_editor", json!({ "command": "create", "path": path, "file_text": "42" })),
    ];
    for (tool, arguments) in edits {
        assert!(server.call(tool, arguments).err().contains("refused by the user"), "{tool}");
        let message = person.question(person.questions() - 1)["message"].as_str().unwrap().to_owned();
        assert!(message.contains("42"), "{message}");
    }
    assert_eq!(std::fs::read_to_string(world.project().join(path)).unwrap(), "{\"a\": 1}\n");
}

#[test]
fn a_question_about_a_file_offers_what_makes_sense_for_files_and_shows_both_ends_of_a_long_one() {
    let world = World::new();
    let person = Person::new();
    let mut server = world.server_with(&[], person.options());
    let content = (0..5000).map(|number| format!("line {number}")).collect::<Vec<_>>().join("\n");
    for choice_for_commands in ["program", "always"] {
        person.will(choice(choice_for_commands));
        server.call("create_file", json!({ "path": ".envrc", "content": content })).err();
    }
    let question = person.question(0);
    let choices = question["requestedSchema"]["properties"]["decision"]["oneOf"].as_array().unwrap().clone();
    let choices: Vec<_> = choices.iter().map(|choice| choice["const"].as_str().unwrap()).collect();
    assert_eq!(choices, ["once", "session", "deny"]);
    let message = question["message"].as_str().unwrap();
    assert!(message.lines().count() < 70, "{message}");
    for part in ["│ line 0\n", "│ line 4999\n", "⋮", "size: 5000 lines, 47.7 KB"] {
        assert!(message.contains(part), "{part} is missing in {message}");
    }
    person.will(choice("once"));
    server.call("create_file", json!({ "path": ".envrc", "content": content })).ok();
}

#[test]
fn an_approval_covers_one_content_only() {
    let world = World::new();
    let person = Person::new();
    person.will(choice("session"));
    let mut server = world.server_with(&[], person.options());
    let mut create = |content: &str| server.call("create_file", json!({ "path": ".envrc", "content": content }));
    create("one").ok();
    create("one").ok();
    assert_eq!(person.questions(), 1);
    person.will(choice("deny"));
    create("two").err();
    assert_eq!(std::fs::read_to_string(world.project().join(".envrc")).unwrap(), "one");
}

#[test]
fn ordinary_names_and_the_temporary_directory_are_not_asked_about() {
    let world = World::new();
    git_init(&world);
    let person = Person::new();
    let mut server = world.server_with(&[], person.options());
    for path in ["a.txt", ".github/workflows/x.yml", ".vscode/notes.md", "config", "/tmp/.envrc", ".git/info/exclude"] {
        server.call("create_file", json!({ "path": path, "content": "x" })).ok();
    }
    assert_eq!(person.questions(), 0);
}

#[test]
fn with_nobody_to_ask_the_write_is_refused_unless_the_sandbox_is_off() {
    let world = World::new();
    let create = json!({ "path": ".envrc", "content": "x" });
    let error = world.server(&[]).call("create_file", create.clone()).err();
    assert!(error.contains("nobody to ask") && error.contains("sandbox.protect"), "{error}");
    world.server(&["--sandbox", "off"]).call("create_file", create).ok();
    assert!(world.project().join(".envrc").exists());
}

/// Once a person has allowed a write, the inventory keeps the file as written and guards it against commands.
#[test]
fn an_allowed_file_stays_and_is_guarded_from_commands() {
    for level in ["auto", "landlock"] {
        let (world, person) = (World::new(), Person::new());
        git_init(&world);
        world.file(".mcp.json", "old");
        let settings = world.outside().join("config.toml");
        std::fs::write(&settings, format!("[sandbox]\nlevel = \"{level}\"\n")).unwrap();
        let mut server = world.server_with(&["--config", settings.to_str().unwrap()], person.options());
        // While this command runs, nobody can rule out that a new file is the command's work.
        server.call("bash", json!({ "command": "sleep 1000", "run_in_background": true })).ok();
        for path in [".mcp.json", ".envrc", ".git/hooks/pre-commit", "sub/.claude/settings.json"] {
            server.call("create_file", json!({ "path": path, "content": "allowed" })).ok();
        }
        let config = "[core]\n\thooksPath = elsewhere\n";
        server.call("create_file", json!({ "path": ".git/config", "content": config })).ok();
        for path in [".mcp.json", ".envrc", ".git/hooks/pre-commit", "sub/.claude/settings.json"] {
            let result = server.bash(&format!("cat {path}; echo planted > {path}"));
            assert!(result.text().contains("allowed"), "{level}: {result:?}");
            let now = std::fs::read_to_string(world.project().join(path)).unwrap();
            assert_eq!(now, "allowed", "{level}: {path}");
        }
        assert_eq!(std::fs::read_to_string(world.project().join(".git/config")).unwrap(), config);
    }
}
