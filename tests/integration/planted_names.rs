//! Attacks on what the person runs later: git's configuration, hooks, the configuration of editors and agents. Each of them
//! is tried with everything that a command can do, and afterwards the person's own git runs in the project.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::support::{Inside, Person, World, choice, everywhere, until};

const HOSTILE: &str = r#"fsmonitor = \"touch MARK; false\""#;

/// Each runs in a repository of its own. `MARK` is a file that must not appear.
const GIT: &[(&str, &str)] = &[
    ("link", "mv .git/config cfg; printf '[core]\\n%s\\n' 'HOSTILE' >>cfg; ln -s ../cfg .git/config"),
    ("long", "(head -c 1100000 /dev/zero | tr '\\0' '#'; printf '\\n[core]\\n%s\\n' 'HOSTILE') >>.git/config"),
    ("comment", "printf '\\tx = a # %s\\n[core] %s\\n' '\\' 'HOSTILE' >>.git/config"),
    (
        "key",
        "git config gpg.format ssh; git config gpg.ssh.defaultKeyCommand 'touch MARK'; git config commit.gpgsign true",
    ),
    ("include", "printf '[core]\\n%s\\n' 'HOSTILE' >inc; git config include.path ../inc"),
    (
        "worktree",
        "git worktree add -q wt; git config extensions.worktreeConfig true; \
         printf '[core]\\n%s\\n' 'HOSTILE' >.git/worktrees/wt/config.worktree",
    ),
    ("home", "git config core.worktree $HOME; echo evil >.profile; git add -f .profile"),
    (
        "redirect",
        "mkdir -p sub wt x/objects x/refs; echo 'gitdir: ../wt' >sub/.git; echo 'ref: refs/heads/main' >wt/HEAD; \
         echo ../x >wt/commondir; printf '[core]\\nrepositoryformatversion = 0\\n%s\\n' 'HOSTILE' >x/config",
    ),
    (
        "shared",
        "mkdir -p sub ev/objects ev/refs ev/worktrees/w; echo 'gitdir: ../ev/worktrees/w' >sub/.git; \
         echo 'ref: refs/heads/main' >ev/worktrees/w/HEAD; echo ../.. >ev/worktrees/w/commondir; \
         printf '[core]\\nrepositoryformatversion = 0\\n%s\\n' 'HOSTILE' >ev/config",
    ),
    ("bare", "git init -q --bare b.git; printf '\\n[core]\\n%s\\n' 'HOSTILE' >>b.git/config"),
    (
        "nested",
        "git init -q n; printf '\\n[core]\\n%s\\n' 'HOSTILE' >>n/.git/config; echo 'touch MARK' >n/.git/hooks/pre-commit; chmod +x n/.git/hooks/*",
    ),
    ("moved", "mv .git g2; cp -r g2 .git; printf '\\n[core]\\n%s\\n' 'HOSTILE' >>.git/config; true"),
    ("hooks", "echo 'touch MARK' >.githooks/pre-commit; chmod +x .githooks/pre-commit; mkdir -p .githooks; true"),
    (
        "hook",
        "mv .git/hooks .git/h2; mkdir .git/hooks; echo 'touch MARK' >.git/hooks/post-index-change; chmod +x .git/hooks/*; true",
    ),
];

/// Each is tried in a directory of its own that has a person's `.vscode/tasks.json`, `.claude/s` and `.envrc`.
const NAMES: &[&str] = &[
    "mv .vscode v2; cp -r v2 .vscode; echo evil >.vscode/tasks.json",
    "cp -r .vscode v2; echo evil >v2/tasks.json; EXCHANGE v2 .vscode",
    "mv .vscode v2; mkdir v3; echo evil >v3/tasks.json; ln -s v3 .vscode",
    "cd ..; mv $OLDPWD $OLDPWD.b; cp -r $OLDPWD.b $OLDPWD; cd $OLDPWD; echo evil >.envrc; echo evil >.claude/s",
    "rm -rf .claude .envrc; mkdir .claude; echo evil >.claude/s; echo evil >.envrc",
    "mkdir -p deep/er; echo evil >deep/er/.envrc",
    "mkdir sub t; echo evil >t/tasks.json; ln -s ../t sub/.vscode",
    "mkdir t; echo evil >t/x; ln -s t .cursor",
    "mkdir -p x/y; echo evil >x/y/.envrc; chmod 311 x x/y",
    "mkdir z; for i in $(seq 99); do touch z/.envrc.untrusted-$i; done; touch z/.envrc.untrusted; echo evil >z/.envrc",
    "mkdir w; touch w/a; echo evil >w/tasks.json; mkdir q; mv w q/.vscode",
    "echo evil >opencode.json; echo evil >x.code-workspace; mkdir .husky; echo evil >.husky/pre-commit; echo evil >.exrc",
];

const EXCHANGE: &str = "python3 -c \"import ctypes,sys; ctypes.CDLL(None).renameat2(-100, sys.argv[1].encode(), -100, \
                        sys.argv[2].encode(), 2)\"";

fn person(script: &str, directory: &Path, home: &Path) -> String {
    let mut command = Command::new("bash");
    command.args(["-c", script]).current_dir(directory).env("HOME", home).env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// The kernel stamps files with a clock that lags behind. Waits until a file that is written now is younger than this call.
fn file_clock_ticks(world: &World) {
    let (now, probe) = (std::time::SystemTime::now(), world.outside().join("probe"));
    until("the clock of files to tick", || {
        std::fs::write(&probe, "").unwrap();
        (probe.metadata().unwrap().modified().unwrap() > now).then_some(())
    });
}

fn end(inside: &mut Inside) {
    inside.client.hang_up();
    inside.client.wait_for_exit();
}

#[test]
fn no_command_makes_the_persons_git_run_something() {
    everywhere("", &[], |inside| {
        inside.home_file(".gitconfig", "[user]\nname = n\nemail = a@b\n");
        let (root, home) = (inside.world.project(), inside.world.home());
        let mark = inside.world.outside().join("mark");
        for (name, _) in GIT {
            let made = "git init -q -b main . && echo x >f && git add f && git commit -qm one && mkdir .githooks && \
                        echo 'true' >.githooks/post-commit && git config core.hooksPath .githooks";
            std::fs::create_dir(root.join(name)).unwrap();
            person(made, &root.join(name), &home);
            if *name != "hooks" {
                person("git config --unset core.hooksPath", &root.join(name), &home);
            }
        }
        inside.give_project_to_user();
        inside.restart();
        for (name, attack) in GIT {
            let attack =
                attack.replace("HOSTILE", &HOSTILE.replace("\\\"", "\"")).replace("MARK", mark.to_str().unwrap());
            let reply = inside.bash(&format!("cd {} && {{ {attack}; }}", root.join(name).display()));
            assert!(!reply.is_error(), "{name}: {}", reply.text());
        }
        end(inside);
        let everywhere = "find . -name .git -o -name '*.git' -type d | grep -v untrusted | while read -r git; do \
                          (cd $(dirname $git); git status; git add -A; git commit -qm x; git stash; git checkout -f); \
                          (cd $git 2>/dev/null && git log -1); done";
        let said = person(everywhere, &root, &home);
        assert!(!mark.exists(), "{said}\n{}", inside.client.log());
        assert!(!home.join(".profile").exists(), "{said}");
    });
}

#[test]
fn no_protected_name_is_planted_or_replaced() {
    everywhere("", &[], |inside| {
        let root = inside.world.project();
        for number in 0..NAMES.len() {
            for name in [".vscode/tasks.json", ".claude/s", ".envrc"] {
                inside.world.file(&format!("{number}/{name}"), "mine\n");
            }
        }
        inside.give_project_to_user();
        inside.restart();
        for (number, attack) in NAMES.iter().enumerate() {
            let attack = attack.replace("EXCHANGE", EXCHANGE);
            let reply = inside.bash(&format!("cd {}/{number} && {{ {attack}; }}", root.display()));
            assert!(!reply.is_error(), "{attack}: {}", reply.text());
        }
        end(inside);
        for (number, attack) in NAMES.iter().enumerate() {
            for name in [".vscode/tasks.json", ".claude/s", ".envrc"] {
                let stands = std::fs::read_to_string(root.join(number.to_string()).join(name));
                assert_eq!(stands.ok().as_deref(), Some("mine\n"), "{name}: {attack}\n{}", inside.client.log());
            }
        }
        let planted = "grep -rl evil . --include=.envrc --include=tasks.json --include=s --include=opencode.json \
                       --include='*.code-workspace' --include=.exrc | grep -v -e untrusted -e /v2/ -e /v3/ -e /t/; \
                       find . -path '*.vscode' -type l -o -name .cursor -o -name .husky";
        assert_eq!(person(planted, &root, &inside.world.home()), "", "{}", inside.client.log());
    });
}

/// What still runs when a call has ended is watched, and the last look comes when everything is dead.
#[test]
fn nothing_is_planted_after_the_call() {
    everywhere("", &[], |inside| {
        inside.home_file(".gitconfig", "[user]\nname = n\nemail = a@b\n");
        let (root, home) = (inside.world.project(), inside.world.home());
        person("git init -q -b main . && echo x >f && git add f && git commit -qm one; mkdir far", &root, &home);
        inside.give_project_to_user();
        inside.restart();
        inside.does(
            "(sleep 1; echo evil >.envrc; mkdir far/.cursor; echo evil >far/.cursor/x; git config core.fsmonitor evil; \
             touch planted; sleep 1000) >/dev/null 2>&1 &",
        );
        until("the command to plant", || root.join("planted").exists().then_some(()));
        until("the walk", || (!root.join(".envrc").exists() && !root.join("far/.cursor").exists()).then_some(()));
        until("the walk", || (!inside.world.read(".git/config").contains("fsmonitor")).then_some(()));
        let told = inside.bash("true").text();
        assert!(told.contains(".envrc was moved to .envrc.untrusted") && told.contains("core.fsmonitor"), "{told}");
        inside.does(
            "(while :; do echo evil >.envrc; mkdir -p far/.cursor; echo evil >far/.cursor/x; git init -q n; \
             echo evil >n/.git/hooks/pre-commit; touch again; done) >/dev/null 2>&1 &",
        );
        until("the command to plant again", || root.join("again").exists().then_some(()));
        end(inside);
        for name in [".envrc", "far/.cursor/x", "n/.git/hooks/pre-commit"] {
            assert!(!root.join(name).exists(), "{name}: {}", inside.client.log());
        }
    });
}

/// The keeper kills what is left when a reaper was killed. What that does until then is not the person's.
#[test]
fn nothing_is_planted_by_killing_the_process_that_watches() {
    everywhere("", &[], |inside| {
        let root = inside.world.project();
        inside.does("mkdir far");
        inside.bash(
            "(while :; do echo evil >.envrc; mkdir -p far/.cursor; echo evil >far/.cursor/x; done) & \
             until [ -e .envrc ]; do :; done; kill -9 $PPID; sleep 1000",
        );
        inside.bash("true");
        end(inside);
        for name in [".envrc", "far/.cursor/x"] {
            assert!(!root.join(name).exists(), "{name}: {}", inside.client.log());
        }
    });
}

/// What the agent's own client writes while a task runs.
#[test]
fn what_came_meanwhile_is_asked_about_and_nobody_is_blamed() {
    for level in ["auto", "landlock"] {
        let (world, someone) = (World::new(), Person::new());
        let settings = world.outside().join("config.toml");
        std::fs::write(&settings, format!("[sandbox]\nlevel = \"{level}\"\n")).unwrap();
        let arguments = ["--config", settings.to_str().unwrap()];
        let mut server = world.server_with(&arguments, someone.options());
        // Nothing runs: it is the person's own.
        server.bash("true").ok();
        file_clock_ticks(&world);
        world.file(".claude/settings.json", "mine");
        let reply = server.bash("true").ok();
        assert!(!reply.contains("[sandbox"), "{reply}");
        // Something runs: the person is asked, and says yes.
        server.call("bash", json!({ "command": "sleep 1000", "run_in_background": true })).ok();
        world.file(".mcp.json", "{\"mine\": 1}");
        let reply = server.bash("true").ok();
        assert!(reply.contains(".mcp.json stays"), "{reply}");
        let question = someone.question(someone.questions() - 1)["message"].as_str().unwrap().to_owned();
        assert!(question.contains("{\"mine\": 1}") && question.contains(".mcp.json"), "{question}");
        assert_eq!(world.read(".mcp.json"), "{\"mine\": 1}");
        assert_eq!(server.bash("true").ok(), "exit_code: 0\n", "once is enough");
        // With no, or with nobody to ask, the content is kept.
        someone.will(choice("deny"));
        world.file(".envrc", "mine");
        let reply = server.bash("true").ok();
        assert!(reply.contains(".envrc was moved to .envrc.untrusted"), "{reply}");
        assert!(reply.contains("It may have been written by a program of the person"), "{reply}");
        assert!(reply.contains("mv .envrc.untrusted .envrc"), "{reply}");
        assert_eq!(world.read(".envrc.untrusted"), "mine");
        assert_eq!(world.read(".claude/settings.json"), "mine");
    }
}

#[test]
fn the_person_may_allow_what_a_command_made_of_a_tracked_file() {
    let (world, someone) = (World::new(), Person::new());
    let made =
        "git init -q . && echo one >.envrc && git add -f . && git -c user.name=n -c user.email=a@b commit -qm one";
    person(made, &world.project(), &world.home());
    let mut server = world.server_with(&[], someone.options());
    let reply = server.bash("echo two >.envrc").ok();
    assert!(reply.contains(".envrc stays"), "{reply}");
    assert_eq!(world.read(".envrc"), "two\n");
    someone.will(choice("deny"));
    server.bash("echo three >.envrc").ok();
    assert_eq!(world.read(".envrc"), "two\n");
    assert_eq!(someone.questions(), 2);
    server.bash("git checkout -q .envrc").ok();
    assert_eq!((world.read(".envrc"), someone.questions()), ("one\n".to_owned(), 2));
}

/// Files that would make git take another directory for its repository.
#[test]
fn file_tools_ask_before_they_redirect_git() {
    let (world, someone) = (World::new(), Person::new());
    let made = "git init -q . && git config core.hooksPath .githooks; mkdir plain; touch plain/HEAD";
    person(made, &world.project(), &world.home());
    someone.will(choice("deny"));
    let mut server = world.server_with(&[], someone.options());
    let mut create = |path: &str| server.call("create_file", json!({ "path": path, "content": "x" }));
    for path in
        ["sub/.git", ".git/worktrees/w/commondir", "plain/config", "plain/hooks/pre-push", ".githooks/pre-commit"]
    {
        let before = someone.questions();
        create(path).err();
        assert_eq!(someone.questions(), before + 1, "{path}");
    }
    let before = someone.questions();
    for path in ["evil/config", "evil/objects/k", "evil/refs/k"] {
        create(path).ok();
    }
    create("evil/HEAD").err();
    assert_eq!(someone.questions(), before + 1);
}

#[test]
fn read_only_binds_the_file_tools_too() {
    let world = World::new();
    world.file("f", "one");
    let mut server = world.server(&["--sandbox", "read-only"]);
    let error = server.call("create_file", json!({ "path": "g", "content": "x" })).err();
    assert!(error.contains("read-only"), "{error}");
    server.call("str_replace", json!({ "path": "f", "old_str": "one", "new_str": "two" })).err();
    assert_eq!(world.read("f"), "one");
}

/// The first walk is interrupted, and goes on where it stopped.
#[test]
fn a_large_tree_hides_nothing() {
    let world = World::new();
    for directory in 0..300 {
        for file in 0..30 {
            world.file(&format!("a/{directory}/{file}/f"), "");
        }
    }
    let mut server = world.server(&[]);
    server.bash("mkdir -p z/z && echo evil >z/z/.envrc; mv a/299 a/q; echo evil >a/q/3/.envrc").ok();
    let planted = [world.project().join("z/z/.envrc"), world.project().join("a/q/3/.envrc")];
    until("the walk", || (!planted.iter().any(|path| path.exists())).then_some(()));
}
