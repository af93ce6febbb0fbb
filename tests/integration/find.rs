use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::support::{Client, World};

fn find(server: &mut Client, arguments: serde_json::Value) -> String {
    server.call("find", arguments).ok()
}

/// A file that was last changed this many minutes ago.
fn aged(world: &World, name: &str, minutes: u64) {
    let path = world.file(name, "");
    let when = SystemTime::now() - Duration::from_secs(60 * minutes);
    std::fs::File::options().write(true).open(path).unwrap().set_modified(when).unwrap();
}

#[test]
fn the_newest_comes_first_and_pages_follow() {
    let world = World::new();
    aged(&world, "old.rs", 30);
    aged(&world, "src/new.rs", 1);
    aged(&world, "src/deep/middle.rs", 10);
    aged(&world, "other.txt", 0);
    let mut server = world.server(&[]);
    assert_eq!(find(&mut server, json!({ "pattern": "*.rs" })), "src/new.rs\nsrc/deep/middle.rs\nold.rs\n");
    assert_eq!(
        find(&mut server, json!({ "pattern": "*.rs", "max_results": 2 })),
        "src/new.rs\nsrc/deep/middle.rs\n\n[Shown: 1-2 of 3. Next page: offset=2]\n"
    );
    assert_eq!(find(&mut server, json!({ "pattern": "*.rs", "max_results": 2, "offset": 2 })), "old.rs\n");
    assert_eq!(find(&mut server, json!({ "pattern": "src/**/*.rs" })), "src/new.rs\nsrc/deep/middle.rs\n");
    assert_eq!(find(&mut server, json!({ "pattern": "*.rs", "path": "src/deep" })), "src/deep/middle.rs\n");
}

#[test]
fn kinds_can_be_chosen() {
    let world = World::new();
    world.file("thing/x", "");
    std::os::unix::fs::symlink("/etc", world.project().join("thing.link")).unwrap();
    world.file("thing.txt", "");
    let mut server = world.server(&[]);
    for (kind, want) in [("file", "thing.txt\n"), ("directory", "thing/\n"), ("symlink", "thing.link\n")] {
        assert_eq!(find(&mut server, json!({ "pattern": "thing*", "type": kind })), want);
    }
}

#[test]
fn ignored_files_are_listed_when_nothing_else_matches() {
    let world = World::new();
    world.file(".gitignore", "target/\n");
    world.file("target/debug/app", "");
    world.file("secret/app", "");
    let mut server = world.server(&["--deny-dir", "secret"]);
    assert_eq!(
        find(&mut server, json!({ "pattern": "app" })),
        "0 matches in 1 files; 1 matches in ignored paths\ntarget/debug/app\n"
    );
    assert_eq!(
        find(&mut server, json!({ "pattern": "nowhere" })),
        "0 matches in 1 files; 0 matches in ignored paths\n"
    );
    assert!(server.call("find", json!({ "pattern": "a[" })).err().starts_with("invalid pattern"));
}
