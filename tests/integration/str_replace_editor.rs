use serde_json::json;

use crate::support::{World, text};

#[test]
fn its_texts_are_those_of_the_split_tools() {
    let (one, two) = (World::new(), World::new());
    let mut editor = one.server(&["--anthropic-compat"]);
    let mut split = two.server(&[]);
    let mut same = |arguments: serde_json::Value, tool: &str, theirs: serde_json::Value| {
        let got = editor.call("str_replace_editor", arguments).text().replace(&text(&one.project()), "W");
        let want = split.call(tool, theirs).text().replace(&text(&two.project()), "W");
        assert_eq!(got, want);
    };
    same(
        json!({ "command": "create", "path": "f", "file_text": "a\nb\n" }),
        "create_file",
        json!({ "path": "f", "content": "a\nb\n" }),
    );
    same(json!({ "command": "view", "path": "f" }), "view", json!({ "path": "f" }));
    same(
        json!({ "command": "view", "path": "f", "view_range": [9, 9] }),
        "view",
        json!({ "path": "f", "view_range": [9, 9] }),
    );
    let edit = json!({ "path": "f", "old_str": "b", "new_str": "c" });
    let mut with_command = edit.clone();
    with_command["command"] = "str_replace".into();
    same(with_command.clone(), "str_replace", edit.clone());
    same(with_command, "str_replace", edit);
}

#[test]
fn lines_are_inserted_after_a_line() {
    let world = World::new();
    let rows = [
        ("a\nb\n", 0, "x", "x\na\nb\n"),
        ("a\nb\n", 1, "x\ny\n", "a\nx\ny\nb\n"),
        ("a\r\nb\r\n", 2, "x\ny", "a\r\nb\r\nx\r\ny\r\n"),
        ("a\nb", 2, "x", "a\nb\nx"),
        ("", 0, "x\n", "x\n"),
    ];
    let mut server = world.server(&["--anthropic-compat"]);
    for (before, line, new, after) in rows {
        let path = world.file("f", before);
        let arguments = json!({ "command": "insert", "path": "f", "insert_line": line, "new_str": new });
        let reply = server.call("str_replace_editor", arguments).ok();
        assert!(reply.starts_with(&format!("Inserted in {}\n\n", text(&path))), "{reply}");
        assert_eq!(world.read("f"), after, "{before:?} {line}");
    }
    world.file("f", "a\n");
    let arguments = json!({ "command": "insert", "path": "f", "insert_line": 2, "new_str": "x" });
    let error = server.call("str_replace_editor", arguments).err();
    assert_eq!(error, "invalid insert_line: 2 exceeds total lines 1");
}

#[test]
fn a_missing_argument_or_an_unknown_command_is_named() {
    let world = World::new();
    world.file("f", "a\n");
    let mut server = world.server(&["--anthropic-compat"]);
    let rows = [
        ("delete", "unknown command: delete (valid commands: view, str_replace, create, insert)"),
        ("create", "file_text is required for create\nNothing was changed."),
        ("insert", "insert_line is required for insert\nNothing was changed."),
        ("str_replace", "old_str is required for str_replace\nNothing was changed."),
    ];
    for (command, want) in rows {
        assert_eq!(server.call("str_replace_editor", json!({ "command": command, "path": "f" })).err(), want);
    }
}
