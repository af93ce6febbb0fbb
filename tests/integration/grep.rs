use std::path::Path;

use serde_json::json;

use crate::support::{Client, World, read_position, until};

fn grep(server: &mut Client, arguments: serde_json::Value) -> String {
    server.call("grep", arguments).ok()
}

#[test]
fn files_come_with_counts_and_first_matches_in_order() {
    let world = World::new();
    world.file("b.rs", "x\nneedle one\nneedle two\n");
    world.file("a/z.rs", "  needle\n");
    world.file(".github/w.yml", "needle");
    world.file("none", "hay\n");
    let mut server = world.server(&[]);
    assert_eq!(
        grep(&mut server, json!({ "pattern": "needle" })),
        ".github/w.yml (1 match)\n  1: needle\na/z.rs (1 match)\n  1: needle\nb.rs (2 matches)\n  2: needle one\n\n\
         4 matches in 3 files; 4 files searched"
    );
    assert_eq!(
        grep(&mut server, json!({ "pattern": "needle", "mode": "count", "type": "rust" })),
        "a/z.rs:1\nb.rs:2\n\n3 matches in 2 files; 2 files searched"
    );
}

#[test]
fn lines_come_with_context_and_in_pages() {
    let world = World::new();
    world.file("a", "1\n2 x\n3\n4\n5\n6 x\n7 x\n");
    world.file("b", "x\n");
    let mut server = world.server(&[]);
    assert_eq!(
        grep(&mut server, json!({ "pattern": "x", "mode": "content", "context": 1, "path": "a" })),
        "a-1-1\na:2:2 x\na-3-3\n--\na-5-5\na:6:6 x\na:7:7 x\n\n3 matches in 1 files; 1 files searched"
    );
    let first = grep(&mut server, json!({ "pattern": "x", "mode": "content", "max_results": 2 }));
    assert_eq!(
        first,
        "a:2:2 x\na:6:6 x\n\n4 matches in 2 files; 2 files searched\n[Shown: matches 1-2 of 4. Next page: offset=2]"
    );
    let second = grep(&mut server, json!({ "pattern": "x", "mode": "content", "max_results": 2, "offset": 2 }));
    assert_eq!(second, "a:7:7 x\nb:1:x\n\n4 matches in 2 files; 2 files searched");
}

#[test]
fn without_matches_the_reply_says_what_was_not_searched() {
    let world = World::new();
    world.file(".gitignore", "target/\n*.log\n");
    world.file("target/out", "needle\nneedle\n");
    world.file("x.log", "needle\n");
    world.file("src/a", "hay\n");
    world.file("binary", b"\0needle");
    let mut server = world.server(&[]);
    assert_eq!(
        grep(&mut server, json!({ "pattern": "needle" })),
        "0 matches in 2 files; 3 matches in ignored paths\nNot searched: 1 binary files"
    );
    assert!(grep(&mut server, json!({ "pattern": "needle", "no_ignore": true })).contains("3 matches in 2 files"));
    // A glob only narrows the search: ignored files stay out. A path that the agent names is searched even if it is ignored.
    assert!(grep(&mut server, json!({ "pattern": "needle", "glob": "*.log" })).starts_with("0 matches in 0 files"));
    assert!(grep(&mut server, json!({ "pattern": "needle", "path": "target" })).starts_with("target/out (2 matches)"));
    assert!(grep(&mut server, json!({ "pattern": "needle", "path": "x.log" })).starts_with("x.log (1 match)"));
    assert!(grep(&mut server, json!({ "pattern": "needle", "path": "binary" })).starts_with("binary (1 match)"));
    server.call("create_file", json!({ "path": "/tmp/note", "content": "needle\n" })).ok();
    assert!(grep(&mut server, json!({ "pattern": "needle", "path": "/tmp/note" })).starts_with("/tmp/note (1 match)"));
}

#[test]
fn patterns_may_cross_lines_or_ignore_case() {
    let world = World::new();
    world.file("f", "begin\r\nmiddle\r\nEND\r\n");
    let mut server = world.server(&[]);
    assert!(grep(&mut server, json!({ "pattern": "middle$" })).starts_with("f (1 match)"));
    assert!(grep(&mut server, json!({ "pattern": "^end$", "ignore_case": true })).starts_with("f (1 match)"));
    let crossing = grep(&mut server, json!({ "pattern": "begin.*END", "multiline": true, "mode": "content" }));
    assert!(crossing.starts_with("f:1:begin\nf:2:middle\nf:3:END\n"), "{crossing}");
    assert!(grep(&mut server, json!({ "pattern": "begin\\s+middle" })).starts_with("0 matches"));
}

#[test]
fn a_long_line_is_cut_around_its_match() {
    let world = World::new();
    world.file("f", "a".repeat(10_000) + "needle" + &"b".repeat(10_000));
    let mut server = world.server(&[]);
    let text = grep(&mut server, json!({ "pattern": "needle", "mode": "content" }));
    let line = text.lines().next().unwrap().strip_prefix("f:1:").unwrap();
    assert!(line.contains("aneedleb") && line.chars().count() <= 500, "{line}");
}

#[test]
fn denied_and_linked_places_are_not_searched() {
    let world = World::new();
    world.file("secret/f", "needle\n");
    world.file("sub/.env", "needle\n");
    std::fs::write(world.outside().join("f"), "needle\n").unwrap();
    std::os::unix::fs::symlink(world.outside(), world.project().join("link")).unwrap();
    let mut server = world.server(&["--deny-dir", "secret", "--deny-dir", "**/.env"]);
    for no_ignore in [false, true] {
        let text = grep(&mut server, json!({ "pattern": "needle", "no_ignore": no_ignore }));
        assert!(text.starts_with("0 matches in 0 files") && !text.contains("1 matches"), "{text}");
    }
    for path in ["secret", "link", "../outside"] {
        let error = server.call("grep", json!({ "pattern": "needle", "path": path })).err();
        assert!(error.starts_with("access denied: path "), "{error}");
    }
}

#[test]
fn mistakes_are_explained() {
    let world = World::new();
    let mut server = world.server(&[]);
    let rows = [
        (json!({ "pattern": "a(" }), "invalid pattern: "),
        (json!({ "pattern": "" }), "pattern must not be empty"),
        (json!({ "pattern": "a", "type": "rus" }), "unknown file type \"rus\"\nDid you mean \"rust\"?"),
        (json!({ "pattern": "a", "glob": "a[" }), "invalid glob \"a[\""),
        (json!({ "pattern": "a", "path": "nowhere" }), "file not found: nowhere"),
    ];
    for (arguments, want) in rows {
        let error = server.call("grep", arguments.clone()).err();
        assert!(error.starts_with(want), "{arguments}: {error}");
    }
}

#[test]
fn a_cancelled_search_stops_reading() {
    let world = World::new();
    let [first, second] = ["first", "second"].map(|name| {
        let path = world.project().join(name);
        // Sparse: too large to be searched within the time budget, and it takes no room on the disk.
        std::fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
        path
    });
    let mut server = world.server(&[]);
    let pid = server.pid();
    let mut search = |path: &Path| {
        let pending = server.start("grep", json!({ "pattern": "needle", "path": path.file_name().unwrap().to_str() }));
        until("the search to read", || read_position(pid, path).filter(|position| *position > 0));
        pending
    };
    search(&first);
    let cancelled = search(&second);
    server.cancel(&cancelled);
    until("the cancelled search to close its file", || read_position(pid, &second).is_none().then_some(()));
    // Both have the same time budget. Without the cancel, the first search would have ended before the second.
    assert!(read_position(pid, &first).is_some());
}

#[test]
fn a_pattern_with_a_line_ending_turns_multiline_on_and_the_result_says_so() {
    let world = World::new();
    world.file("a.txt", "one\ntwo\nC:\\new\n");
    let mut server = world.server(&[]);
    let said = "multiline was turned on";
    let crossing = grep(&mut server, json!({ "pattern": "one\\ntwo" }));
    assert!(crossing.contains("1 match") && crossing.contains(said), "{crossing}");
    for quiet in [json!({ "pattern": "one\\ntwo", "multiline": true }), json!({ "pattern": "C:\\\\new" })] {
        let text = grep(&mut server, quiet);
        assert!(text.contains("1 match") && !text.contains(said), "{text}");
    }
}

/// Agents write `fn(a)` and mean it.
#[test]
fn a_pattern_that_only_matches_as_plain_text_is_pointed_out() {
    let world = World::new();
    world.file("a.rs", "fn(a) {}\nfn(a);\n");
    let mut server = world.server(&[]);
    let text = grep(&mut server, json!({ "pattern": "fn(a)" }));
    assert!(text.starts_with("0 matches in 1 files"), "{text}");
    assert!(text.ends_with("\nAs plain text there are 2: the pattern is fn\\(a\\)"), "{text}");
    assert!(grep(&mut server, json!({ "pattern": "fn\\(a\\)" })).contains("2 matches in 1 files"));
    assert!(!grep(&mut server, json!({ "pattern": "fn(b)" })).contains("plain text"));
}
