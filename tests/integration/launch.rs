//! Where and how a server is started: everything here must work as on a quiet desktop. `launch_messages.rs` has the
//! environments in which commands cannot run.

use serde_json::json;

use crate::support::{Client, User, World, by_python, launched, launcher};

/// Starts a server as each user by a script that ends in `exec "$@"` or the like, and works with it.
#[track_caller]
fn works(scripts: &[&str]) {
    for user in User::all() {
        for script in scripts {
            #[expect(clippy::print_stderr, reason = "a failure must tell which case it was")]
            {
                eprintln!("-- {} [{user:?}]", &script[script.len().saturating_sub(100)..]);
            }
            let world = user.world();
            let mut server = launched(&world, *user, script, &[]);
            works_with(&world, &mut server);
        }
    }
}

/// Commands run and remember, output is kept apart, file tools and searches answer, and the end is clean.
#[track_caller]
fn works_with(world: &World, server: &mut Client) {
    assert_eq!(server.bash("mkdir -p sub; cd sub; export KEPT=yes; echo $((6 * 7)); echo err >&2").stdout(), "42\n");
    // The second command runs in a shell that has waited for it.
    assert_eq!(server.bash("echo $KEPT ${PWD##*/}; sleep 0 & wait; echo $?").stdout(), "yes sub\n0\n");
    server.call("create_file", json!({"path": "note", "content": "needle\n"})).ok();
    assert!(server.call("grep", json!({"pattern": "needle"})).ok().contains("note"));
    let task = server.call("bash", json!({"command": "echo from a task", "run_in_background": true})).ok();
    let id = task.lines().next().unwrap().strip_prefix("task_id: ").unwrap().to_owned();
    let shown = server.call("task_output", json!({"task_id": id, "wait_for": "exit", "wait_ms": 30000})).ok();
    assert!(shown.contains("from a task"), "{shown}\n{}", server.log());
    assert_eq!(std::fs::read_to_string(world.project().join("sub/note")).unwrap(), "needle\n");
    server.hang_up();
    assert!(server.wait_for_exit().success(), "{}", server.log());
}

#[test]
fn signals_that_the_launcher_ignores_or_blocks_do_no_harm() {
    works(&[
        r#"trap '' CHLD; exec "$@""#,
        r#"trap '' PIPE; exec "$@""#,
        r#"trap '' CHLD PIPE HUP INT QUIT TERM USR1 ALRM; exec "$@""#,
        &by_python("blocked"),
    ]);
}

#[test]
fn commands_start_with_clean_signals() {
    for script in [r#"trap '' CHLD PIPE HUP INT TERM USR1; exec "$@""#, &by_python("blocked")] {
        let world = World::new();
        let mut server = launched(&world, User::Tester, script, &[]);
        // The C library keeps signals 32 and 33 for itself, so nobody can reset them.
        let status = server.bash("grep -E '^Sig(Blk|Ign)' /proc/self/status | grep -o '.\\{8\\}$'").stdout();
        assert_eq!(status.replace("80000000", "00000000"), "00000000\n00000000\n");
    }
}

#[test]
fn limits_that_leave_room_are_enough() {
    works(&[
        r#"ulimit -n 1024; exec "$@""#,
        r#"ulimit -n 252; exec "$@""#,
        r#"ulimit -n 64; exec "$@""#,
        r#"ulimit -n 48; exec "$@""#,
        r#"ulimit -v $((1 << 20)); exec "$@""#,
        r#"ulimit -s 1024; exec "$@""#,
        r#"ulimit -l 0; exec "$@""#,
        r#"ulimit -t 3600; exec "$@""#,
        r#"ulimit -c 0; exec "$@""#,
    ]);
}

#[test]
fn priorities_and_masks_are_kept() {
    works(&[
        r#"umask 0; exec "$@""#,
        r#"umask 077; exec "$@""#,
        r#"exec nice -n 19 "$@""#,
        r#"exec taskset 1 "$@""#,
        r#"exec chrt --batch 0 "$@""#,
        r#"exec setsid --wait "$@""#,
        r#"exec setpriv --no-new-privs "$@""#,
    ]);
    let world = World::new();
    let mut server = launched(&world, User::Tester, r#"umask 027; exec nice -n 7 "$@""#, &[]);
    let nicer = std::process::Command::new("nice").args(["-n", "7", "nice"]).output().unwrap().stdout;
    assert_eq!(server.bash("umask; nice").stdout(), format!("0027\n{}", String::from_utf8(nicer).unwrap()));
}

#[test]
fn every_kind_of_stream_carries_the_protocol() {
    works(&[
        r#"cat | "$@" | cat"#,
        r#"exec "$@" 2>&-"#,
        r#"exec "$@" 2>/dev/full"#,
        &by_python("streams fifo"),
        &by_python("streams socket"),
        &by_python("streams tcp"),
        &by_python("streams nonblocking"),
    ]);
}

#[test]
fn a_terminal_carries_the_protocol_until_it_is_told_to_end() {
    // Without an argument, a person at a terminal gets help.
    works(&[&(by_python("streams pty") + " serve")]);
}

#[test]
fn files_and_closed_streams_end_the_server_in_order() {
    let world = World::new();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    world.file("in", format!("{hello}\n"));
    for (script, answers) in [
        (r#"exec "$@" <in >out"#, true),
        (r#"exec "$@" <&- >out"#, false),
        (r#"exec "$@" <in >&-"#, false),
        (r#"exec "$@" <&- >&- 2>&-"#, false),
        (r#"exec "$@" <in >/dev/full"#, false),
    ] {
        let _ = std::fs::remove_file(world.project().join("out"));
        let run = launcher(&world, User::Tester, script, &[]).output().unwrap();
        let shown = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(!shown.contains("panicked") && run.status.code().is_some(), "{script}: {:?}\n{shown}", run.status);
        let out = std::fs::read_to_string(world.project().join("out")).unwrap_or_default();
        assert_eq!(out.contains("\"serverInfo\""), answers, "{script}: {out}\n{shown}");
    }
}

#[test]
fn odd_environments_work() {
    works(&[
        r#"exec env -i "$@""#,
        r#"exec env -i HOME="$HOME" PATH= "$@""#,
        r#"exec env PATH="$PATH:relative:." "$@""#,
        r#"exec env PATH="$PATH:/$(head -c 100000 /dev/zero | tr '\0' x)" "$@""#,
        r#"exec env LANG=xx_XX.nothing LC_MESSAGES=C "$@""#,
        r#"exec env $'bad=\xff\xfe' $'n\xff=1' "$@""#,
        r#"for i in {1..5000}; do export "V$i=$i"; done; exec "$@""#,
        r#"export BIG=$(head -c 131000 /dev/zero | tr '\0' x); exec "$@""#,
        r#"x=$(head -c 120000 /dev/zero | tr '\0' x); for i in {1..14}; do export "V$i=$x"; done; exec "$@""#,
        r#"unset HOME; exec "$@""#,
        r#"export HOME=relative; exec "$@""#,
        r#"export TMPDIR=/proc/not/there; exec "$@""#,
        r#"export XDG_CACHE_HOME=/dev/null XDG_CONFIG_HOME=relative; exec "$@""#,
    ]);
}

#[test]
fn variables_stay_whatever_their_names_and_values() {
    let world = World::new();
    let script = r#"x=$(head -c 120000 /dev/zero | tr '\0' x); for i in {1..14}; do export "A$i=$x"; done
        exec env a.b=1 a-b='2 3' 'BASH_X%%=4' 1st=5 $'odd\xff=6' $'VALUE=\xff\xfe\n' ZZZ=last "$@""#;
    let mut server = launched(&world, User::Tester, script, &[]);
    let shown = |server: &mut Client| {
        let odd =
            "env -0 | tr '\\0' '\\n' | LC_ALL=C grep -ae ^a.b= -e ^BASH_X -e ^1st -e ^odd -e ^VALUE -e ^ZZZ | sort";
        server.bash(&format!("{odd} | od -c; env -0 | wc -c")).stdout()
    };
    // The first command runs in a shell of its own, the others in shells that have waited.
    let first = shown(&mut server);
    assert!(first.contains("a   .   b   =   1"), "{first}");
    for _ in 0..2 {
        assert_eq!(shown(&mut server), first);
    }
    assert_eq!(server.bash("export a_b=new; unset ZZZ").stdout(), "");
    assert_eq!(server.bash("env | grep -ae '^a[.]b' -e ^a_b; echo ${ZZZ-unset}").stdout(), "a.b=1\na_b=new\nunset\n");
}

#[test]
fn odd_working_directories_work() {
    for user in User::all() {
        for script in [
            r#"mkdir $'a b\n\t$(x)"' && cd a* && exec "$@""#,
            r#"mkdir -- -rf && cd ./-rf && exec "$@""#,
            r#"d=$(printf 'd%.0s' {1..200}); for i in {1..10}; do mkdir $d && cd $d; done; exec "$@""#,
            r#"for i in {1..200}; do mkdir d && cd d; done; exec "$@""#,
        ] {
            let world = user.world();
            let mut server = launched(&world, *user, script, &[]);
            assert_eq!(server.bash("echo x > f && mkdir s && cd s").stdout(), "", "{script} [{user:?}]");
            assert_eq!(server.bash("cat ../f").stdout(), "x\n", "{script} [{user:?}]");
            assert!(server.call("view", json!({"path": "../f"})).ok().contains('x'), "{script} [{user:?}]");
        }
    }
}

#[test]
fn a_name_that_is_no_text_is_a_place_like_any_other() {
    for user in User::all() {
        let world = user.world();
        let script = r#"mkdir $'p\xff\xfe' && cd $'p\xff\xfe' && exec "$@""#;
        let mut server = launched(&world, *user, script, &[]);
        assert_eq!(
            server.bash("echo x > f; cat f; pwd | od -c | head -1 | grep -c 377; cd /; cd - >/dev/null; ls").stdout(),
            "x\n0\nf\n"
        );
        assert_eq!(server.bash("ls").stdout(), "f\n");
    }
}

#[test]
fn file_systems_of_every_kind_hold_a_project() {
    let in_namespace =
        |mount: &str| format!(r#"exec unshare -Urm sh -c 'mkdir -p m && {mount} && cd m && exec "$@"' sh "$@""#);
    for user in User::all() {
        for mount in ["mount -t tmpfs none m", "mount -t tmpfs -o noexec,nosuid,nodev none m", "mount --bind . m"] {
            let world = user.world();
            let mut server = launched(&world, *user, &in_namespace(mount), &[]);
            assert_eq!(server.bash("echo x > f && cat f").stdout(), "x\n", "{mount} [{user:?}]");
            server.call("create_file", json!({"path": "g", "content": "y"})).ok();
            assert!(server.call("grep", json!({"pattern": "y"})).ok().contains('g'));
        }
    }
}

#[test]
fn a_temporary_file_system_without_exec_is_no_obstacle() {
    works(&[
        r#"exec unshare -Urm sh -c 'mount -t tmpfs -o noexec none /tmp && exec "$@"' sh "$@""#,
        r#"exec unshare -Urm sh -c 'mount -t tmpfs none /dev/shm && exec "$@"' sh "$@""#,
    ]);
}

#[test]
fn a_hidden_process_table_is_no_obstacle() {
    works(&[
        r#"exec unshare -Urmpf --mount-proc sh -c 'mount -o remount,hidepid=invisible /proc; exec "$@"' sh "$@""#,
        r#"exec unshare -Urmpf --mount-proc "$@""#,
        &by_python("without close_range"),
    ]);
}

#[test]
fn the_binary_may_go_away_while_the_server_runs() {
    let world = World::for_user(rustix::process::getuid().as_raw());
    let mut server = world.server(&[]);
    std::fs::remove_file(world.project().parent().unwrap().join("testudo")).unwrap();
    works_with(&world, &mut server);
}

#[test]
fn twenty_servers_share_a_home() {
    let world = World::new();
    let mut servers: Vec<Client> = (0..20).map(|_| world.server(&[])).collect();
    for (index, server) in servers.iter_mut().enumerate() {
        assert_eq!(server.bash(&format!("echo {index} > $TMPDIR/x; cat $TMPDIR/x")).stdout(), format!("{index}\n"));
    }
}
