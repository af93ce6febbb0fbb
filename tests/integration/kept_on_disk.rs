//! What a server keeps: stored outputs, ended tasks and temporary directories. They take no descriptors, stay within their
//! limits on disk, and go with their session.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::{Client, HttpServer, StartOptions, World, everywhere, open_files, until};

fn entries(directory: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// The temporary directories of all sessions, wherever the servers of this world keep them.
fn temporary_directories(world: &World) -> Vec<PathBuf> {
    let servers = entries(&world.home().join(".cache/testudo/outputs"));
    let all = servers.iter().flat_map(|server| entries(server));
    all.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("tmp-")).collect()
}

#[test]
fn stored_outputs_and_ended_tasks_hold_no_descriptors() {
    let world = World::new();
    let few = world.command_by(&["prlimit", "--nofile=256:256"], &[]);
    let mut server = Client::connect(few, StartOptions::default());
    for index in 0..300 {
        let text = server.bash("seq 1 20000").ok();
        assert!(text.contains("[Truncated: output was 108894 characters"), "{index}: {text} {}", server.log());
    }
    for index in 0..130 {
        let command = format!("seq 1 20000; : > ended-{index}");
        server.call("bash", json!({"command": command, "run_in_background": true})).ok();
        until("it to end", || world.project().join(format!("ended-{index}")).exists().then_some(()));
    }
    for _ in 0..130 {
        let text = server.call("bash", json!({"command": "echo shown", "pty": true})).ok();
        assert!(text.contains("status: completed"), "{text}");
    }
    let task = server.call("task_output", json!({"task_id": "t1", "tail": 1})).ok();
    assert!(task.starts_with("status: completed\n") && task.contains("20000"), "{task}");
    let first = json!({"task_id": "o1", "tail": 1});
    assert_eq!(
        server.call("task_output", first).ok(),
        "status: completed\nexit_code: 0\nlines: 20000-20000 of 20000\n\nstdout:\n20000\n"
    );
    until("few open files", || (open_files(server.pid()).len() < 60).then_some(()));
    assert_eq!(server.bash("ulimit -n").stdout(), "256\n");
}

#[test]
fn the_server_may_open_more_files_than_its_commands() {
    let world = World::new();
    let command = world.command_by(&["prlimit", "--nofile=200:4000"], &["--sandbox", "off"]);
    let mut server = Client::connect(command, StartOptions::default());
    assert_eq!(server.bash("ulimit -Sn").stdout(), "200\n");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
    assert!(limits.lines().any(|line| line.starts_with("Max open files") && line.contains("4000")), "{limits}");
}

#[test]
fn the_oldest_outputs_make_room_and_their_ids_say_so() {
    let world = World::new();
    let config = world.outside().join("config.toml");
    std::fs::write(&config, "[sandbox.limits]\ndisk = \"1MB\"\n").unwrap();
    let mut server = world.server(&["--config", config.to_str().unwrap()]);
    for _ in 0..5 {
        assert!(server.bash("head -c 400000 /dev/zero | tr '\\0' x").ok().contains("is stored"));
    }
    let error = server.call("task_output", json!({"task_id": "o1"})).err();
    assert!(error.starts_with("output o1 is no longer stored: the session keeps 1 MB on disk"), "{error}");
    assert!(error.contains("sandbox.limits.disk is 1 MB"), "{error}");
    assert!(server.call("task_output", json!({"task_id": "o5"})).ok().contains("xxxx"));
    // One that is larger than all there may be is cut, and its end is shown all the same.
    let text = server.bash("head -c 3000000 /dev/zero | tr '\\0' y; echo the end; exit 1").ok();
    assert!(
        text.contains("sandbox.limits.disk is 1 MB") && text.ends_with("the end\n"),
        "{}",
        &text[text.len() - 500..]
    );
}

#[test]
fn temporary_directories_end_with_their_session() {
    let world = World::new();
    let server = HttpServer::with_token(&world);
    let mut client = server.client("tok");
    // A directory that its owner may not write is removed too.
    client.bash("mkdir -p $TMPDIR/a/b; touch $TMPDIR/a/b/c; chmod 0 $TMPDIR/a/b $TMPDIR/a").ok();
    client.call("bash", json!({"command": "touch $TMPDIR/x; sleep 1000 & disown", "session": "other"})).ok();
    // There may be one more for a session to come, which is empty.
    let used = || temporary_directories(&world).iter().filter(|path| !entries(path).is_empty()).count();
    assert_eq!(used(), 2);
    client.delete();
    until("both to go", || (used() == 0 && temporary_directories(&world).len() <= 1).then_some(()));
    let mut next = server.client("tok");
    next.bash("touch $TMPDIR/x").ok();
    assert_eq!(used(), 1);
}

#[test]
fn without_a_cache_directory_everything_is_kept_below_tmpdir_and_goes_from_there() {
    everywhere("", &[], |inside| {
        let tmp = inside.world.outside().join("t");
        std::fs::create_dir(&tmp).unwrap();
        std::fs::set_permissions(&tmp, std::os::unix::fs::PermissionsExt::from_mode(0o1777)).unwrap();
        let home = "HOME=/dev/null".to_owned();
        let variable = format!("TMPDIR={}", tmp.display());
        let level = inside.world.outside().join("config.toml");
        let user: &[&str] =
            if inside.nobody { &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] } else { &[] };
        let words: Vec<&str> = user.iter().copied().chain(["env", &home, &variable]).collect();
        let connect = || {
            Client::connect(
                inside.world.command_by(&words, &["--config", level.to_str().unwrap()]),
                StartOptions::default(),
            )
        };
        let mut server = connect();
        assert!(server.bash("touch $TMPDIR/x; seq 1 20000").ok().contains("is stored"));
        assert!(server.call("task_output", json!({"task_id": "o1", "tail": 1})).ok().contains("20000"));
        assert_eq!(entries(&tmp).len(), 1);
        // Commands cannot read what is stored.
        let stored = entries(&entries(&tmp)[0]);
        let output = stored.iter().find(|path| path.is_file() && !path.ends_with("lock")).unwrap();
        assert_ne!(server.bash(&format!("cat {}", output.display())).field("exit_code").as_deref(), Some("0"));
        server.kill();
        assert_eq!(entries(&tmp).len(), 1, "nobody could remove it");
        let mut next = connect();
        assert_eq!(entries(&tmp).len(), 1, "the next server has removed it and made its own");
        next.hang_up();
        next.wait_for_exit();
        assert_eq!(entries(&tmp), Vec::<PathBuf>::new());
    });
}
