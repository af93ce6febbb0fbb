//! Where the system gives a server less than usual: threads, file size, descriptors. Every call is answered, and what the
//! answer says about a file is true.

use serde_json::json;

use crate::support::{Client, StartOptions, World};

/// A user whom no other test uses, because the kernel counts the processes of a user.
const COUNTED: u32 = 61_234;

/// A server that may have so many processes and threads. `None` if that is too few to start.
fn with_processes(world: &World, limit: u32) -> Option<Client> {
    let (user, group, limit) = (format!("--reuid={COUNTED}"), format!("--regid={COUNTED}"), format!("--nproc={limit}"));
    let words = if rustix::process::getuid().is_root() {
        vec!["setpriv", &user, &group, "--clear-groups", "prlimit", &limit, "--"]
    } else {
        vec!["unshare", "--user", "prlimit", &limit, "--"]
    };
    Client::connect_if_it_starts(world.command_by(&words, &["--sandbox", "off"]))
}

#[test]
fn searches_answer_however_few_threads_can_be_started() {
    let root = rustix::process::getuid().is_root();
    let world = if root { World::for_user(COUNTED) } else { World::new() };
    for number in 0..40 {
        world.file(&format!("d{number}/e/f"), "needle\n");
    }
    for limit in 1..=16 {
        let Some(mut server) = with_processes(&world, limit) else {
            assert!(limit < 4, "{limit} processes are enough");
            continue;
        };
        // Several at once, so that they take each other's threads.
        let searches: Vec<_> = (0..6)
            .flat_map(|_| {
                [
                    server.start("grep", json!({ "pattern": "needle", "mode": "count" })),
                    server.start("find", json!({ "pattern": "f" })),
                    server.start("view", json!({ "path": "d1/e/f" })),
                ]
            })
            .collect();
        for (index, pending) in searches.into_iter().enumerate() {
            let text = pending.reply().ok();
            let want = ["40 matches in 40 files; 40 files searched", "d39/e/f", "1\tneedle"][index % 3];
            assert!(text.contains(want), "limit {limit}: {text}");
        }
    }
}

#[test]
fn a_limit_of_file_sizes_fails_a_write_and_not_the_server() {
    let world = World::new();
    let old = world.file("old", "old\n");
    for limit in [0, 1 << 20] {
        let fsize = format!("--fsize={limit}");
        let mut server = Client::connect(world.command_by(&["prlimit", &fsize, "--"], &[]), StartOptions::default());
        for path in ["new", "old"] {
            let error = server.call("create_file", json!({ "path": path, "content": "x".repeat(2 << 20) })).err();
            assert!(error.starts_with(&format!("failed to write {path}: File too large")), "{error}");
        }
        assert_eq!(std::fs::read_to_string(&old).unwrap(), "old\n");
        assert!(!world.project().join("new").exists());
        assert_eq!(server.call("view", json!({ "path": "old" })).ok(), "1\told\n");
        if limit == 0 {
            // Not even the description of the sandbox can be written, so nothing runs.
            let error = server.bash("echo alive").err();
            assert!(error.contains("File too large"), "{error}");
            continue;
        }
        assert_eq!(server.bash("echo alive").stdout(), "alive\n");
        // The command gets the signal that the server ignores.
        assert_eq!(server.bash("head -c 2M /dev/zero > big").field("exit_code").as_deref(), Some("153"));
    }
}

#[test]
fn a_write_is_reported_as_what_it_was_however_few_descriptors_there_are() {
    let world = World::new();
    let (mut failed, mut written) = (0, 0);
    for limit in 8..64 {
        let limit = format!("--nofile={limit}:{limit}");
        let command = world.command_by(&["prlimit", &limit, "--"], &["--sandbox", "off"]);
        let Some(mut server) = Client::connect_if_it_starts(command) else { continue };
        world.file("f", "old\n");
        let _ = std::fs::remove_file(world.project().join("new"));
        let edit = server.call("str_replace", json!({ "path": "f", "old_str": "old", "new_str": "edited" }));
        let new = server.call("create_file", json!({ "path": "new", "content": "made" }));
        assert_eq!(world.read("f"), if edit.is_error() { "old\n" } else { "edited\n" }, "{limit}: {}", edit.text());
        assert_eq!(world.project().join("new").exists(), !new.is_error(), "{limit}: {}", new.text());
        for reply in [edit, new] {
            *(if reply.is_error() { &mut failed } else { &mut written }) += 1;
        }
    }
    assert!(failed > 0 && written > 0, "the limits must go from too few to enough: {failed} failed, {written} written");
}
