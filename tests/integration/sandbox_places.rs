//! Where a session can write: its temporary directory, projects in unusual directories, the modes.

use serde_json::json;

use crate::support::{Level, World, everywhere, text};

#[test]
fn the_temporary_directory_is_the_sessions_own() {
    everywhere("", &[], |inside| {
        let mark = format!("mark-{}-{:?}", std::process::id(), inside.level);
        let seen = inside.does("echo $TMPDIR").trim().to_owned();
        inside.does(&format!("echo kept > $TMPDIR/{mark}"));
        assert_eq!(inside.does(&format!("cat $TMPDIR/{mark}")), "kept\n");
        assert!(!std::path::Path::new("/tmp").join(&mark).exists(), "not on the host's /tmp");
        if inside.level == Level::Full {
            assert_eq!(seen, "/tmp");
            assert_eq!(inside.does("ls -A /tmp").trim(), mark, "nothing of the host's");
        } else {
            inside.cannot(&format!("touch /tmp/{mark}"));
        }
        inside.client.call("bash", serde_json::json!({"command": "ls $TMPDIR", "session": "other"})).ok();
        let other = inside.client.call("bash", serde_json::json!({"command": "ls $TMPDIR", "session": "other"}));
        assert!(!other.stdout().contains(&mark), "nobody else's");
    });
}

#[test]
fn a_project_below_tmp_stays_where_it_is() {
    let world = World::new();
    let project = tempfile::Builder::new().prefix("testudo-project-").tempdir_in("/tmp").unwrap();
    std::fs::write(project.path().join("there"), "x").unwrap();
    let mut server = world.server(&["--project-dir", project.path().to_str().unwrap()]);
    assert_eq!(
        server.bash("pwd; ls; echo y > new; echo z > /tmp/private").stdout(),
        format!("{}\nthere\n", project.path().display())
    );
    assert!(project.path().join("new").exists());
    assert!(!std::path::Path::new("/tmp/private").exists());
    // File tools use the same paths.
    assert_eq!(server.call("view", json!({"path": "there"})).ok(), "1\tx\n");
    assert_eq!(server.call("view", json!({"path": project.path().join("new")})).ok(), "1\ty\n");
    assert_eq!(server.call("view", json!({"path": "/tmp/private"})).ok(), "1\tz\n");
    assert_eq!(server.call("view", json!({"path": "../private"})).ok(), "1\tz\n");
    server.call("str_replace", json!({"path": "new", "old_str": "y", "new_str": "Y"})).ok();
    server.call("create_file", json!({"path": "sub/made", "content": "Y"})).ok();
    assert_eq!(std::fs::read_to_string(project.path().join("sub/made")).unwrap(), "Y");
    assert_eq!(server.bash("cat new sub/made").stdout(), "Y\nY");
    let found = server.call("grep", json!({"pattern": "Y"})).ok();
    assert!(found.contains("new") && found.contains("sub/made"), "{found}");
    let names = server.call("find", json!({"pattern": "**/made"})).ok();
    assert!(names.contains("sub/made"), "{names}");
}

#[test]
fn a_project_that_holds_tmp_leaves_it_the_hosts() {
    let world = World::new();
    let name = format!("testudo-shared-{}", std::process::id());
    let mut server = world.server(&["--project-dir", "/tmp"]);
    assert_eq!(server.bash(&format!("echo x > {name}")).field("exit_code").as_deref(), Some("0"));
    std::fs::remove_file(format!("/tmp/{name}")).unwrap();
    assert_ne!(server.bash("echo $TMPDIR").stdout(), "/tmp\n");
    assert_eq!(server.bash("touch $TMPDIR/x").field("exit_code").as_deref(), Some("0"));
}

#[test]
fn read_only_leaves_the_temporary_directory_alone() {
    everywhere("", &["--sandbox", "read-only"], |inside| {
        inside.world.file("there", "x");
        inside.cannot("echo y > there");
        inside.cannot("touch new");
        inside.does("cat there && touch $TMPDIR/new");
        assert_eq!(inside.world.read("there"), "x");
    });
}

#[test]
fn off_is_off() {
    let world = World::new();
    let mut server = world.server(&["--sandbox", "off"]);
    let outside = world.outside().join("new");
    assert_eq!(server.bash(&format!("echo x > {}", outside.display())).field("exit_code").as_deref(), Some("0"));
    assert!(outside.exists());
}

#[test]
fn a_project_in_an_odd_place_works_too() {
    let world = World::new();
    let shared = tempfile::Builder::new().prefix("testudo-").tempdir_in("/dev/shm").unwrap();
    let mut server = world.server(&["--project-dir", shared.path().to_str().unwrap()]);
    assert_eq!(server.bash("echo x > f && cat f && ls /dev/null").stdout(), "x\n/dev/null\n");
    assert!(shared.path().join("f").exists());
    // With the whole file system as the project, everything but the secrets can be used.
    let mut server = world.server(&["--project-dir", "/"]);
    let new = world.outside().join("new");
    assert_eq!(server.bash(&format!("echo x > {}", new.display())).field("exit_code").as_deref(), Some("0"));
    assert!(new.exists());
    assert!(!server.bash("cat /etc/shadow").text().contains("root:"));
}

#[test]
fn secrets_inside_the_scope_stay_secret() {
    everywhere("", &[], |inside| {
        let secret = text(&inside.home_file(".ssh/id", "canary"));
        inside.home_file("work/f", "x");
        let home = text(&inside.world.home());
        let config = text(&inside.world.outside().join("config.toml"));
        // The person makes the home directory the project.
        inside.reconnect(&["--config", &config, "--project-dir", &home]);
        inside.does(&format!("echo y > {home}/work/f"));
        assert!(!inside.bash(&format!("cat {secret}")).text().contains("canary"));
        inside.bash(&format!("echo evil > {secret}; echo evil > {home}/.ssh/authorized_keys"));
        assert_eq!(std::fs::read_to_string(&secret).unwrap(), "canary");
        assert!(!inside.world.home().join(".ssh/authorized_keys").exists());
    });
}
