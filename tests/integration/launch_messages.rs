//! Where commands cannot run, the answer says what happened, shows the evidence and names the fix. Where the reason passes,
//! the next command runs.

use crate::support::{User, World, by_python, launched, launcher, until};

/// The answer to a command of a server that the script starts, as each user.
#[track_caller]
fn refused(script: &str, expected: &[&str], absent: &[&str]) {
    refused_with("", script, expected, absent);
}

/// The same with that configuration.
#[track_caller]
fn refused_with(config: &str, script: &str, expected: &[&str], absent: &[&str]) {
    for user in User::all() {
        let world = user.world();
        let mut server = launched(&world, *user, script, &["--config", &configured(&world, config)]);
        let said = server.bash("echo ran").err();
        for words in expected.iter().chain(&["Nothing was run."]) {
            assert!(said.contains(words), "{words:?} is missing [{user:?}]:\n{said}");
        }
        for words in absent.iter().chain(&["BitFlags", "panicked"]) {
            assert!(!said.contains(words), "{words:?} should not be here [{user:?}]:\n{said}");
        }
        server.hang_up();
        assert!(server.wait_for_exit().success());
    }
}

/// A configuration file that every user can read.
fn configured(world: &World, config: &str) -> String {
    let path = world.outside().join("config.toml");
    std::fs::write(&path, config).unwrap();
    path.to_str().unwrap().to_owned()
}

/// What `testudo doctor` says there.
fn doctor(user: User, config: &str, script: &str) -> String {
    let world = user.world();
    let run = launcher(&world, user, script, &["doctor", "--config", &configured(&world, config)]).output().unwrap();
    String::from_utf8(run.stdout).unwrap()
}

const IN_NAMESPACE: &str = r#"exec unshare -Urm sh -c 'MOUNT && exec "$@"' sh "$@""#;

#[test]
fn a_kernel_without_landlock_is_named_with_both_ways_out() {
    let script = by_python("without landlock");
    // Level full holds without Landlock.
    let landlock = "[sandbox]\nlevel = \"landlock\"\n";
    refused_with(
        landlock,
        &script,
        &[
            "commands are refused: the sandbox reaches level none here, sandbox.minimum is landlock",
            "level landlock: the sandbox could not be put up: failed to restrict access to files: this kernel offers no \
             Landlock",
            "fix: use Linux 6.2 or newer",
            "fix: --sandbox off runs commands with the server's own rights",
        ],
        &[],
    );
    for user in User::all() {
        let said = doctor(*user, landlock, &script);
        assert!(said.contains("fix     use Linux 6.2 or newer"), "{said}");
        assert!(said.contains("fix     --sandbox off"), "{said}");
        let world = user.world();
        let mut server = launched(&world, *user, &script, &["--sandbox", "off"]);
        assert_eq!(server.bash("echo ran").stdout(), "ran\n");
    }
}

#[test]
fn a_kernel_without_seccomp_or_memory_files_is_named() {
    let off = "fix: --sandbox off";
    refused(&by_python("without seccomp"), &["failed to install the system call filter", off], &[]);
    refused(&by_python("without memfd_create"), &["failed to start the keeper", "memfd_create"], &[off]);
}

#[test]
fn a_missing_proc_or_dev_is_named_with_the_command_that_mounts_it() {
    let proc = IN_NAMESPACE.replace("MOUNT", "mount -t tmpfs none /proc");
    refused(&proc, &["/proc is not mounted here", "fix: Mount it: mount -t proc proc /proc"], &["--sandbox off"]);
    let dev = IN_NAMESPACE.replace("MOUNT", "mount -t tmpfs none /dev");
    refused(&dev, &["failed to open /dev/null", "fix: /dev/null is missing: mount a /dev here"], &["--sandbox off"]);
}

#[test]
fn a_machine_without_a_shell_says_so_and_one_with_busybox_alone_works() {
    let without = |shells: &str| {
        let hide = format!("for shell in {shells}; do mount --bind /dev/null $shell; done");
        IN_NAMESPACE
            .replace("MOUNT", &hide)
            .replace("sh -c", "/bin/bash -c")
            .replace("exec \"$@\"' sh", "exec \"$@\"' bash")
    };
    for user in User::all() {
        let world = user.world();
        let mut server = launched(&world, *user, &without("/bin/bash /bin/sh"), &[]);
        let said = server.bash("echo ran").err();
        assert!(said.contains("failed to execute /bin/sh: Permission denied"), "{said}");
        let busybox = r#"exec unshare -Urm bash -c 'mount --bind "$(command -v busybox)" /bin/sh && mount --bind /dev/null /bin/bash && exec "$@"' bash "$@""#;
        let world = user.world();
        let mut server = launched(&world, *user, busybox, &[]);
        assert_eq!(server.bash("cd /usr; export A=1; echo $((6 * 7))").stdout(), "42\n");
        assert_eq!(server.bash("pwd; echo $A").stdout(), "/usr\n1\n");
    }
}

#[test]
fn a_session_that_cannot_have_a_temporary_directory_says_where_it_was_tried() {
    let script = r#"export HOME=/dev/null TMPDIR=/proc/not/there; exec "$@""#;
    let expected = [
        "failed to make the session's temporary directory: /proc/not/there/",
        "fix: give the server a directory that it can write: --tmpfs /tmp for a container with --read-only, else HOME or \
         TMPDIR",
    ];
    refused(script, &expected, &["level", "device nodes"]);
    for user in User::all() {
        let said = doctor(*user, "", script);
        assert!(said.contains("because failed to make the session's temporary directory: /proc/not/there/"), "{said}");
        assert!(said.contains("fix     give the server a directory that it can write: --tmpfs /tmp"), "{said}");
        assert!(!said.contains("BROKEN"), "{said}");
    }
}

#[test]
fn too_few_descriptors_are_named_with_the_limit() {
    let advice = "The server may open 20 files at a time: start it with a higher limit (ulimit -n 1024";
    refused(r#"ulimit -n 20; exec "$@""#, &["Too many open files", advice], &["--sandbox off"]);
}

#[test]
fn started_in_the_root_directory_a_denial_names_what_is_missing() {
    for user in User::all() {
        for level in ["auto", "landlock"] {
            let world = user.world();
            let config = world.outside().join("config.toml");
            std::fs::write(&config, format!("[sandbox]\nlevel = \"{level}\"\ncaches = []\n")).unwrap();
            let (config, script) = (config.to_str().unwrap(), r#"cd / && exec "$@""#);
            let mut server = launched(&world, *user, script, &["--config", config]);
            let touch = format!("touch {}/new", world.outside().display());
            let said = server.bash(&touch).ok();
            assert!(said.contains("no project was named (--project-dir names one)"), "{level} [{user:?}]: {said}");
            assert!(!said.contains("mode read-only"), "{said}");
            let mut server = launched(&world, *user, script, &["--config", config, "--sandbox", "read-only"]);
            let said = server.bash(&touch).ok();
            assert!(said.contains("cannot be written in mode read-only (--sandbox)"), "{level} [{user:?}]: {said}");
        }
    }
}

#[test]
fn an_unreadable_current_directory_is_not_blamed_on_a_flag() {
    let user = *User::all().last().unwrap();
    let world = user.world();
    let closed = world.project().join("closed");
    std::fs::create_dir(&closed).unwrap();
    std::fs::set_permissions(&closed, std::os::unix::fs::PermissionsExt::from_mode(0o311)).unwrap();
    let start = |arguments: &[&str]| {
        let run = launcher(&world, user, r#"cd closed; exec "$@""#, arguments).output().unwrap();
        (run.status.code(), String::from_utf8(run.stderr).unwrap())
    };
    let (code, said) = start(&[]);
    assert_eq!(code, Some(2));
    assert!(said.starts_with("testudo: the current directory cannot be read: "), "{said}");
    assert!(said.contains("Permission denied") && said.contains("name one with --workdir"), "{said}");
    let (_, said) = start(&["--workdir", closed.to_str().unwrap()]);
    assert!(said.starts_with("testudo: bad value for --workdir: "), "{said}");
}

#[test]
fn a_failure_that_passes_is_not_final() {
    for user in User::all() {
        let world = user.world();
        let mut server = launched(&world, *user, &IN_NAMESPACE.replace("MOUNT", "mount -t tmpfs none /proc"), &[]);
        let said = server.bash("echo ran").err();
        assert!(said.contains("/proc is not mounted here"), "{said}");
        assert!(server.hello["instructions"].as_str().unwrap().contains("level none, so commands are refused"));
        let uncover = format!("nsenter --target {} --user --mount umount /proc", server.pid());
        assert!(std::process::Command::new("sh").args(["-c", &uncover]).status().unwrap().success());
        let answer = until("a command to run", || Some(server.bash("echo ran")).filter(|reply| !reply.is_error()));
        assert_eq!(answer.stdout(), "ran\n");
        // Protected names are guarded as if nothing had happened.
        let said = server.bash("mkdir .claude && echo '{}' > .claude/settings.json").ok();
        assert!(said.contains(".claude was moved to .claude.untrusted"), "{said}\n{}", server.log());
    }
}
