use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{World, peak, read_position, until};

fn numbered(range: std::ops::RangeInclusive<u32>, width: usize) -> String {
    range.map(|n| format!("{n:>width$}\tl{n}\n")).collect::<Vec<_>>().concat()
}

fn lines(count: u32) -> String {
    (1..=count).map(|n| format!("l{n}\n")).collect::<Vec<_>>().concat()
}

#[test]
fn a_file_is_shown_with_right_aligned_numbers() {
    let world = World::new();
    world.file("f", lines(10));
    world.file("empty", "");
    world.file("crlf", "a\r\nb");
    let mut server = world.server(&[]);
    assert_eq!(server.call("view", json!({ "path": "f" })).ok(), numbered(1..=10, 2));
    assert_eq!(server.call("view", json!({ "path": "empty" })).ok(), "");
    assert_eq!(server.call("view", json!({ "path": "crlf" })).ok(), "1\ta\n2\tb\n");
}

#[test]
fn a_relative_path_starts_at_the_sessions_cwd() {
    let world = World::new();
    world.file("sub/f", "here\n");
    std::fs::write(world.home().join("g"), "home\n").unwrap();
    let mut server = world.server(&["--workspace-dir", world.home().to_str().unwrap()]);
    server.bash("cd sub").ok();
    assert_eq!(server.call("view", json!({ "path": "f" })).ok(), "1\there\n");
    assert_eq!(server.call("view", json!({ "path": "~/g" })).ok(), "1\thome\n");
}

#[test]
fn a_range_in_a_large_file_needs_no_memory_for_the_rest() {
    let world = World::new();
    let line = "x".repeat(99) + "\n";
    world.file("big", line.repeat(500_000));
    let mut server = world.server(&[]);
    server.call("view", json!({ "path": "big", "view_range": [1, 2] })).ok();
    let before = peak(server.pid());
    let want = format!("400000\t{line}400001\t{line}");
    assert_eq!(server.call("view", json!({ "path": "big", "view_range": [400_000, 400_001] })).ok(), want);
    let after = peak(server.pid());
    assert!(after < before + 4 * 1024, "{before} KiB grew to {after}");
    let error = server.call("view", json!({ "path": "big" })).err();
    assert!(error.starts_with("file size 50000000 bytes exceeds maximum 10485760 bytes\n"), "{error}");
    assert!(error.contains("view_range"), "{error}");
}

#[test]
fn a_cancelled_view_stops_reading() {
    let world = World::new();
    let path = world.file("big", "x".repeat(16 << 10));
    // Sparse: it takes minutes to read up to the second line, and no room on the disk.
    std::fs::File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
    let mut server = world.server(&[]);
    let pending = server.start("view", json!({ "path": "big", "view_range": [2, 3] }));
    until("the view to read", || read_position(server.pid(), &path).filter(|position| *position > 1 << 20));
    server.cancel(&pending);
    until("the cancelled view to close its file", || read_position(server.pid(), &path).is_none().then_some(()));
}

#[test]
fn text_with_a_byte_order_mark_is_shown_decoded() {
    let world = World::new();
    let utf16: Vec<u8> = "\u{FEFF}grün\r\n𝄞\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    world.file("utf16", utf16);
    world.file("bom", "\u{FEFF}a\n");
    world.file("latin1", b"caf\xE9\n");
    let mut server = world.server(&[]);
    assert_eq!(server.call("view", json!({ "path": "utf16" })).ok(), "1\tgrün\n2\t𝄞\n");
    assert_eq!(server.call("view", json!({ "path": "bom" })).ok(), "1\ta\n");
    assert_eq!(server.call("view", json!({ "path": "latin1" })).ok(), "1\tcaf\u{FFFD}\n");
}

#[test]
fn a_binary_is_shown_as_its_size() {
    let world = World::new();
    world.file("small", b"\0\x01\x02");
    world.file("large", vec![0; 2_516_582]);
    let mut server = world.server(&["--max-file-size", "1KB"]);
    assert_eq!(server.call("view", json!({ "path": "small" })).ok(), "Binary file (3 B)");
    assert_eq!(server.call("view", json!({ "path": "large" })).ok(), "Binary file (2.4 MB)");
}

#[test]
fn a_large_image_is_scaled_down_and_the_reply_says_so() {
    let world = World::new();
    let mut data = Vec::new();
    let large = image::GrayImage::new(4_000, 100);
    large.write_to(&mut std::io::Cursor::new(&mut data), image::ImageFormat::Png).unwrap();
    world.file("wide.dat", &data);
    let mut server = world.server(&[]);
    let reply = server.call("view", json!({ "path": "wide.dat" }));
    assert_eq!(reply.ok(), "Scaled down from 4000x100 to 1568x39 pixels.");
    let blocks: Vec<Value> =
        reply.raw["content"].as_array().unwrap().iter().map(|block| block["type"].clone()).collect();
    assert_eq!(blocks, ["image", "text"]);
    assert_eq!(reply.raw["content"][0]["mimeType"], "image/png");
}

#[test]
fn a_directory_is_a_bounded_tree_of_two_levels() {
    let world = World::new();
    for name in ["d/.env", "d/.git/x", "d/node_modules/y", "d/a/b/c", "d/secret/k", "d/z"] {
        world.file(name, "");
    }
    symlink("/etc", world.project().join("d/l")).unwrap();
    let mut server = world.server(&["--deny-dir", "**/secret"]);
    let tree = server.call("view", json!({ "path": "d" })).ok();
    assert_eq!(tree, "d/\n├── .env\n├── a/\n│   └── b/\n├── l -> /etc\n└── z\n");
    for n in 0..700 {
        world.file(&format!("many/{n:04}"), "");
    }
    let tree = server.call("view", json!({ "path": "many" })).ok();
    assert!(tree.ends_with("├── 0499\n└── … 200 more\n"), "{}", &tree[tree.len() - 100..]);
}

#[test]
fn fifos_and_sockets_are_refused_and_never_waited_for() {
    let world = World::new();
    let fifo = world.project().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(world.project().join("socket")).unwrap();
    let mut server = world.server(&[]);
    for tool in ["view", "str_replace", "create_file"] {
        for (name, what) in [("fifo", "a FIFO"), ("socket", "a socket")] {
            let mut arguments = json!({ "path": name });
            match tool {
                "str_replace" => arguments["old_str"] = "x".into(),
                "create_file" => arguments["content"] = "x".into(),
                _ => {}
            }
            let error = server.call(tool, arguments).err();
            assert!(error.starts_with(&format!("{name} is {what};")), "{error}");
        }
    }
}

#[test]
fn devices_and_proc_are_refused_even_where_the_scope_is_everything() {
    let world = World::new();
    let mut server = world.server(&["--project-dir", "/", "--sandbox", "off"]);
    for path in ["/dev/zero", "/dev/tty", "/proc/kmsg", "/proc/self/mem", "/proc/self/fd/0"] {
        server.call("view", json!({ "path": path })).err();
    }
}

#[test]
fn the_error_for_a_missing_file_names_files_of_the_same_name() {
    let world = World::new();
    for name in ["a/Notes.txt", "b/notes.txt", "c/other.txt"] {
        world.file(name, "");
    }
    let mut server = world.server(&[]);
    let error = server.call("view", json!({ "path": "x/notes.txt" })).err();
    assert!(error.starts_with("file not found: x/notes.txt\n"), "{error}");
    assert!(error.contains("a/Notes.txt") && error.contains("b/notes.txt") && !error.contains("other"), "{error}");
}
