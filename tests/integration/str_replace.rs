use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use serde_json::json;

use crate::support::{Client, World, resident, text};

fn replace(server: &mut Client, path: &str, old: &str, new: &str) -> crate::support::Reply {
    server.call("str_replace", json!({ "path": path, "old_str": old, "new_str": new }))
}

#[test]
fn one_match_is_replaced_and_shown_with_four_lines_around() {
    let world = World::new();
    let path = world.file("f", (1..=12).map(|n| format!("l{n}\n")).collect::<Vec<_>>().concat());
    let mut server = world.server(&[]);
    let want = format!(
        "Replaced in {}\n\n 2\tl2\n 3\tl3\n 4\tl4\n 5\tl5\n 6\tsix\n 7\tl7\n 8\tl8\n 9\tl9\n10\tl10\n",
        text(&path)
    );
    assert_eq!(replace(&mut server, "f", "l6", "six").ok(), want);
    assert_eq!(
        server.call("str_replace", json!({ "path": "f", "old_str": "six\n" })).ok().lines().nth(6),
        Some(" 6\tl7")
    );
    assert!(!world.read("f").contains("six"));
}

#[test]
fn only_the_matched_bytes_change() {
    let world = World::new();
    let before = b"\xEF\xBB\xBFa\r\nb\ncaf\xE9\rold\r\n\x00\xFF no newline";
    let path = world.file("real", before);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o4751)).unwrap();
    symlink("real", world.project().join("link")).unwrap();
    let set = std::process::Command::new("setfattr").args(["-n", "user.note", "-v", "kept"]).arg(&path).status();
    let mut server = world.server(&[]);
    replace(&mut server, "link", "old", "new").ok();
    let after = std::fs::read(&path).unwrap();
    assert_eq!(after, b"\xEF\xBB\xBFa\r\nb\ncaf\xE9\rnew\r\n\x00\xFF no newline");
    assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o4751);
    assert!(world.project().join("link").is_symlink());
    if set.is_ok_and(|status| status.success()) {
        let got = std::process::Command::new("getfattr").args(["--only-values", "-n", "user.note"]).arg(&path).output();
        assert_eq!(got.unwrap().stdout, b"kept");
    }
}

#[test]
fn a_file_in_utf_16_is_edited_in_utf_16() {
    let world = World::new();
    let stored = |text: &str| text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<u8>>();
    let mut lone = stored("\u{FEFF}a\r\n𝄞 old\r\n");
    lone.extend([0xD8, 0x00]);
    let path = world.file("f", &lone);
    let mut server = world.server(&[]);
    let reply = replace(&mut server, "f", "𝄞 old\n", "𝄞 new\n").ok();
    assert!(reply.contains("1\ta\n2\t𝄞 new\n"), "{reply}");
    let mut want = stored("\u{FEFF}a\r\n𝄞 new\r\n");
    want.extend([0xD8, 0x00]);
    assert_eq!(std::fs::read(path).unwrap(), want);
}

#[test]
fn a_match_in_another_style_is_replaced_in_the_files_style_and_the_reply_says_so() {
    let world = World::new();
    world.file("tabs", "fn a() {\r\n\tb();\r\n}\r\n");
    let mut server = world.server(&[]);
    let reply = replace(&mut server, "tabs", "    b();\n", "    b();\n    c();\n").ok();
    assert_eq!(world.read("tabs"), "fn a() {\r\n\tb();\r\n\tc();\r\n}\r\n");
    assert!(reply.contains("after normalising line endings, indentation"), "{reply}");
}

#[test]
fn a_near_miss_is_explained_and_changes_nothing() {
    let world = World::new();
    world.file("f", "one\nlet Value = 1;\ntwo\n");
    let mut server = world.server(&[]);
    let error = replace(&mut server, "f", "let value = 1;", "let value = 2;").err();
    assert!(error.starts_with("string not found in f\n"), "{error}");
    assert!(error.contains("First difference at line 2: upper and lower case"), "{error}");
    assert_eq!(world.read("f"), "one\nlet Value = 1;\ntwo\n");
    let error = replace(&mut server, "f", "nowhere near it", "two").err();
    assert!(error.contains("new_str is already in the file, at line 3"), "{error}");
}

#[test]
fn several_matches_are_refused_with_their_lines() {
    let world = World::new();
    world.file("f", "a\nb\na\n");
    let mut server = world.server(&[]);
    let error = replace(&mut server, "f", "a", "c").err();
    assert!(
        error.starts_with(
            "found 2 occurrences of the string in f; match must be unique (use replace_all to replace all)\n"
        ),
        "{error}"
    );
    assert!(error.contains("lines 1, 3"), "{error}");
    assert_eq!(replace(&mut server, "f", "", "c").err(), "old_str must not be empty");
}

#[test]
fn a_file_with_hard_links_is_replaced_and_the_reply_says_so() {
    let world = World::new();
    let path = world.file("f", "old\n");
    std::fs::hard_link(&path, world.project().join("g")).unwrap();
    let mut server = world.server(&[]);
    let reply = replace(&mut server, "f", "old", "new").ok();
    assert!(reply.contains("2 names (hard links)"), "{reply}");
    assert_eq!((world.read("f"), world.read("g")), ("new\n".into(), "old\n".into()));
}

#[test]
fn a_change_elsewhere_is_mentioned_and_a_change_in_the_edited_lines_refuses_the_edit() {
    let world = World::new();
    world.file("f", "a\nb\nc\nd\ne\n");
    let mut server = world.server(&[]);
    server.call("view", json!({ "path": "f" })).ok();
    world.file("f", "a\nb\nc\nd\nE\n");
    let reply = replace(&mut server, "f", "a", "A").ok();
    assert!(reply.contains("has changed since this session last saw it") && reply.contains("+E"), "{reply}");
    world.file("f", "A\nb2\nc\nd\nE\n");
    let error = replace(&mut server, "f", "b", "B").err();
    assert!(error.starts_with("f has changed at this very place"), "{error}");
    assert!(error.contains("-b\n+b2"), "{error}");
    assert_eq!(world.read("f"), "A\nb2\nc\nd\nE\n");
    // The error has shown the change, so the same edit is now made.
    replace(&mut server, "f", "b", "B").ok();
    world.file("f", "A\nB2\nX\nd\nE\n");
    let error = replace(&mut server, "f", "c\n", "C\n").err();
    assert!(error.starts_with("string not found in f\n") && error.contains("-c\n+X"), "{error}");
}

#[test]
fn text_that_a_command_wrote_can_be_edited_without_viewing_the_file_again() {
    let world = World::new();
    world.file("f", "a\nb\n");
    let mut server = world.server(&[]);
    server.call("view", json!({ "path": "f" })).ok();
    server.bash("sed -i s/b/bravo/ f").ok();
    replace(&mut server, "f", "bravo", "B").ok();
    assert_eq!(world.read("f"), "a\nB\n");
}

#[test]
fn two_servers_that_edit_one_file_at_once_lose_no_edit() {
    let world = World::new();
    world.file("f", (0..40).map(|n| format!("a{n:02}\nb{n:02}\n")).collect::<Vec<_>>().concat());
    let edit = |letter: &'static str| {
        let mut server = world.server(&[]);
        for n in 0..40 {
            let old = format!("{letter}{n:02}\n");
            replace(&mut server, "f", &old, &old.to_uppercase()).ok();
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| edit("a"));
        scope.spawn(|| edit("b"));
    });
    assert_eq!(world.read("f"), world.read("f").to_uppercase());
}

#[test]
fn edits_of_large_files_leave_no_memory_behind() {
    let world = World::new();
    world.file("f", "x".repeat(10_000_000) + "needle");
    let mut server = world.server(&[]);
    replace(&mut server, "f", "needle", "NEEDLE").ok();
    let before = resident(server.pid());
    for (old, new) in [("NEEDLE", "needle"), ("needle", "NEEDLE")].repeat(4) {
        replace(&mut server, "f", old, new).ok();
    }
    let after = resident(server.pid());
    assert!(after < before + 8 * 1024, "{before} KiB grew to {after}");
}

#[test]
fn read_only_binds_the_file_tools_too() {
    let world = World::new();
    world.file("f", "a\n");
    let mut server = world.server(&["--sandbox", "read-only"]);
    for error in [
        replace(&mut server, "f", "a", "b").err(),
        server.call("create_file", json!({ "path": "new/g", "content": "x" })).err(),
    ] {
        assert!(error.contains("--sandbox read-only"), "{error}");
    }
    assert_eq!(world.read("f"), "a\n");
    assert!(!world.project().join("new").exists());
}
