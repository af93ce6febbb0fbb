use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::support::{World, text};

#[test]
fn every_path_out_of_the_scope_is_refused_with_the_specified_text() {
    let world = World::new();
    std::fs::write(world.outside().join("x"), "outside\n").unwrap();
    let out = world.outside().join("x");
    symlink(&out, world.project().join("absolute")).unwrap();
    symlink("../outside/x", world.project().join("relative")).unwrap();
    symlink("..", world.project().join("up")).unwrap();
    symlink("loop", world.project().join("loop")).unwrap();
    let mut allowed = ["/tmp".to_owned(), text(&world.project())];
    allowed.sort();
    let mut server = world.server(&[]);
    for path in
        [&text(&out), "../outside/x", "absolute", "relative", "up/outside/x", "a/../../outside/x", "/etc/passwd", "/"]
    {
        let error = server.call("view", json!({ "path": path })).err();
        let want = format!("access denied: path \"{path}\" is outside allowed directories");
        assert_eq!(error, format!("{want}\nAllowed directories: {}", allowed.join(", ")));
    }
    assert!(server.call("view", json!({ "path": "loop" })).err().contains("loop"));
}

#[test]
fn a_link_whose_target_is_in_scope_is_followed() {
    let world = World::new();
    world.file("real/deep/f", "found\n");
    symlink(world.project().join("real"), world.project().join("absolute")).unwrap();
    symlink("real/deep", world.project().join("relative")).unwrap();
    symlink(world.project().join("absolute/deep/../deep"), world.project().join("twice")).unwrap();
    symlink(world.project(), world.home().join("project")).unwrap();
    let mut server = world.server(&[]);
    let from_outside = text(&world.home().join("project/real/deep/f"));
    for path in [
        "absolute/deep/f",
        "relative/f",
        "twice/f",
        "absolute/../real/deep/f",
        "relative/../deep/f",
        "../project/real/deep/f",
        &from_outside,
    ] {
        assert_eq!(server.call("view", json!({ "path": path })).ok(), "1\tfound\n", "{path}");
        let arguments = json!({ "path": path, "old_str": "found", "new_str": "found" });
        server.call("str_replace", arguments).ok();
    }
    assert!(world.project().join("absolute").is_symlink());
}

#[test]
fn a_deny_glob_wins_however_its_files_are_reached() {
    let world = World::new();
    world.file("private/key", "secret\n");
    world.file("a/.env", "secret\n");
    symlink("private", world.project().join("innocent")).unwrap();
    symlink(world.project().join("a/.env"), world.project().join("settings")).unwrap();
    let mut server = world.server(&["--deny-dir", "**/.env", "--deny-dir", "private"]);
    for (path, pattern) in [
        ("private/key", "private"),
        ("private", "private"),
        ("private/not/there", "private"),
        ("innocent/key", "private"),
        ("a/../a/.env", "**/.env"),
        ("settings", "**/.env"),
        (".env", "**/.env"),
    ] {
        for (tool, more) in
            [("view", json!({})), ("create_file", json!({ "content": "x" })), ("grep", json!({ "pattern": "x" }))]
        {
            let mut arguments = more;
            arguments["path"] = path.into();
            let error = server.call(tool, arguments).err();
            let want =
                format!("access denied: path \"{path}\" matches deny pattern \"{pattern}\"\nAllowed directories: ");
            assert!(error.starts_with(&want), "{tool} {path}: {error}");
        }
    }
    assert_eq!(world.read("private/key"), "secret\n");
}

#[test]
fn the_workspace_is_in_scope_and_the_ceiling_bounds_it() {
    let world = World::new();
    world.file("in/f", "in\n");
    world.file("f", "project\n");
    std::fs::write(world.outside().join("f"), "workspace\n").unwrap();
    let (outside, inside) = (text(&world.outside()), text(&world.project().join("in")));
    let mut server = world.server(&["--workspace-dir", &outside]);
    assert_eq!(server.call("view", json!({ "path": format!("{outside}/f") })).ok(), "1\tworkspace\n");
    let mut server = world.server(&["--workspace-dir", &outside, "--allow-dir", &inside]);
    assert_eq!(server.call("view", json!({ "path": "f" })).ok(), "1\tin\n");
    for path in ["../f".to_owned(), format!("{outside}/f")] {
        assert!(server.call("view", json!({ "path": path })).err().contains("is outside allowed directories"));
    }
}

#[test]
fn commands_and_file_tools_share_the_sessions_tmp() {
    let world = World::new();
    let mut server = world.server(&[]);
    server.call("create_file", json!({ "path": "/tmp/note", "content": "from the tool\n" })).ok();
    assert_eq!(server.bash("cat /tmp/note; echo from bash > /tmp/back").stdout(), "from the tool\n");
    assert_eq!(server.call("view", json!({ "path": "/tmp/back" })).ok(), "1\tfrom bash\n");
    assert_eq!(server.call("find", json!({ "pattern": "note", "path": "/tmp" })).ok(), "/tmp/note\n");
    let other = world.server(&[]).call("view", json!({ "path": "/tmp/note" })).err();
    assert!(other.starts_with("file not found: /tmp/note"), "{other}");
}

/// A thread exchanges a directory and a link to the outside all the time, as a hostile command could.
#[test]
fn exchanging_directories_during_ten_thousand_calls_leaks_nothing() {
    let world = World::new();
    world.file("d/f", "inside\n");
    std::fs::write(world.outside().join("f"), "outside\n").unwrap();
    symlink(world.outside(), world.project().join("l")).unwrap();
    let over = AtomicBool::new(false);
    let (d, l) = (world.project().join("d"), world.project().join("l"));
    let mut server = world.server(&[]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let cwd = rustix::fs::CWD;
                rustix::fs::renameat_with(cwd, &d, cwd, &l, rustix::fs::RenameFlags::EXCHANGE).unwrap();
            }
        });
        let mut seen = (0, 0);
        for round in 0..100 {
            let calls: Vec<_> = (0..100)
                .map(|n| match n % 4 {
                    0 => server.start("create_file", json!({ "path": "d/g", "content": round.to_string() })),
                    1 => server.start("grep", json!({ "pattern": "outside", "path": "d" })),
                    2 => server.start("view", json!({ "path": "l" })),
                    _ => server.start("view", json!({ "path": "d/f" })),
                })
                .collect();
            for call in calls {
                let reply = call.reply();
                assert!(!reply.text().contains("\toutside") && !reply.text().contains("(1 match)"), "{reply:?}");
                if reply.is_error() { seen.1 += 1 } else { seen.0 += 1 }
            }
        }
        over.store(true, Ordering::Relaxed);
        assert!(seen.0 > 100 && seen.1 > 100, "the race was not one: {seen:?}");
    });
    let left: Vec<_> = std::fs::read_dir(world.outside()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["f"]);
    assert_eq!(std::fs::read_to_string(world.outside().join("f")).unwrap(), "outside\n");
}

#[test]
fn file_tools_cannot_read_secrets_in_the_scope() {
    let world = World::new();
    let home = world.home();
    for (name, text) in [(".ssh/id_rsa", "needle"), (".netrc", "needle"), ("work/notes", "needle")] {
        std::fs::create_dir_all(home.join(name).parent().unwrap()).unwrap();
        std::fs::write(home.join(name), text).unwrap();
    }
    symlink(home.join(".ssh"), home.join("work/keys")).unwrap();
    let project = text(&home);
    let mut server = world.server(&["--project-dir", &project]);
    for path in [".ssh/id_rsa", ".netrc", "work/keys/id_rsa", ".ssh"] {
        let error = server.call("view", json!({ "path": path })).err();
        assert!(error.starts_with("access denied: ") && error.contains("matches deny pattern"), "{path}: {error}");
    }
    let error = server.call("create_file", json!({ "path": ".ssh/authorized_keys", "content": "x" })).err();
    assert!(error.starts_with("access denied: "), "{error}");
    let found = server.call("grep", json!({ "pattern": "needle", "no_ignore": true })).ok();
    assert!(found.contains("work/notes") && !found.contains("id_rsa") && !found.contains(".netrc"), "{found}");
    let found = server.call("find", json!({ "pattern": "**/id_rsa" })).ok();
    assert!(!found.contains("id_rsa"), "{found}");
    let listed = server.call("view", json!({ "path": "." })).ok();
    assert!(listed.contains("work/") && !listed.contains(".ssh/\n"), "{listed}");
    let mut open = world.server(&["--project-dir", &project, "--sandbox", "off"]);
    assert!(open.call("view", json!({ "path": ".netrc" })).ok().contains("needle"));
}
