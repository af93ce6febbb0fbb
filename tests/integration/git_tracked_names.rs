//! git in projects that track protected names: exit status, working tree and index are those that the same command gives
//! outside the sandbox, as long as the content was the repository's before the session.

use std::path::Path;
use std::process::Command;

use crate::support::{Inside, Level, everywhere};

/// Makes `up`, a repository with protected names on several branches; `project`, a clone of it with all branches but one;
/// and `lib`, for a submodule.
const WORLD: &str = r"
set -e
git init -q -b main up; cd up
mkdir -p .vscode .claude
echo 1 >.vscode/settings.json; echo 1 >.claude/settings.json; echo '{}' >.mcp.json; echo 1 >.envrc; echo 1 >f
git add -f .; git commit -qm one
git switch -qc feat; echo 2 >.vscode/settings.json; echo 2 >.envrc; echo 2 >f; git rm -q .mcp.json
mkdir .cursor; echo x >.cursor/x; git add -f .; git commit -qam two
git switch -qc other main; printf 'o\n1\n' >.envrc; git commit -qam three
git switch -qc side main; echo s >g; git add g; git commit -qm side
cd ..; git clone -q up project; cd project
git switch -q main; for branch in feat other; do git branch -q $branch origin/$branch; done
cd ../up; git switch -qc later main; echo later >.envrc; echo later >f; git commit -qam later
cd ..; git init -q -b main lib; cd lib; mkdir .vscode; echo lib >.vscode/settings.json; git add -f .; git commit -qm lib
";

/// Commands after which everything is as outside.
const SAME: &[&str] = &[
    "git switch -q feat",
    "git switch -q feat && git switch -q main",
    "git merge -q feat",
    "git merge -q --no-ff -m m side",
    "git switch -q side && git rebase -q feat",
    "git switch -q feat && GIT_SEQUENCE_EDITOR=true git rebase -q -i main",
    "git cherry-pick feat",
    "git switch -q feat && git revert --no-edit HEAD",
    "echo z >>f && git stash -q && git switch -q feat && git switch -q main && git stash pop -q",
    "git reset -q --hard feat",
    "git checkout feat -- .envrc .vscode",
    "git checkout -q feat~1 && git checkout -q feat",
    "git rm -q .envrc && git commit -qm rm",
    "git mv .envrc e && git commit -qm mv",
    "git sparse-checkout set .vscode && git sparse-checkout disable",
    "git gc -q && git switch -q feat",
    "git worktree add -q wt feat",
    "git submodule add -q ../lib lib && git submodule update --init -q",
    "git clone -q ../up clone",
    "mkdir x && touch x/y && git clean -fdxq",
];

fn shell(script: &str, directory: &Path, home: &Path) -> std::process::Output {
    let mut command = Command::new("bash");
    command.args(["-c", script]).current_dir(directory).env("HOME", home).env("GIT_CONFIG_NOSYSTEM", "1");
    command.output().unwrap()
}

/// What git and the file system say of a working tree.
fn state(directory: &Path, home: &Path) -> String {
    let script = r"git status --porcelain --ignored; git ls-files -s | grep -v ^160000; git rev-parse 'HEAD^{tree}' | \
        grep -v 0000; git branch --show-current; git stash list | wc -l; \
        find . -name .git -prune -o -type f -print | sort | xargs sha1sum";
    String::from_utf8(shell(script, directory, home).stdout).unwrap()
}

/// Makes what [`WORLD`] says. Returns where, and the home of the person.
fn begin(inside: &mut Inside) -> (std::path::PathBuf, std::path::PathBuf) {
    let settings = "[user]\nname = n\nemail = a@b\n[protocol \"file\"]\nallow = always\n[advice]\ndetachedHead = false\n\
                    [safe]\ndirectory = *\n";
    inside.home_file(".gitconfig", settings);
    let (home, place) = (inside.world.home(), inside.world.outside().join("made"));
    std::fs::create_dir(&place).unwrap();
    let made = shell(WORLD, &place, &home);
    assert!(made.status.success(), "{made:?}");
    (place, home)
}

#[test]
fn whatever_the_repository_held_is_checked_out_as_outside() {
    everywhere("", &[], |inside| {
        let mut tried = Vec::new();
        let (place, home) = begin(inside);
        for (number, command) in SAME.iter().enumerate() {
            let project = inside.world.project().join(number.to_string());
            let outside = place.join(number.to_string());
            let copy =
                format!("for to in {} {number}; do mkdir $to; cp -r up lib project $to; done", project.display());
            let copied = shell(&copy, &place, &home);
            assert!(copied.status.success(), "{copied:?}");
            let outside = outside.join("project");
            let status = shell(command, &outside, &home).status.code().unwrap();
            tried.push((command, project.join("project"), status, state(&outside, &home)));
        }
        inside.give_project_to_user();
        inside.restart();
        for (command, project, status, want) in tried {
            let reply = inside.bash(&format!("cd {} && {command}", project.display()));
            assert_eq!(reply.field("exit_code"), Some(status.to_string()), "{command}: {}", reply.text());
            let home = inside.world.home();
            assert_eq!(state(&project, &home), want, "{command}: {}", reply.text());
            assert!(!reply.text().contains("was put back") && !reply.text().contains("was moved"), "{}", reply.text());
            if command.contains("clone") {
                assert!(reply.text().contains("clone/.vscode/settings.json"), "it is named: {}", reply.text());
            }
        }
        // The walk that follows changes nothing either.
        inside.client.hang_up();
        inside.client.wait_for_exit();
        let left = shell("find . -name '*.untrusted*'", &inside.world.project(), &inside.world.home());
        assert_eq!(String::from_utf8(left.stdout).unwrap(), "", "{}", inside.client.log());
    });
}

#[test]
fn what_the_repository_did_not_hold_is_put_back_with_the_way_to_take_it_over() {
    for level in [Level::Full, Level::Landlock] {
        let mut inside = Inside::new(level, false, "", &[]);
        let (place, home) = begin(&mut inside);
        let root = inside.world.project();
        let copied = shell(&format!("cp -r project/. {}; cp -r up {}", root.display(), root.display()), &place, &home);
        assert!(copied.status.success(), "{copied:?}");
        shell("git remote set-url origin /nowhere; git -C up switch -q main", &root, &home);
        inside.restart();
        let pulled = inside.bash(&format!("git pull -q {} later", place.join("up").display())).ok();
        assert!(pulled.contains("exit_code: 0"), "{pulled}");
        assert!(pulled.contains(".envrc was put back") && pulled.contains("git checkout -- .envrc"), "{pulled}");
        assert_eq!(inside.world.read(".envrc"), "1\n");
        assert_eq!(inside.world.read("f"), "later\n");
        assert!(!root.join(".envrc.untrusted").exists(), "git has the version");
        inside.does("git checkout -q .envrc; git reset -q --hard main@{u}");
        let merged = inside.bash("git switch -q feat; git merge other").ok();
        assert!(merged.contains("exit_code: 1") && merged.contains("git checkout --ours"), "{merged}");
        assert_eq!(inside.world.read(".envrc"), "2\n", "the version of the branch");
        assert!(inside.world.read(".envrc.untrusted").contains("<<<<<<<"));
        inside.does("git checkout -q --theirs -- .envrc && git add .envrc && git commit -qm merged");
        assert_eq!(inside.world.read(".envrc"), "o\n1\n");
        let planted = inside.bash("echo evil >.vscode/settings.json; rm .envrc").ok();
        assert!(planted.contains(".vscode/settings.json was put back"), "{planted}");
        assert_eq!(inside.world.read(".vscode/settings.json"), "2\n");
        assert_eq!(inside.world.read(".vscode/settings.json.untrusted"), "evil\n");
        assert_eq!(inside.world.read(".envrc"), "o\n1\n");
    }
}
