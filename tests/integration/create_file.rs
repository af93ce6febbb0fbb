use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::json;

use crate::support::{Client, World, open_files, text, until};

#[test]
fn a_file_is_made_with_the_directories_it_needs() {
    let world = World::new();
    let mut server = world.server(&[]);
    let path = world.project().join("a/b/c/d.txt");
    let reply = server.call("create_file", json!({ "path": "a/b/c/d.txt", "content": "é\n" })).ok();
    assert_eq!(reply, format!("Created {} (3 bytes)", text(&path)));
    assert_eq!(world.read("a/b/c/d.txt"), "é\n");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o644);
}

#[test]
fn an_existing_file_is_overwritten_and_keeps_its_mode_and_links() {
    let world = World::new();
    let path = world.file("real", "old");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real", world.project().join("link")).unwrap();
    symlink("later", world.project().join("dangling")).unwrap();
    let mut server = world.server(&[]);
    server.call("create_file", json!({ "path": "link", "content": "new" })).ok();
    server.call("create_file", json!({ "path": "dangling", "content": "made" })).ok();
    assert_eq!((world.read("real"), world.read("later")), ("new".into(), "made".into()));
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o640);
    assert!(world.project().join("link").is_symlink() && world.project().join("dangling").is_symlink());
}

#[test]
fn a_refused_write_makes_no_directory() {
    let world = World::new();
    symlink(world.outside(), world.project().join("out")).unwrap();
    symlink(world.outside().join("later"), world.project().join("dangling")).unwrap();
    let mut server = world.server(&["--deny-dir", "**/secret", "--max-file-size", "10B"]);
    for path in ["../outside/a/b", "out/a/b", "dangling", "secret/a/b", "secret"] {
        let error = server.call("create_file", json!({ "path": path, "content": "x" })).err();
        assert!(error.starts_with("access denied: path "), "{error}");
    }
    let error = server.call("create_file", json!({ "path": "new/f", "content": "x".repeat(11) })).err();
    assert!(error.starts_with("content size 11 bytes exceeds maximum 10 bytes"), "{error}");
    assert!(std::fs::read_dir(world.outside()).unwrap().next().is_none());
    for name in ["secret", "new"] {
        assert!(!world.project().join(name).exists(), "{name}");
    }
}

#[test]
fn a_directory_is_not_overwritten() {
    let world = World::new();
    world.file("d/f", "");
    let mut server = world.server(&[]);
    for path in ["d", ".", "new/"] {
        let error = server.call("create_file", json!({ "path": path, "content": "x" })).err();
        assert!(error.starts_with(&format!("{path} is a directory")), "{error}");
    }
}

#[test]
fn overwriting_a_file_that_changed_shows_what_was_lost() {
    let world = World::new();
    world.file("f", "a\nb\n");
    let mut server = world.server(&[]);
    server.call("view", json!({ "path": "f" })).ok();
    world.file("f", "a\nb\nprecious\n");
    let reply = server.call("create_file", json!({ "path": "f", "content": "new\n" })).ok();
    assert!(reply.starts_with("Created ") && reply.contains("+precious"), "{reply}");
}

#[test]
fn a_server_killed_in_the_middle_of_a_write_leaves_no_temporary_file() {
    const SIZE: usize = 8 << 20;
    let world = World::new();
    let content = "x".repeat(SIZE);
    // A new name for every write: one that replaces a file has a temporary name for an instant.
    let mut names = (0..).map(|n| format!("f{n}"));
    let mut write =
        |server: &mut Client| server.start("create_file", json!({ "path": names.next(), "content": content }));
    for _ in 0..5 {
        let mut server = world.server(&[]);
        let mut pending = write(&mut server);
        until("an open file of the project that has no name yet", || {
            if pending.answered().is_some() {
                // This write was over before it could be observed.
                pending = write(&mut server);
            }
            let in_project = |file: &Path| file.parent() == Some(&world.project());
            let named = |file: &Path| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with('f'));
            open_files(server.pid()).into_iter().find(|(file, _)| in_project(file) && !named(file))
        });
        server.kill();
    }
    for entry in std::fs::read_dir(world.project()).unwrap() {
        let entry = entry.unwrap();
        assert!(entry.file_name().to_string_lossy().starts_with('f'), "{entry:?}");
        assert_eq!(entry.metadata().unwrap().len(), SIZE as u64);
    }
}
