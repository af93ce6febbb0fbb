//! What one `str_replace` may cost. The inputs are made to be as large and as slow as possible.

use serde_json::{Value, json};

use crate::support::{Client, World, peak, resident};

const MIB: usize = 1 << 20;

/// Calls the tool and returns how many MiB the server needed for it at most, and its text.
fn cost(server: &mut Client, arguments: Value) -> (u64, String) {
    // The first call of a server also pays for what every later call uses.
    server.call("str_replace", json!({ "path": "nowhere", "old_str": "x" })).err();
    let before = resident(server.pid());
    let text = server.call("str_replace", arguments).text();
    (peak(server.pid()).saturating_sub(before) / 1024, text)
}

#[test]
fn a_result_that_would_be_too_large_is_refused_before_the_work() {
    let world = World::new();
    world.file("f", "a".repeat(MIB));
    let mut server = world.server(&[]);
    let new = "b".repeat(5 * 1024);
    let (used, text) = cost(&mut server, json!({ "path": "f", "old_str": "a", "new_str": new, "replace_all": true }));
    assert!(text.starts_with("content size 5368709120 bytes exceeds maximum 10485760 bytes\n"), "{text}");
    assert!(used < 16, "{used} MiB");
    assert_eq!(world.read("f").len(), MIB);
    server.bash("true").ok();
}

#[test]
fn an_edit_needs_no_more_memory_than_the_old_and_the_new_file() {
    let rows = [
        (json!({ "old_str": "a", "new_str": "b", "replace_all": true }), "Replaced 10000000 occurrences in "),
        (json!({ "old_str": "aaaX", "new_str": "b" }), "Replaced in "),
        (json!({ "old_str": "a", "new_str": "b" }), "found 10000000 occurrences of the string in f;"),
    ];
    for (mut arguments, want) in rows {
        let world = World::new();
        world.file("f", "a".repeat(10_000_000) + "X");
        let mut server = world.server(&[]);
        arguments["path"] = "f".into();
        let (used, text) = cost(&mut server, arguments);
        assert!(text.starts_with(want), "{}", &text[..text.len().min(300)]);
        assert!(used <= 24, "{used} MiB for {want}");
    }
}

/// The usual edit: one exact match in lines of ordinary length.
#[test]
fn the_usual_edit_of_a_large_file_does_not_hold_it_in_memory() {
    let world = World::new();
    let lines = "a line of text\n".repeat(300_000);
    let (file, last) = (format!("{lines}the needle\n{lines}"), lines.len() + "the ".len());
    world.file("f", &file);
    let mut server = world.server(&[]);
    let (used, text) = cost(&mut server, json!({ "path": "f", "old_str": "needle", "new_str": "thread" }));
    assert!(text.starts_with("Replaced in ") && text.contains("300001\tthe thread\n"), "{text}");
    assert!(used < 5, "{used} MiB for a file of {} MiB", file.len() / MIB);
    let mut expected = file.into_bytes();
    expected[last..last + "thread".len()].copy_from_slice(b"thread");
    assert!(world.read("f").into_bytes() == expected);
    // The session knows the file as it is now, and notices when it changes.
    let again = server.call("str_replace", json!({ "path": "f", "old_str": "thread", "new_str": "pin" })).ok();
    assert!(!again.contains("has changed"), "{again}");
    world.file("f", format!("{lines}the needle\n{lines}"));
    let after = server.call("str_replace", json!({ "path": "f", "old_str": "needle", "new_str": "pin" })).ok();
    assert!(
        after.contains("The file has changed since this session last saw it; it is too large to show how."),
        "{after}"
    );
}

/// Texts that are not in the file, so that it has to be explained why. Each once took minutes or more memory than there is.
#[test]
fn a_text_that_is_not_found_is_explained_at_a_bounded_cost() {
    let lines = |count: usize, line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<Vec<_>>().concat();
    let telling = |n: usize| format!("line {n} of the text\n");
    let alike = |n: usize| format!("{}{n}\n", "abcdefgh ".repeat(50));
    let rows = [
        // Half of a file of 10 MB, with a difference at its end.
        (lines(400_000, &telling), lines(200_000, &telling) + "something else", "The nearest text is at line 1:"),
        // One line of 40 KB beside 20,000 lines that are a little like it.
        (lines(20_000, &alike), "abcdefgh ".repeat(4_500) + "!", "The nearest text is at line "),
        // The same line, everywhere in both.
        ("same\n".repeat(500_000), "same\n".repeat(200_000) + "other", "The nearest text is at line "),
        // A match everywhere, once line endings are ignored.
        ("a\r\n".repeat(1_000_000), "a\na\n".to_owned(), "After normalising line endings there are 500000 matches"),
        // The same with blanks that are ignored, and with an indentation that cannot be one.
        ("a \n".repeat(500_000), "a\na\n".to_owned(), "After normalising trailing blanks there are 250000 matches"),
        ("a\n".repeat(500_000), " ".repeat(2 * MIB) + "a\n", "string not found in f"),
        // Nothing but line endings, and one line without any.
        ("\n".repeat(1_000_000), "x\n".repeat(MIB / 4), "string not found in f"),
        ("x".repeat(9_000_000), "X".repeat(4_000_000) + "y", "string not found in f"),
    ];
    for (file, old, want) in rows {
        let world = World::new();
        world.file("f", &file);
        let mut server = world.server(&[]);
        let (used, text) = cost(&mut server, json!({ "path": "f", "old_str": old, "new_str": "z" }));
        assert!(text.starts_with("string not found in f") && text.contains(want), "{}", &text[..text.len().min(300)]);
        // The request itself is in memory a few times: as the line that came, as JSON and as text.
        let allowed = 2 * file.len() / MIB + 6 * old.len() / MIB + 60;
        assert!(used <= allowed as u64, "{used} MiB, {allowed} are allowed: {want}");
        assert_eq!(world.read("f").len(), file.len());
    }
}

/// The new lines are written in the style of the file, however many there are.
#[test]
fn a_large_edit_in_another_style_is_made_at_a_bounded_cost() {
    let world = World::new();
    world.file("f", "\tsay “a”\r\n".repeat(300_000));
    let mut server = world.server(&[]);
    let (old, new) = ("    say \"a\"\n".repeat(300_000), "    say \"b\"\n".repeat(300_000));
    let (used, text) = cost(&mut server, json!({ "path": "f", "old_str": old, "new_str": new }));
    assert!(text.starts_with("Replaced in ") && text.contains("after normalising line endings"), "{}", &text[..300]);
    assert!(used <= 120, "{used} MiB");
    assert_eq!(world.read("f"), "\tsay “b”\r\n".repeat(300_000));
}
