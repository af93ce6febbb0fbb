//! Attacks through programs that a rule allows: no argument, no input, no planted file and no planted program may make them
//! run `pwn`. There is no sandbox here, so that only the policy can stop it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::{Client, StartOptions, World, text};

/// A project with a directory `bin` in the `PATH`, outside it, which has `pwn`. `pwn` writes a mark.
struct Place {
    world: World,
    mark: PathBuf,
}

impl Place {
    fn new() -> Self {
        let world = World::new();
        let bin = world.outside().join("bin");
        std::fs::create_dir(&bin).unwrap();
        let mark = world.outside().join("mark");
        let place = Self { world, mark };
        place.program(&bin.join("pwn"));
        place
    }

    /// A program that writes the mark, whatever its name is.
    fn program(&self, path: &Path) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\n", text(&self.mark))).unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    fn server(&self, first: &[PathBuf], flags: &[&str]) -> Client {
        let flags: Vec<&str> = ["--sandbox", "off"].into_iter().chain(flags.iter().copied()).collect();
        let mut command = self.world.command(&flags);
        let own = std::env::split_paths(&std::env::var_os("PATH").unwrap()).collect::<Vec<_>>();
        let path = first.iter().cloned().chain([self.world.outside().join("bin")]).chain(own);
        command.env("PATH", std::env::join_paths(path).unwrap());
        Client::connect(command, StartOptions::default())
    }

    fn git(&self, script: &str) {
        let status = std::process::Command::new("bash")
            .args(["-ec", script])
            .current_dir(self.world.project())
            .env("HOME", self.world.home())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .status();
        assert!(status.unwrap().success());
    }

    #[track_caller]
    fn assert_unharmed(&self, what: &str) {
        assert!(!self.mark.exists(), "{what} ran {}", std::fs::read_to_string(&self.mark).unwrap());
    }
}

#[test]
fn an_allowed_interpreter_runs_no_text_that_it_reads() {
    let place = Place::new();
    place.world.file("json/tool.py", "import os; os.system('pwn')");
    place.world.file("x.py", "import os; os.system('pwn')");
    let mut server =
        place.server(&[], &["--allow", "python3", "--allow", "perl", "--allow", "node", "--allow", "sqlite3"]);
    let code = "import os; os.system(\"pwn\")";
    let commands = [
        format!("python3 <<< '{code}'"),
        format!("python3 - <<'E'\n{code}\nE"),
        format!("echo '{code}' | python3"),
        "python3 < x.py".to_owned(),
        "python3 /dev/stdin < x.py".to_owned(),
        "python3 -m json.tool x".to_owned(),
        "python3 -m unittest x".to_owned(),
        "python3 -u".to_owned(),
        "perl <<< 'system q(pwn)'".to_owned(),
        "node <<< 'require(\"child_process\").execSync(\"pwn\")'".to_owned(),
        "sqlite3 <<< '.shell pwn'".to_owned(),
    ];
    for command in commands {
        server.bash(&command).err();
        place.assert_unharmed(&command);
    }
    server.call("bash", json!({"command": "python3", "stdin": code})).err();
    server.call("bash", json!({"command": "python3 -", "stdin": code})).err();
    place.assert_unharmed("stdin");
    assert!(server.bash("python3 --version").ok().contains("Python"));
}

#[test]
fn options_that_run_a_program_are_found_however_they_are_written() {
    let place = Place::new();
    place.world.file("a", "x\n");
    place.world.file("package.json", "{\"scripts\": {\"test\": \"true\"}}");
    let allowed = ["sed", "zip", "npm", "go", "diff3", "sdiff", "sort", "awk", "uniq", "xxd", "cat", "rg", "mystery"];
    let flags: Vec<&str> = allowed.iter().flat_map(|name| ["--allow", name]).collect();
    let mut server = place.server(&[], &flags);
    let commands = [
        "sed 'a x\\\\\ne pwn' a",
        "sed -e 'a\\' -e 's/\ne pwn\n/x/' a",
        "sed ':a;t a e pwn' a",
        "zip -T -TTpwn z.zip a",
        "zip -rTTpwn z.zip a",
        "npm --script-shell=pwn test",
        "npm test --script-sh pwn",
        "npm exec -c pwn",
        "npm exec pwn",
        "go test -exec pwn ./...",
        "go test --exec=pwn ./...",
        "diff3 --diff-program=pwn a a a",
        "sdiff --diff-prog pwn a a",
        "sort --comp=pwn a",
        "rg --pr pwn x",
        "mystery --pager=pwn",
    ];
    for command in commands {
        server.bash(command).err();
        place.assert_unharmed(command);
    }
    for command in
        ["awk '{print \"x;\" > \"../f\"}' a", "uniq a ../f", "xxd a ../f", "awk '{print > \".git/config\"}' a"]
    {
        server.bash(command).err();
        assert!(!place.world.project().join("../f").exists(), "{command}");
    }
    server.bash("awk '{print \"x;\" > \"out\"}' a && uniq a b").ok();
    assert_eq!(place.world.read("out"), "x;\n");
}

#[test]
fn an_allowed_git_runs_nothing_that_a_planted_repository_names() {
    let place = Place::new();
    place.git(
        "git init -q . && git config user.email a@b && git config user.name a && echo 1 > f && git add f && git commit -qm one \
         && git init -q sub && cp f sub/g && git -C sub add g && git -C sub config core.fsmonitor pwn \
         && mkdir -p evil/objects evil/refs && echo 'ref: refs/heads/main' > evil/HEAD \
         && printf '[core]\\n\\trepositoryformatversion = 0\\n\\tworktree = .\\n\\tfsmonitor = pwn\\n' > evil/config \
         && mkdir -p .git/rebase-merge && printf 'exec pwn\\n' > .git/rebase-merge/git-rebase-todo",
    );
    let mut server = place.server(&[], &["--allow", "git", "--allow", "env"]);
    let commands = [
        "git -C evil status",
        "(cd evil && git status)",
        "git -C sub status",
        "git -C sub diff",
        "(cd sub && git status)",
        "git rebase --continue",
        "git rebase --skip",
    ];
    for command in commands {
        server.bash(command);
        place.assert_unharmed(command);
    }
    for command in [
        "env -i git -C sub status",
        "env -u GIT_CONFIG_COUNT git -C sub status",
        "GIT_CONFIG_COUNT=0 git -C sub status",
    ] {
        server.bash(command).err();
        place.assert_unharmed(command);
    }
    server.bash("git rebase --abort");
    assert!(server.bash("git status --short && git log --oneline").ok().contains("one"));
    let later = server.bash("git commit -q --allow-empty -m two && git log -1 --format=%s").ok();
    assert!(later.contains("two"), "{later}");
    place.server(&[], &[]).bash("git -C sub status").ok();
    assert!(place.mark.exists(), "without rules nothing vouches for git, and the attack is a real one");
}

/// A virtual environment or `node_modules/.bin` in the `PATH` belongs to the project, and commands can write it.
#[test]
fn a_program_that_commands_can_replace_is_not_the_one_that_a_rule_names() {
    let place = Place::new();
    let venv = place.world.project().join(".venv/bin");
    place.program(&venv.join("mytool"));
    let mut server =
        place.server(std::slice::from_ref(&venv), &["--allow", "ls", "--allow", "cp", "--allow", "mytool"]);
    let text = server.bash("mytool").err();
    assert!(text.contains("in a directory that commands can write"), "{text}");
    place.assert_unharmed("mytool");
    // The copy makes another `ls` while the text already runs.
    let text = server.bash("cp .venv/bin/mytool .venv/bin/ls && ls .venv").ok();
    assert!(text.contains("bin\n"), "{text}");
    place.assert_unharmed("ls");
    server.bash("ls").err();
    place.assert_unharmed("the planted ls");
    let rule = "[[policy.rule]]\ncommand = \"mytool\"\nverdict = \"allow\"\narguments = \"any\"\n";
    let file = place.world.home().join("config.toml");
    std::fs::write(&file, rule).unwrap();
    place.server(&[venv], &["--config", file.to_str().unwrap()]).bash("mytool").ok();
    assert!(place.mark.exists(), "arguments = \"any\" lifts it");
}
