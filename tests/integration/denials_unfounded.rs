//! Commands that fail outside too: the sandbox takes no blame for them. And refusals that are ours, by their message alone.

use crate::support::{Level, everywhere, text};

/// Every one of these fails on any machine, and the sandbox has nothing to do with it.
const FAIL_ANYWHERE: [&str; 50] = [
    "cat missing",
    "cat missing/missing",
    "ls /no/such/place",
    "cd /no/such/place",
    "cat .",
    "rm -r missing",
    "rmdir full",
    "mkdir full",
    "mv missing there",
    "cp missing there",
    "ln -s x full/x && ln -s y full/x",
    "./plain",
    "./missing",
    "nosuchprogram",
    "nosuchprogram --help",
    "bash -c 'exit 3'",
    "false",
    "grep needle missing",
    "sed -i s/a/b/ missing",
    "test -e missing",
    "python3 -c 'open(\"missing\")'",
    "python3 -c 'import nosuchmodule'",
    "python3 -c 'raise PermissionError(13, \"Permission denied\", \"thing\")'",
    "python3 -c 'raise SystemExit(\"socket: not a real error\")'",
    "python3 missing.py",
    "python3 -c 'import os; os.kill(999999, 9)'",
    "node -e 'throw new Error(\"connect ECONNREFUSED\")'",
    "node missing.js",
    "kill 999999",
    "git log --nosuchoption",
    "git -C missing status",
    "git clone missing there",
    "tar xf missing.tar",
    "tar xf plain",
    "gzip -d plain",
    "make",
    "make missing",
    "cc missing.c",
    "cmp plain missing",
    "diff plain missing",
    "head missing",
    "tail missing",
    "chmod 755 missing",
    "chown nosuchuser plain",
    "touch full/missing/x",
    "echo x > full",
    "echo x > missing/x",
    "cat < missing",
    "exec 9< missing",
    "echo 'Permission denied: /p/x' >&2; exit 1",
];

#[test]
fn what_fails_outside_too_is_not_explained() {
    everywhere("", &[], |inside| {
        inside.world.file("plain", "text\n");
        std::fs::create_dir(inside.world.project().join("full")).unwrap();
        inside.world.file("full/file", "");
        inside.give_project_to_user();
        for command in FAIL_ANYWHERE {
            let reply = inside.bash(command);
            assert_ne!(reply.field("exit_code").as_deref(), Some("0"), "{command}: {}", reply.text());
            assert!(!reply.text().contains("[sandbox: "), "{command}: {}", reply.text());
        }
    });
}

#[test]
fn limits_say_what_they_are_and_what_to_do() {
    everywhere("[sandbox.limits]\nfile = \"1MB\"", &[], |inside| {
        let text = inside.bash("python3 -c 'open(\"big\", \"wb\").write(bytes(2 << 20))'").ok();
        assert!(text.contains("can be larger than 1 MB (sandbox.limits.file)"), "{text}");
    });
}

#[test]
fn a_name_without_a_directory_is_explained_too() {
    everywhere("", &["--sandbox", "read-only"], |inside| {
        inside.world.file("there", "");
        inside.give_project_to_user();
        for command in ["echo x >> here", "echo x >> there"] {
            let said = inside.bash(command).ok();
            assert!(said.contains("cannot be written in mode read-only (--sandbox)"), "{command}: {said}");
        }
    });
}

#[test]
fn a_debugger_says_why_it_can_trace_nothing() {
    everywhere("", &[], |inside| {
        let said = inside.bash("gdb --batch -ex run /bin/true").ok();
        assert!(said.contains("no command can call ptrace, which reaches into other processes"), "{said}");
    });
}

#[test]
fn a_protected_name_says_why_it_cannot_move() {
    everywhere("", &[], |inside| {
        // At level `landlock` nothing is mounted: what moved is put back.
        if inside.level != Level::Full {
            return;
        }
        inside.world.file(".vscode/tasks.json", "{}");
        inside.give_project_to_user();
        inside.restart();
        let said = inside.bash("mv .vscode/tasks.json elsewhere").ok();
        let path = text(&inside.world.project().join(".vscode/tasks.json"));
        assert!(said.contains("[sandbox: ") && said.contains(&path) && said.contains("sandbox.protect"), "{said}");
    });
}
