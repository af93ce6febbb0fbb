//! Starts that a client or a person did not plan: nobody reads stderr, signals are blocked, the directory is gone, there is
//! no home.

use std::fs::{File, Permissions};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::process::{Command, Stdio};

use serde_json::json;

use crate::support::{Client, StartOptions, User, World, launched, launcher, text, until};

fn signal(pid: u32, name: &str) {
    assert!(Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap().success());
}

/// A pipe that is full, opened without waiting for its other end.
fn full_pipe(world: &World) -> File {
    let path = world.outside().join("stderr");
    assert!(Command::new("mkfifo").args(["-m", "666"]).arg(&path).status().unwrap().success());
    let mut pipe = File::options().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(path).unwrap();
    while pipe.write(&[b'-'; 4096]).is_ok() {}
    while pipe.write(b"-").is_ok() {}
    pipe
}

/// bash takes itself for the shell of an ssh session then, and would read its own file instead of ours.
#[test]
fn a_server_that_ssh_started_runs_every_command() {
    let world = World::new();
    let script = "unset SHLVL; export SSH_CLIENT='192.0.2.1 50000 22'; exec \"$@\"";
    let mut server = launched(&world, User::Tester, script, &[]);
    for number in 0..4 {
        assert_eq!(server.bash(&format!("echo {number}; export N={number}")).stdout(), format!("{number}\n"));
    }
    assert_eq!(server.bash("echo $N").stdout(), "3\n");
}

#[test]
fn a_stderr_that_nobody_reads_blocks_nothing_and_what_was_dropped_is_said() {
    for user in User::all() {
        let world = user.world();
        let mut pipe = full_pipe(&world);
        let script = format!("exec \"$@\" 2>{}", text(&world.outside().join("stderr")));
        let mut server = launched(&world, *user, &script, &["--log-level", "trace"]);
        // At this level the log has every command, so these are more than the server keeps for a reader.
        let comment = "x".repeat(20_000);
        for number in 0..50 {
            assert_eq!(server.bash(&format!("echo {number} # {comment}")).stdout(), format!("{number}\n"));
        }
        let mut read = String::new();
        let said = until("what was dropped", || {
            let mut buffer = vec![0; 65536];
            if let Ok(count) = pipe.read(&mut buffer) {
                read.push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
            read.contains("lines were dropped here, because nobody read stderr").then(|| read.clone())
        });
        assert!(said.contains("testudo serves"), "the first lines were kept");
        while pipe.write(&[b'-'; 4096]).is_ok() {}
        server.hang_up();
        assert!(server.wait_for_exit().success(), "a full stderr does not keep it alive");
    }
}

#[test]
fn a_closed_stderr_and_a_failure_to_start_behind_a_full_one() {
    let world = World::new();
    assert_eq!(
        launched(&world, User::Tester, "exec \"$@\" 2>&-", &["--log-level", "trace"]).bash("echo x").stdout(),
        "x\n"
    );
    let _pipe = full_pipe(&world);
    let script = format!("exec \"$@\" 2>{}", text(&world.outside().join("stderr")));
    let mut refused = launcher(&world, User::Tester, &script, &["--project-dir", "/does/not/exist"]);
    assert_eq!(refused.stdin(Stdio::null()).status().unwrap().code(), Some(2));
}

#[test]
fn every_ending_signal_ends_the_server_in_order_even_if_the_launcher_has_blocked_it() {
    for name in ["TERM", "INT", "QUIT"] {
        let world = World::new();
        let launcher = "exec env --block-signal=TERM,INT,HUP,QUIT,CHLD \"$@\"";
        let mut server = launched(&world, User::Tester, launcher, &[]);
        server.call("bash", json!({"command": "trap 'echo bye > bye; exit' TERM; echo > ready; while :; do sleep 0.1; done", "run_in_background": true})).ok();
        until("the task", || world.project().join("ready").exists().then_some(()));
        signal(server.pid(), name);
        assert!(server.wait_for_exit().success(), "{name}");
        assert_eq!(world.read("bye"), "bye\n", "{name}: the task had time to end");
        let left = std::fs::read_dir(world.home().join(".cache/testudo/outputs")).unwrap().count();
        assert_eq!(left, 0, "{name}: nothing is left on disk");
    }
}

#[test]
fn a_server_under_nohup_survives_its_terminal() {
    let world = World::new();
    let mut server = launched(&world, User::Tester, "trap '' HUP; exec \"$@\"", &[]);
    signal(server.pid(), "HUP");
    assert_eq!(server.bash("echo here").stdout(), "here\n");
}

#[test]
fn a_current_directory_that_is_gone_or_unreadable_matters_only_if_it_is_needed() {
    for user in User::all() {
        let world = user.world();
        let project = text(&world.project());
        let gone = format!("mkdir {project}/gone && cd {project}/gone && rmdir {project}/gone && exec \"$@\"");
        let closed = format!("d={project}/closed; mkdir -p $d && chmod 755 $d && cd $d && chmod 0 $d && exec \"$@\"");
        let outside = text(&world.outside());
        for script in [&gone, &closed] {
            for flag in ["--workdir", "--project-dir", "--allow-dir"] {
                let mut server = launched(&world, *user, script, &[flag, &outside]);
                assert_eq!(server.bash("pwd").stdout(), format!("{outside}\n"), "{flag}");
            }
        }
        // Root can read every directory.
        let unusable: &[&String] = if *user == User::Nobody { &[&gone, &closed] } else { &[&gone] };
        for script in unusable {
            let output = launcher(&world, *user, script, &[]).stdin(Stdio::null()).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(2));
            assert!(
                said.starts_with("testudo: the current directory cannot be read: ") && said.contains("--project-dir"),
                "{said}"
            );
        }
    }
}

#[test]
fn without_a_home_nothing_is_stored_where_another_user_could_exchange_it() {
    for user in User::all() {
        let world = user.world();
        let tmp = world.outside().join("tmp");
        let planted = tmp.join("testudo");
        std::fs::create_dir_all(&planted).unwrap();
        std::fs::set_permissions(&planted, Permissions::from_mode(0o777)).unwrap();
        std::fs::set_permissions(&tmp, Permissions::from_mode(0o1777)).unwrap();
        if rustix::process::getuid().is_root() {
            std::os::unix::fs::chown(&planted, Some(12345), Some(12345)).unwrap();
        }
        let names = || std::fs::read_dir(&tmp).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
        let mut command = launcher(&world, *user, "exec \"$@\"", &[]);
        command.env_remove("HOME").env("TMPDIR", &tmp);
        let mut server = Client::connect(command, StartOptions::default());
        assert!(server.bash("seq 1 20000").text().contains("stored: o1"));
        let page = server.call("task_output", json!({"task_id": "o1", "grep": "^19999$"})).ok();
        assert!(page.contains("19999"), "{page}");
        assert_eq!(std::fs::read_dir(&planted).unwrap().count(), 0);
        server.hang_up();
        assert!(server.wait_for_exit().success());
        // What is kept for good lies in a directory that only its user can enter.
        let kept: Vec<_> = names().into_iter().filter(|name| name != "testudo").collect();
        assert!(kept.len() == 1 && kept[0].to_str().unwrap().starts_with("testudo-state-"), "{kept:?}");
        assert_eq!(std::fs::metadata(tmp.join(&kept[0])).unwrap().permissions().mode() & 0o777, 0o700);
    }
}

/// Commands have no `/tmp` of their own then, and the server's own files lie in the project.
#[test]
fn tmp_is_the_project_and_the_home_lies_in_it() {
    let inside = "mount -t tmpfs tmp /tmp && mkdir /tmp/home && cd /tmp && HOME=/tmp/home exec \"$@\"";
    let script = format!("exec unshare --map-root-user --mount bash -c '{inside}' bash \"$@\"");
    for user in User::all() {
        let world = user.world();
        let mut server = launched(&world, *user, &script, &[]);
        assert_eq!(server.bash("echo x > made; cat made; echo y > $TMPDIR/own; cat $TMPDIR/own").stdout(), "x\ny\n");
        // Of testudo's files, a command sees its own temporary directory.
        let seen = server.bash("cd ~/.cache/testudo && find . -type f").stdout();
        assert!(seen.ends_with("/own\n") && seen.lines().count() == 1, "{seen}");
        let doctor = launcher(&world, *user, &script, &["doctor"]).output().unwrap();
        assert!(String::from_utf8_lossy(&doctor.stdout).contains("level full"), "{doctor:?}");
    }
}
