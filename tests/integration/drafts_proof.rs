//! The proof of drafts: whatever commands do, a discarded draft leaves no trace, and an applied one leaves the same bytes,
//! modes, links and attributes as the same commands in a plain copy.

use crate::support::drafts::{Bench, as_both, contents, fingerprint};
use crate::support::until;

/// A project with a little of everything. Files have old times, so that a wrong one shows.
const PROJECT: &str = r#"
    mkdir -p src/deep/er docs empty target; umask 022
    for n in 1 2 3; do echo source $n > src/$n.c; echo deep $n > src/deep/er/$n.h; echo doc $n > docs/$n.md; done
    printf 'target/\n*.log\n' > .gitignore; echo out > target/out; echo log > a.log
    head -c 200000 /dev/urandom > data.db; truncate -s 8M sparse; printf end >> sparse
    ln -s src/1.c link; ln -s nowhere broken; ln docs/1.md docs/hard; chmod 755 src/1.c; chmod 600 docs/2.md
    printf x > $(printf 'n\351me'); mkdir $(printf 'dir\377'); printf y > $(printf 'dir\377/f'); printf z > 'a b
c'
    python3 -c 'import os; os.setxattr("docs/3.md", "user.kept", b"1"); os.setxattr("src/2.c", "user.old", b"1")'
    find . -exec touch -h -d '2020-01-02 03:04:05.678' {} +
"#;

/// What is done, in the draft and in a plain copy.
const COMMANDS: &[&str] = &[
    "rm -rf *",
    "rm -rf src && mkdir src && echo anew > src/1.c && rm docs/1.md && mkdir docs/1.md && echo in > docs/1.md/f",
    "mv src moved && mv docs/2.md docs/second.md && mv moved/deep deeper && mv a.log b.log",
    "python3 -c 'import os; os.rename(\"src\", \"moved\"); os.rename(\"docs\", \"moved/docs\"); os.rename(\"moved/deep\", \"empty\")'",
    "truncate -s 100 data.db && printf middle | dd of=data.db bs=1 seek=50 conv=notrunc status=none",
    "chmod -R go-rwx src && chmod -R a-w docs && chmod 700 . && chmod 000 data.db && chmod 111 empty",
    "ln README r2 2>/dev/null; ln src/1.c src/same && echo more >> src/same && ln -f docs/2.md docs/3.md && rm docs/hard",
    "truncate -s 64M sparse && printf x | dd of=sparse bs=1 seek=40000000 conv=notrunc status=none && truncate -s 16M holes",
    "python3 -c 'import os; os.setxattr(\"docs/3.md\", \"user.kept\", b\"2\"); os.setxattr(\"src/1.c\", \"user.new\", b\"n\"); \
     os.removexattr(\"src/2.c\", \"user.old\")'",
    "mv $'n\\351me' $'m\\351' && echo more >> $'dir\\377/f' && printf x > $'new\\n\\376' && rm 'a b\nc'",
    "rm link && mkdir link && echo f > link/f && rm -r docs && ln -s src docs && ln -sfn empty broken && mkfifo pipe",
    "touch -d '2021-05-06' src/1.c && touch -d '2021-05-07' empty && cp -p src/2.c copy && echo same > x && rm x",
    "mkdir -p new/a/b && echo 1 > new/a/b/c && chmod 555 new/a/b && rmdir empty && : > src/3.c",
];

#[test]
fn what_is_applied_is_what_a_plain_copy_has() {
    as_both(PROJECT, |bench| {
        for command in COMMANDS {
            let plain = bench.plain_copy();
            bench.run_in(&plain, command);
            let mut server = bench.server(&[]);
            let reply = server.bash(command);
            assert_eq!(reply.field("exit_code").as_deref(), Some("0"), "{command}: {}", reply.text());
            drop(server);
            let told = bench.ok(&["apply"]);
            assert_eq!(contents(&bench.world.project()), contents(&plain), "{command}\n{told}");
            let left = bench.ok(&["changes"]);
            assert!(left.contains("has no changes"), "{command}: {left}");
            bench.start_again(PROJECT);
        }
    });
}

#[test]
fn what_is_discarded_leaves_no_trace() {
    as_both(PROJECT, |bench| {
        let before = fingerprint(&bench.world.project());
        for (index, command) in COMMANDS.iter().enumerate() {
            let mut server = bench.server(&[]);
            let seen = server.bash("find . -printf '%P %y %m %s %T@ %l\\n' | sort").stdout();
            server.bash(command).ok();
            // Every other time while the server works.
            if index % 2 == 0 {
                drop(server);
                bench.ok(&["discard"]);
            } else {
                bench.ok(&["discard"]);
                let list = bench.ok(&["changes"]);
                assert!(list.contains("has no changes"), "{command}: {list}");
                let again = server.bash("find . -printf '%P %y %m %s %T@ %l\\n' | sort").stdout();
                let files = |text: &str| {
                    text.lines().filter(|line| !line.contains(" d ")).map(str::to_owned).collect::<Vec<_>>()
                };
                assert_eq!(files(&again), files(&seen), "{command}");
                drop(server);
            }
            assert_eq!(fingerprint(&bench.world.project()), before, "{command}");
        }
        let mut server = bench.server(&[]);
        assert_eq!(server.bash("cat src/1.c").stdout(), "source 1\n");
        drop(server);
        bench.ok(&["discard"]);
        assert!(bench.ok(&["drafts"]).contains("there are no drafts"), "{}", bench.ok(&["drafts"]));
    });
}

#[test]
fn what_git_does_is_applied_and_discarded_too() {
    let prepare = "git init -q -b main; git config user.name n; git config user.email e; printf 'out/\n' > .gitignore; for n in 1 2; \
                   do echo $n > f$n; echo $n > both; git add -A; git commit -qm $n; done; mkdir out; echo o > out/o; echo u > untracked";
    as_both(prepare, |bench| {
        for command in ["git clean -fdxq", "git reset -q --hard HEAD~1", "git rm -rq . && git commit -qm none"] {
            let (before, plain) = (fingerprint(&bench.world.project()), bench.plain_copy());
            bench.run_in(&plain, command);
            let mut server = bench.server(&[]);
            assert_eq!(server.bash(command).field("exit_code").as_deref(), Some("0"), "{command}");
            drop(server);
            bench.ok(&["discard"]);
            assert_eq!(fingerprint(&bench.world.project()), before, "{command}");
            let mut server = bench.server(&[]);
            server.bash(command).ok();
            drop(server);
            bench.ok(&["apply"]);
            let without_git = |root: &std::path::Path| {
                let mut found = contents(root);
                found.retain(|path, _| !path.starts_with(".git/") && path != ".git");
                found
            };
            assert_eq!(without_git(&bench.world.project()), without_git(&plain), "{command}");
            bench.person("git fsck --strict --no-dangling");
            let status = bench.person("git status --porcelain");
            assert_eq!(status, bench.run_in(&plain, "git status --porcelain"), "{command}");
            bench.start_again(prepare);
        }
    });
}

/// Killed at any instant, `apply` leaves each file as it was or as it is to be, and the next one goes on.
#[test]
fn an_apply_that_is_killed_fifty_times_tears_and_loses_nothing() {
    let prepare =
        "for n in $(seq 400); do mkdir -p d$((n % 7)); head -c 3000 /dev/zero | tr '\\0' o > d$((n % 7))/$n; done";
    as_both(prepare, |bench| {
        let mut server = bench.server(&[]);
        server.bash("for f in d*/*; do head -c 5000 /dev/zero | tr '\\0' n > $f; done; mkdir new; for n in $(seq 100); do echo $n > new/$n; done; rm -r d0").ok();
        let project = bench.world.project();
        let applied = || {
            let mut count = 0;
            for number in 1..=400 {
                let path = project.join(format!("d{}/{number}", number % 7));
                match std::fs::read(&path) {
                    Ok(bytes) if bytes == [b'n'; 5000] => count += 1,
                    Ok(bytes) => assert!(bytes == [b'o'; 3000], "{} is torn", path.display()),
                    Err(_) => assert_eq!(number % 7, 0, "{} is lost", path.display()),
                }
            }
            for number in 1..=100 {
                if let Ok(text) = std::fs::read_to_string(project.join(format!("new/{number}"))) {
                    assert_eq!(text, format!("{number}\n"));
                }
            }
            count
        };
        for round in 0..50 {
            let mut apply = bench.command(&["apply"]).spawn().unwrap();
            let start = applied();
            // A little further each time, so that every stage is hit.
            until("it to come further or to end", || {
                let over = apply.try_wait().unwrap().is_some();
                (over || applied() >= start + 1 + round % 9).then_some(())
            });
            let _ = apply.kill();
            apply.wait().unwrap();
            applied();
        }
        bench.ok(&["apply"]);
        assert_eq!(applied(), 400 - 57, "all files are new, and those of d0 are gone");
        assert!(!project.join("d0").exists() && !project.join(".testudo-apply").exists());
        assert_eq!(server.bash("cat new/* | wc -l; ls -A").stdout(), "100\nd1\nd2\nd3\nd4\nd5\nd6\nnew\n");
    });
}

/// Build output does not drown the list.
#[test]
fn a_large_build_is_one_line() {
    // As an ordinary user where that is possible.
    let bench = Bench::new(rustix::process::getuid().is_root(), "printf 'build/\\n' > .gitignore; echo 1 > a");
    let mut server = bench.server(&[]);
    let make = "import os\nfor d in range(500):\n os.makedirs(f'build/{d}')\n for f in range(100): open(f'build/{d}/{f}', 'w').write(str(f))";
    server.bash(&format!("python3 -c \"{make}\"; echo 2 > a")).ok();
    let list = bench.ok(&["changes"]);
    assert!(list.contains("changed    a") && list.contains("ignored    build  50000 added"), "{list}");
    assert!(list.lines().count() < 8, "{list}");
    bench.ok(&["apply", "build"]);
    assert_eq!(std::fs::read_dir(bench.world.project().join("build")).unwrap().count(), 500);
    assert_eq!(bench.read("a"), "1\n");
}
