//! Drafts: commands and file tools work on a layer over the project, and a person takes over or drops what is in it.

use std::path::Path;

use serde_json::json;

use crate::support::drafts::{as_both, fingerprint};
use crate::support::{Client, StartOptions, World, text, until};

#[test]
fn commands_and_file_tools_see_one_draft_and_the_project_stays_as_it_is() {
    as_both("echo one > a.txt; mkdir d; echo two > d/b.txt", |bench| {
        let before = fingerprint(&bench.world.project());
        let mut server = bench.server(&[]);
        let reply = server.bash("echo new > n.txt; rm d/b.txt; echo more >> a.txt; ls").ok();
        assert!(!reply.contains("this is a draft"), "it is said once: {reply}");
        assert_eq!(server.call("view", json!({"path": "n.txt"})).ok(), "1\tnew\n");
        assert!(server.call("view", json!({"path": "d/b.txt"})).is_error());
        server.call("create_file", json!({"path": "made.txt", "content": "by a tool\n"})).ok();
        server.call("str_replace", json!({"path": "a.txt", "old_str": "more", "new_str": "less"})).ok();
        assert_eq!(server.bash("cat made.txt a.txt").stdout(), "by a tool\none\nless\n");
        assert!(server.call("grep", json!({"pattern": "less"})).ok().contains("a.txt"));
        let found = server.call("find", json!({"pattern": "*.txt"})).ok();
        assert!(found.contains("made.txt") && !found.contains("b.txt"), "{found}");
        assert_eq!(fingerprint(&bench.world.project()), before, "the person's files stay as they are");
        // A later server goes on with it, and so does one after a crash.
        server.kill();
        let mut server = bench.server(&[]);
        assert_eq!(server.bash("cat made.txt a.txt; ls d").stdout(), "by a tool\none\nless\n");
        let listed = bench.ok(&["drafts"]);
        assert!(listed.contains(&text(&bench.world.project())) && listed.contains("in use"), "{listed}");
        assert!(bench.ok(&["doctor"]).contains("\ndraft           "), "doctor shows its size");
    });
}

#[test]
fn the_list_names_what_was_added_changed_deleted_renamed_linked_and_its_modes() {
    let prepare = "echo one > a; echo two > b; echo three > c; echo four > d; echo five > e; ln -s a l; mkdir sub moved-tree; \
                   echo six > sub/f; for n in 1 2 3; do echo $n$n$n > moved-tree/$n; done; printf 'target/\\n' > .gitignore; \
                   printf '\\000\\001' > bin; echo 1 > .envrc; git init -q; git add .; git -c user.name=n -c user.email=e commit -qm 1";
    as_both(prepare, |bench| {
        let mut server = bench.server(&[]);
        server
            .bash(
                "echo new > n; echo changed > a; rm b; mv c cc; chmod 755 d; ln -sf b l; rm -r sub; mv moved-tree elsewhere; \
                 mkdir target; for n in $(seq 300); do echo $n > target/$n; done; printf '\\000\\002\\003' > bin; \
                 printf x > $'odd\\033[31m'",
            )
            .ok();
        let list = bench.ok(&["changes"]);
        for line in [
            "added      n  4 bytes",
            "changed    a  4 bytes -> 8 bytes",
            "deleted    b\n",
            "renamed    c -> cc\n",
            "mode       d  644 -> 755",
            "link       l  to b, was a",
            "deleted    sub/\n",
            "renamed    moved-tree/ -> elsewhere/\n",
            "ignored    target  300 added",
            "odd<U+001B>[31m",
        ] {
            assert!(list.contains(line), "{line:?} is missing:\n{list}");
        }
        assert!(!list.contains("target/1") && !list.contains("elsewhere/1"), "{list}");
        let diff = bench.ok(&["changes", "--diff"]);
        for part in ["-one\n+changed", "+++ b/n", "binary: 2 bytes -> 3 bytes"] {
            assert!(diff.contains(part), "{part:?} is missing:\n{diff}");
        }
        let some = bench.ok(&["changes", "a"]);
        assert!(some.contains("changed    a") && !some.contains("added      n"), "{some}");
    });
}

#[test]
fn paths_are_applied_and_discarded_one_by_one_while_the_server_works() {
    as_both("echo 1 > a; echo 1 > b; mkdir d; echo 1 > d/c; echo 1 > d/gone", |bench| {
        let project = bench.world.project();
        let mut server = bench.server(&[]);
        server.bash("echo 2 > a; echo 2 > b; echo 2 > d/c; rm d/gone; mkdir -p x/y; echo n > x/y/z").ok();
        let told = bench.ok(&["apply", "a", "x/y/z"]);
        assert!(told.contains("applied"), "{told}");
        assert_eq!((bench.read("a"), bench.read("b"), bench.read("x/y/z")), ("2\n".into(), "1\n".into(), "n\n".into()));
        assert_eq!(server.bash("cat a b d/c x/y/z; ls d").stdout(), "2\n2\n2\nn\nc\n", "the view is the same");
        bench.ok(&["discard", "d", "b"]);
        assert_eq!(server.bash("cat a b d/c; ls d").stdout(), "2\n1\n1\nc\ngone\n", "the originals are back");
        assert!(bench.ok(&["changes"]).contains("has no changes"), "{}", bench.ok(&["changes"]));
        // What is applied can be changed again, and applied again.
        server.bash("echo 3 > a; rm x/y/z").ok();
        bench.ok(&["apply"]);
        assert_eq!(bench.read("a"), "3\n");
        assert!(!project.join("x/y/z").exists());
        assert_eq!(std::fs::read_dir(&project).unwrap().count(), 4, "nothing else is left there");
    });
}

#[test]
fn an_original_that_the_person_changed_is_not_overwritten() {
    as_both("echo 1 > a; echo 1 > b; echo 1 > gone; mkdir d; echo 1 > d/f; echo 1 > first", |bench| {
        let mut server = bench.server(&[]);
        server.bash("echo draft > a; echo draft > b; rm gone; rm -r d; echo draft > made").ok();
        bench.ok(&["changes"]);
        for (path, content) in [("a", "mine\n"), ("gone", "mine\n"), ("d/f", "mine\n"), ("made", "mine\n")] {
            bench.person(&format!("printf '{content}' > {path}"));
        }
        // The agent writes the file anew, after the person: that does not make the person's change its own.
        server.bash("echo again > new; mv new a").ok();
        let (applied, told) = bench.run(&["apply"]);
        assert!(!applied && told.contains("not applied: a: the original has changed"), "{told}");
        assert!(told.contains("-mine\n+again") && told.contains("testudo apply --force 'a'"), "{told}");
        for path in ["a", "gone", "d/f", "made"] {
            assert_eq!(bench.read(path), "mine\n", "{path}");
        }
        assert_eq!(bench.read("b"), "draft\n", "the others are applied");
        // What the person did before the agent was there is no conflict.
        bench.person("echo theirs > first");
        until("the server to see it", || (server.bash("cat first").stdout() == "theirs\n").then_some(()));
        server.bash("echo draft >> first").ok();
        bench.ok(&["apply", "first"]);
        assert_eq!(bench.read("first"), "theirs\ndraft\n");
        bench.ok(&["apply", "--force", "a"]);
        assert_eq!(bench.read("a"), "again\n");
    });
}

#[test]
fn git_works_in_a_draft_and_the_repository_is_sound_afterwards() {
    let prepare = "git init -q -b main; git config user.name n; git config user.email e; for n in 1 2 3; do echo $n > f$n; \
                   mkdir -p .vscode; echo \"{\\\"n\\\": $n}\" > .vscode/settings.json; git add -A; git commit -qm $n; done";
    as_both(prepare, |bench| {
        let mut server = bench.server(&[]);
        let done = server.bash(
            "set -e; echo more > g; git add g; git commit -qm draft; git branch side; git rm -q f1; git commit -qm removed; git \
             switch -q side; git stash list; git gc -q; git switch -q main; git checkout -q HEAD~3 -- .vscode/settings.json; git \
             status --porcelain; git log --oneline | wc -l",
        );
        assert!(done.stdout().ends_with("M  .vscode/settings.json\n5\n"), "{}", done.text());
        assert_eq!(bench.person("git log --oneline | wc -l"), "3\n");
        let list = bench.ok(&["changes"]);
        let (_, protected) = list.split_once("protected names:").unwrap_or_else(|| panic!("shown apart: {list}"));
        assert!(protected.contains("changed    .vscode/settings.json"), "{list}");
        assert!(list.contains("\ngit        .git/  "), "{list}");
        bench.ok(&["apply"]);
        bench.person("git fsck --strict --no-dangling && test \"$(git log --oneline | wc -l)\" = 5 && test ! -e f1");
        assert_eq!(bench.person("git status --porcelain"), "M  .vscode/settings.json\n");
        // A name that is not in the repository is guarded as without a draft.
        let planted =
            server.bash("mkdir -p .git/hooks; echo 'touch /tmp/x' > .git/hooks/pre-commit; echo x > .envrc").text();
        assert!(planted.contains(".envrc"), "{planted}");
        assert!(!bench.ok(&["changes"]).contains("added      .envrc  "), "{}", bench.ok(&["changes"]));
    });
}

#[test]
fn two_servers_share_a_draft() {
    as_both("echo 1 > a", |bench| {
        let mut one = bench.server(&[]);
        one.bash("echo 2 > a").ok();
        let mut two = bench.server(&[]);
        assert_eq!(two.bash("cat a; echo 3 > b; cat b").stdout(), "2\n3\n");
        assert_eq!(one.bash("cat b").stdout(), "3\n");
        assert_eq!(two.call("view", json!({"path": "b"})).ok(), "1\t3\n");
        one.kill();
        assert_eq!(two.bash("cat a; echo 4 > c; cat c").stdout(), "2\n4\n", "the other goes on");
        assert_eq!(bench.read("a"), "1\n");
    });
}

#[test]
fn the_private_home_and_a_project_in_it_work_in_a_draft() {
    as_both("", |bench| {
        let project = bench.world.home().join("code/p");
        bench.person(&format!("mkdir -p {0} && echo 1 > {0}/a && echo h > ~/f", project.display()));
        let mut server = bench.server(&["--project-dir", project.to_str().unwrap()]);
        let reply = server.bash("echo 2 > a; echo x > ~/made; cat ~/f ~/made; cat ~/code/p/a");
        assert_eq!(reply.stdout(), "h\nx\n2\n", "{}", reply.text());
        assert_eq!(std::fs::read_to_string(project.join("a")).unwrap(), "1\n");
        assert!(!bench.world.home().join("made").exists());
    });
}

#[test]
fn a_root_of_the_client_becomes_a_draft_too() {
    let world = World::new();
    let root = world.outside().join("root");
    std::fs::create_dir(&root).unwrap();
    std::fs::write(root.join("a"), "1\n").unwrap();
    let offered = json!({"roots": [{"uri": format!("file://{}", root.display())}]});
    let options = StartOptions {
        capabilities: json!({"roots": {}}),
        answers: std::sync::Arc::new(move |method, _| (method == "roots/list").then(|| offered.clone())),
        ..StartOptions::default()
    };
    let mut server = Client::connect(world.command(&["--draft"]), options);
    server.bash("true").ok();
    assert_eq!(server.bash("pwd; echo 2 > a; cat a").stdout(), format!("{}\n2\n", root.display()));
    assert_eq!(std::fs::read_to_string(root.join("a")).unwrap(), "1\n");
}

#[test]
fn where_there_can_be_no_draft_the_server_does_not_start() {
    let world = World::new();
    let refused = |arguments: &[&str], state: Option<&Path>| {
        let mut command = world.command(arguments);
        state.map(|state| command.env("XDG_STATE_HOME", state));
        let output = command.stdin(std::process::Stdio::null()).output().unwrap();
        assert!(!output.status.success(), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let off = refused(&["--draft", "--sandbox", "off"], None);
    assert!(off.contains("--draft needs sandbox level full") && off.contains("fix: "), "{off}");
    let config = world.outside().join("config.toml");
    std::fs::write(&config, "draft = true\n[sandbox]\nlevel = \"landlock\"\n").unwrap();
    let weak = refused(&["--config", config.to_str().unwrap()], None);
    assert!(weak.contains("--draft needs sandbox level full") && weak.contains("fix: "), "{weak}");
    let inside = refused(&["--draft"], Some(&world.project().join("state")));
    assert!(inside.contains("the draft would lie in it") && inside.contains("fix: set XDG_STATE_HOME"), "{inside}");
    let none = world.run(&["changes"]);
    assert!(!none.status.success() && String::from_utf8(none.stderr).unwrap().contains("there is no draft of"));
}
