//! Protected names: files that a command could plant to have them run outside the sandbox later. These are git hooks, the
//! configuration of agents and editors, and git's own configuration.

use crate::support::{Inside, Level, everywhere, until};

/// Creates a repository with the person's own hook and configuration.
fn repository(inside: &Inside) {
    for (name, text) in [
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".git/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"),
        (".git/objects/info/x", ""),
        (".git/refs/heads/.keep", ""),
        (".git/hooks/pre-commit", "mine\n"),
        (".claude/settings.json", "mine\n"),
        (".envrc", "mine\n"),
    ] {
        inside.world.file(name, text);
    }
    if inside.nobody {
        let paths = [
            "",
            ".git",
            ".git/HEAD",
            ".git/config",
            ".git/objects",
            ".git/objects/info",
            ".git/refs",
            ".git/refs/heads",
            ".git/hooks",
            ".git/hooks/pre-commit",
            ".claude",
            ".claude/settings.json",
            ".envrc",
        ];
        for path in paths {
            std::os::unix::fs::chown(inside.world.project().join(path), Some(65534), Some(65534)).unwrap();
        }
    }
}

#[test]
fn what_stands_stays_as_it_is() {
    everywhere("", &[], |inside| {
        repository(inside);
        let attack = "echo evil > .git/hooks/pre-commit; echo evil > .git/hooks/post-commit; rm -rf .claude; \
                      echo evil > .envrc; mv .git elsewhere; mkdir -p .claude; echo evil > .claude/settings.json; true";
        let reply = inside.bash(attack).ok();
        assert_eq!(inside.world.read(".git/hooks/pre-commit"), "mine\n", "{reply}");
        assert!(!inside.world.project().join(".git/hooks/post-commit").exists(), "{reply}");
        assert_eq!(inside.world.read(".claude/settings.json"), "mine\n", "{reply}");
        assert_eq!(inside.world.read(".envrc"), "mine\n", "{reply}");
        if inside.level == Level::Full {
            inside.cannot("echo evil > .git/hooks/pre-commit");
            inside.cannot("rm .envrc");
            inside.cannot("mv .claude x");
        } else {
            assert!(reply.contains("[sandbox: "), "{reply}");
        }
    });
}

#[test]
fn what_is_planted_is_moved_aside_and_reported() {
    everywhere("", &[], |inside| {
        inside.does("true");
        let reply = inside.bash("echo evil > .envrc; mkdir .vscode; echo evil > .vscode/tasks.json").ok();
        assert!(reply.contains("[sandbox: .envrc was moved to .envrc.untrusted"), "{reply}");
        assert!(reply.contains(".vscode/tasks.json was moved"), "{reply}");
        assert!(!inside.world.project().join(".envrc").exists());
        assert_eq!(inside.world.read(".envrc.untrusted"), "evil\n");
        // In other directories the sweep finds it, which follows the command.
        inside.does("mkdir -p a/b/c && echo evil > a/b/c/.mcp.json");
        until("the sweep", || (!inside.world.project().join("a/b/c/.mcp.json").exists()).then_some(()));
    });
}

#[test]
fn new_repositories_are_protected_from_then_on() {
    everywhere("", &[], |inside| {
        let reply =
            inside.bash("git init -q . && echo evil > .git/hooks/pre-commit && chmod +x .git/hooks/pre-commit").ok();
        assert!(reply.contains("pre-commit was moved to pre-commit.untrusted"), "{reply}");
        assert!(inside.world.project().join(".git/hooks/pre-commit.sample").exists(), "git's own samples stay");
        let second = inside.bash("echo evil > .git/hooks/pre-commit").ok();
        assert!(!inside.world.project().join(".git/hooks/pre-commit").exists(), "{second}");
        inside.does("git config user.email a@b; git config user.name n; echo x > f; git add f; git commit -qm one");
    });
}

#[test]
fn gits_configuration_is_guarded() {
    everywhere("", &[], |inside| {
        repository(inside);
        inside.does("git config branch.main.remote origin && git config user.name n");
        let kept = inside.world.read(".git/config");
        assert!(kept.contains("origin"));
        for (key, value) in [("core.hooksPath", "/tmp/x"), ("core.fsmonitor", "./evil"), ("alias.st", "!evil")] {
            let reply = inside.bash(&format!("git config {key} '{value}'")).ok();
            assert!(reply.contains(&key.to_lowercase()) && reply.contains(".git/config"), "{reply}");
            assert_eq!(inside.world.read(".git/config"), kept);
        }
        let broken = inside.bash("echo '[broken' > .git/config").ok();
        assert!(broken.contains("git cannot read"), "{broken}");
        assert_eq!(inside.world.read(".git/config"), kept);
    });
}

#[test]
fn protection_can_be_switched_off_by_name() {
    let mut inside = Inside::new(Level::Full, false, "protect = []", &[]);
    inside.does("echo x > .envrc");
    assert_eq!(inside.world.read(".envrc"), "x\n");
}
