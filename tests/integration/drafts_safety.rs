//! Drafts under attack and in bad luck: nothing but a person's decision reaches the person's files, whatever dies or races.

use std::os::unix::fs::MetadataExt;
use std::process::Stdio;

use serde_json::json;

use crate::support::drafts::{Bench, as_both, fingerprint};
use crate::support::{HttpServer, nap, text};

/// Commands reach neither the layer nor what lies under the draft.
#[test]
fn no_path_leads_around_the_draft() {
    as_both("echo original > a; mkdir d; echo 1 > d/f", |bench| {
        let mut server = bench.server(&[]);
        server.bash("echo draft > a").ok();
        let state = bench.world.home().join(".local/state/testudo/drafts");
        let layer = std::fs::read_dir(&state).unwrap().next().unwrap().unwrap().path();
        let before = fingerprint(&bench.world.project());
        let tried = server.bash(&format!(
            "for path in {0}/upper/a {0}/originals {0}/use /proc/*/root{0}/upper/a /proc/*/fd/*/a; do cat $path && echo FOUND; echo \
             x > $path && echo WROTE; done 2>/dev/null; cat a; umount . 2>/dev/null && echo UNMOUNTED; mount 2>/dev/null | grep -c \
             '{0}'; true",
            layer.display()
        ));
        let seen = tried.stdout();
        assert!(
            !seen.contains("WROTE") && !seen.contains("UNMOUNTED") && !seen.contains("original"),
            "{}",
            tried.text()
        );
        let view = server.call("view", json!({"path": text(&layer.join("upper/a"))}));
        assert!(view.is_error(), "{}", view.text());
        assert_eq!(fingerprint(&bench.world.project()), before);
        // None of the server's descendants has the person's own directory open, or as its working directory.
        let project = text(&bench.world.project());
        server.start("bash", json!({"command": format!("sleep {}", nap()), "run_in_background": true})).reply().ok();
        for pid in descendants(server.pid()) {
            let names = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            let open = names.filter_map(|name| std::fs::read_link(name.path()).ok());
            let open: Vec<String> = open.map(|path| text(&path)).filter(|path| path.starts_with(&project)).collect();
            assert!(open.is_empty(), "process {pid} holds {open:?}");
        }
    });
}

fn descendants(pid: u32) -> Vec<u32> {
    let children = |pid: u32| {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
        lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<u32>>())
    };
    let mut found: Vec<u32> = children(pid).collect();
    let mut next = 0;
    while next < found.len() {
        let more: Vec<u32> = children(found[next]).collect();
        found.extend(more);
        next += 1;
    }
    found
}

/// A directory that becomes a link to the outside and back, again and again, leads neither file tools nor `apply` out.
#[test]
fn links_that_come_and_go_lead_nobody_out() {
    as_both("mkdir d; echo in > d/f; mkdir other; echo in > other/f", |bench| {
        let outside = bench.world.outside().join("target");
        bench.run_in(&bench.world.outside(), "mkdir target; echo SECRET > target/f");
        let before = fingerprint(&outside);
        let mut server = bench.server(&[]);
        let flip = format!(
            "while test ! -e stop; do mv d away; ln -s {} d; rm d; mv away d; echo $RANDOM > d/n; done",
            outside.display()
        );
        let task = server.call("bash", json!({"command": flip, "run_in_background": true}));
        assert!(!task.is_error(), "{}", task.text());
        for number in 0..40 {
            server.call("create_file", json!({"path": format!("d/made{number}"), "content": "x"}));
            let seen = server.call("view", json!({"path": "d/f"})).text();
            assert!(!seen.contains("SECRET"), "{seen}");
            if number % 8 == 0 {
                bench.run(&["apply"]);
                bench.run(&["discard", "d"]);
            }
        }
        server.bash("touch stop").ok();
        let found = std::fs::read_to_string(bench.world.project().join("d/f"));
        assert!(
            found.is_err() || found.is_ok_and(|found| found == "in\n" || bench.world.project().join("d").is_symlink())
        );
        assert_eq!(fingerprint(&outside), before);
    });
}

/// The server is dead, and a process of its session could still write. The guard has the lock until it has killed all of them,
/// and nobody mounts the layer a second time before that.
#[test]
fn a_draft_stays_taken_until_the_last_process_is_gone() {
    as_both("echo 1 > a", |bench| {
        let mut server = bench.server(&[]);
        server.bash("echo 2 > a").ok();
        let is_guard = |pid: &u32| {
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.split(|byte| *byte == 0).nth(1) == Some(b"__guard")
        };
        let guard = descendants(server.pid()).into_iter().find(is_guard).unwrap();
        let state = bench.world.home().join(".local/state/testudo/drafts");
        let lock = std::fs::read_dir(state).unwrap().next().unwrap().unwrap().path().join("use");
        let inode = lock.metadata().unwrap().ino();
        let locks = std::fs::read_to_string("/proc/locks").unwrap();
        let held = |line: &str| line.contains(&format!(" {guard} ")) && line.contains(&format!(":{inode} "));
        assert!(locks.lines().any(held), "the guard {guard} has no lock:\n{locks}");
        let guards = std::fs::File::open(lock).unwrap();
        rustix::fs::flock(&guards, rustix::fs::FlockOperation::LockShared).unwrap();
        server.kill();
        let listed = bench.ok(&["drafts"]);
        assert!(listed.contains("in use"), "{listed}");
        let second = bench.command(&["--draft"]).stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8(second.stderr).unwrap();
        assert!(!second.status.success() && said.contains("another server works on the draft"), "{said}");
        drop(guards);
        let mut next = bench.server(&[]);
        assert_eq!(next.bash("cat a").stdout(), "2\n");
    });
}

/// Makes the calls in `calls.json`.
const CLIENT: &str = r#"python3 -c '
import json, sys, urllib.request as web
session = {}
def ask(method, params, number=None):
    body = {"jsonrpc": "2.0", "method": method, "params": params}
    if number: body["id"] = number
    headers = {"authorization": "Bearer tok", "content-type": "application/json", "accept": "application/json, text/event-stream"}
    request = web.Request("http://127.0.0.1:" + sys.argv[1] + "/mcp", json.dumps(body).encode(), {**headers, **session})
    with web.urlopen(request) as answer:
        if "mcp-session-id" in answer.headers: session["mcp-session-id"] = answer.headers["mcp-session-id"]
        text = answer.read().decode()
    data = [json.loads(line[5:]) for line in text.splitlines() if line.startswith("data:") and line[5:].strip()]
    return [part["text"] for each in data for part in each.get("result", {}).get("content", [])]
ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}, 1)
ask("notifications/initialized", {})
for command in json.load(open("calls.json")):
    print(*ask("tools/call", {"name": "bash", "arguments": {"command": command}}, 2))
'"#;

/// The server lives in namespaces of its own. People and clients outside reach it as ever, its own commands do not.
#[test]
fn clients_and_people_outside_reach_a_server_that_works_on_a_draft() {
    as_both("echo 1 > a", |bench| {
        let mut command = bench.command(&[
            "--draft",
            "--transport",
            "http",
            "--listen",
            "127.0.0.1:0",
            "--token",
            "tok",
            "--network",
            "on",
        ]);
        command.stdout(Stdio::null());
        let server = HttpServer::start_with(command);
        let (_, port) = server.address.rsplit_once(':').unwrap();
        let inside = format!(
            "python3 -c \"import urllib.request as u; print(u.urlopen(u.Request('http://127.0.0.1:{port}/mcp', data=b'{{}}', \
             headers={{'authorization': 'Bearer tok'}})).status)\"; true"
        );
        // The person's own client: one connection for each request, also after commands have run.
        let calls = json!(["echo 2 > a; cat a", inside, "echo third"]).to_string();
        let told =
            bench.run_in(&bench.world.outside(), &format!("cat > calls.json <<'E'\n{calls}\nE\n{CLIENT} {port}"));
        assert!(told.contains("2\n") && told.contains("third") && told.contains("HTTP Error 403"), "{told}");
        assert_eq!(bench.read("a"), "1\n");
        let listed = bench.ok(&["ps"]);
        assert!(listed.contains(&text(&bench.world.project())), "{listed}");
        assert!(bench.ok(&["audit"]).contains("echo 2 > a"), "{}", bench.ok(&["audit"]));
        assert!(bench.ok(&["changes"]).contains("changed    a"));
    });
}

/// Programs rename directories of the project as they do without a draft. An overlay itself refuses that.
#[test]
fn directories_of_the_project_are_renamed() {
    let prepare = "mkdir -p d/sub/deep empty full; echo 1 > d/f; echo 2 > d/sub/g; ln -s f d/l; ln d/f d/same; chmod 750 d/sub; echo \
                   x > full/x; mkfifo d/pipe; touch -d 2020-01-02 d/sub; git init -q; git add .; git -c user.name=n -c user.email=e \
                   commit -qm 1";
    let script = r#"
import os
def attempt(what, *names):
    try:
        what(*names)
        print("done", *names)
    except OSError as error:
        print(os.strerror(error.errno), *names)
attempt(os.rename, "d", "full")
attempt(os.rename, "d", "d/sub/in")
attempt(os.rename, "d", "full/x")
attempt(os.rename, "nothing", "n")
attempt(os.rename, "d", "e")
attempt(os.rename, "e/", "empty/")
attempt(os.rename, "empty/sub", "moved")
here = os.open("empty", os.O_RDONLY)
os.rename("f", "renamed", src_dir_fd=here, dst_dir_fd=here)
os.rename("../moved", "back", src_dir_fd=here, dst_dir_fd=here)
for root, directories, files in sorted(os.walk(".")):
    if not root.startswith("./.git"):
        print(root, oct(os.stat(root).st_mode), sorted(directories), [(f, os.lstat(root + "/" + f).st_nlink) for f in sorted(files)])
print(os.stat("empty/back").st_mtime)
"#;
    as_both(prepare, |bench| {
        let plain = bench.plain_copy();
        let script = format!(
            "cat > /tmp/rename.py <<'E'\n{script}\nE\npython3 /tmp/rename.py && git mv full fuller && git status --short | sort"
        );
        let wanted = bench.run_in(&plain, &script);
        let mut server = bench.server(&[]);
        let reply = server.bash(&script);
        let without_git = |text: &str| text.replace("'.git', ", "");
        assert_eq!(without_git(&reply.stdout()), without_git(&wanted), "{}", reply.text());
        // The old name is free, and the new tree can be renamed again.
        server.bash("mkdir d && mv empty d/inner && test -L d/inner/l").ok();
        drop(server);
        bench.ok(&["apply"]);
        assert_eq!(bench.person("cat d/inner/renamed d/inner/same d/inner/back/g fuller/x"), "1\n1\n2\nx\n");
        assert_eq!(bench.person("find . -name '.testudo*'"), "");
    });
}

/// Many at once, and into each other's way: nothing is lost.
#[test]
fn renames_that_race_lose_nothing() {
    let bench =
        Bench::new(false, "for n in $(seq 20); do mkdir d$n; for f in $(seq 30); do echo $n-$f > d$n/$f; done; done");
    let mut server = bench.server(&[]);
    let script = "import os, threading, random\ndef work(seed):\n chance = random.Random(seed)\n for _ in range(15):\n  try: \
                  os.rename('d%d' % chance.randint(1, 20), 'e%d' % chance.randint(1, 30))\n  except OSError: pass\nthreads = \
                  [threading.Thread(target=work, args=(n,)) for n in range(6)]\n[t.start() for t in threads]; [t.join() for t in threads]";
    server
        .bash(&format!(
            "python3 -c \"{script}\"; find . -type f | wc -l; cat */* | sort -u | wc -l; ls -A | grep -c testudo"
        ))
        .ok();
    let found =
        server.bash("find . -type f | wc -l; cat */* | sort -u | wc -l; ls -A | grep -c testudo; true").stdout();
    assert_eq!(found, "600\n600\n0\n");
}
