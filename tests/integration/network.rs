//! `--network hosts`: commands reach the hosts that are named, by the programs that people use, and nothing else. The hosts
//! are servers of the test's own, in a network namespace with public addresses.

use serde_json::{Value, json};

use crate::people::Growing;
use crate::support::{Internet, Level, Person, Wish, World, choice, on_the_internet, text, until};

const ALLOWED: &[&str] =
    &["--allow-host", "allowed.test", "--allow-host", "*.sub.test", "--allow-host", "registry.test"];

fn allowed() -> Wish<'static> {
    Wish::arguments(ALLOWED)
}

#[test]
fn a_named_host_is_reached_and_another_is_refused_with_the_setting() {
    on_the_internet(allowed, |internet| {
        let certificate = internet.certificate();
        assert_eq!(internet.does("curl -sS http://allowed.test/"), "hello from allowed.test\n");
        assert_eq!(
            internet.does(&format!("curl -sS --cacert {certificate} https://allowed.test/")),
            "hello from allowed.test\n"
        );
        assert_eq!(
            internet.does(&format!("wget -qO- --ca-certificate={certificate} https://a.sub.test/")),
            "hello from a.sub.test\n"
        );
        assert_eq!(internet.does("curl -sS -d sent http://allowed.test/ && curl -sS --socks5-hostname 127.0.0.1:${HTTP_PROXY##*:} http://a.sub.test/"), "hello from a.sub.test\n");
        assert!(internet.reached().contains("POST allowed.test sent"));
        let refused = internet.cannot(&format!("curl -sS --cacert {certificate} https://other.test/"));
        let line = "[sandbox: the host other.test (port 443) is not among the hosts that commands may reach; --allow-host \
                    other.test would allow it (network.allow); there is nobody to ask]";
        assert!(refused.contains(line) && refused.contains("403"), "{refused}");
        let known = internet.cannot("curl -sSf https://pypi.org/");
        let group = "--allow-host @pypi (the Python Package Index, for pip, uv and poetry) or --allow-host pypi.org would allow it";
        assert!(known.contains(group), "{known}");
        let plain = internet.bash("curl -sS http://other.test/").ok();
        assert!(plain.contains("testudo: the host other.test (port 80) is not among"), "{plain}");
        let port = internet.bash("curl -sS http://allowed.test:8080/").ok();
        assert!(port.contains("--allow-host allowed.test:8080 would allow it"), "{port}");
        internet.cannot("curl -sS --socks5-hostname 127.0.0.1:${HTTP_PROXY##*:} http://other.test/");
        assert!(!internet.reached().contains("other.test"), "{}", internet.reached());
        assert!(!internet.bash("true").ok().contains("[sandbox"));
    });
}

#[test]
fn a_denial_wins_and_every_connection_is_in_the_audit_log() {
    let wish = || {
        Wish::arguments(&["--allow-host", "*.sub.test", "--allow-host", "allowed.test", "--deny-host", "a.sub.test"])
    };
    on_the_internet(wish, |internet| {
        let denied = internet.bash("curl -sS http://a.sub.test/; curl -sS http://allowed.test/").ok();
        assert!(denied.contains("--deny-host a.sub.test (network.deny) names it"), "{denied}");
        let log = internet.world.home().join(".local/state/testudo/audit.jsonl");
        let connections = until("both connections in the audit log", || {
            let lines = std::fs::read_to_string(&log).unwrap_or_default();
            let events = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let found: Vec<Value> = events.filter(|event| event["event"] == "connection").collect();
            (found.len() == 2).then_some(found)
        });
        assert_eq!(connections[0]["verdict"], "deny");
        assert_eq!((&connections[1]["host"], &connections[1]["port"]), (&json!("allowed.test"), &json!(80)));
        assert_eq!((&connections[1]["verdict"], &connections[1]["session"]), (&json!("allow"), &json!("default")));
        assert!(connections[1]["received"].as_u64().unwrap() > 20 && connections[1]["sent"].as_u64().unwrap() > 20);
        let shown = internet.world.run(&["audit", "--denied"]);
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert!(shown.contains("connection refused to a.sub.test:80"), "{shown}");
    });
}

#[test]
fn people_see_which_hosts_a_session_reaches() {
    let mut internet = Internet::new(Level::Full, false, allowed());
    let watch = Growing::start(&internet.world, &["watch"]);
    watch.until("-- server ");
    internet.bash("curl -sS http://allowed.test/; curl -sS http://other.test/").ok();
    watch.until("connection to allowed.test:80, ");
    watch.until("connection refused to other.test:80: the host other.test (port 80) is not among");
    // A connection that is open is told with what has gone through so far.
    let command = "exec 3<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:}; printf 'CONNECT a.sub.test:80 HTTP/1.1\\r\\n\\r\\n' >&3; read -r answer <&3; \
                   touch connected; sleep 1000";
    internet.client.call("bash", json!({ "command": command, "run_in_background": true })).ok();
    until("the connection", || internet.world.project().join("connected").exists().then_some(()));
    let state = internet.world.run(&["ps", "--json"]).stdout;
    let state: Value = serde_json::from_slice(&state).unwrap();
    let hosts =
        state.pointer("/servers/0/clients/0/sessions/0/hosts").unwrap_or_else(|| panic!("{state}")).as_array().unwrap();
    let of = |name: &str| hosts.iter().find(|host| host["host"] == name).unwrap_or_else(|| panic!("{hosts:?}"));
    assert_eq!((&of("a.sub.test")["open"], &of("a.sub.test")["ended"]), (&json!(1), &json!(0)));
    assert_eq!((&of("allowed.test")["open"], &of("allowed.test")["ended"]), (&json!(0), &json!(1)));
    assert!(of("allowed.test")["received"].as_u64().unwrap() > 20);
    assert_eq!((&of("other.test")["refused"], &of("other.test")["ended"]), (&json!(1), &json!(0)));
    assert!(of("other.test")["reason"].as_str().unwrap().contains("--allow-host other.test"));
}

#[test]
fn a_person_is_asked_once_for_many_connections_and_a_no_holds() {
    for level in [Level::Full, Level::Landlock] {
        let person = Person::new();
        let wish = Wish { options: person.options(), ..Wish::arguments(&["--network", "hosts"]) };
        let mut internet = Internet::new(level, false, wish);
        person.will(choice("session"));
        let many = "for i in 1 2 3 4 5 6; do curl -sS http://allowed.test/ & done; wait";
        assert_eq!(internet.does(many).matches("hello").count(), 6);
        assert_eq!(internet.does("curl -sS http://allowed.test/"), "hello from allowed.test\n");
        assert_eq!(person.questions(), 1);
        let asked = person.question(0);
        let message = asked["message"].as_str().unwrap();
        assert!(message.starts_with("May commands reach this host?\n\n│ host allowed.test\n"), "{message}");
        let choices = asked["requestedSchema"]["properties"]["decision"].to_string();
        assert!(["once", "session", "always", "deny"].iter().all(|name| choices.contains(name)), "{choices}");
        assert!(!choices.contains("program"), "{choices}");
        person.will(choice("deny"));
        let refused = internet.bash("curl -sS http://other.test/; curl -sS http://other.test/").ok();
        assert!(refused.contains("the user refused it"), "{refused}");
        internet.bash("curl -sS http://other.test/");
        assert_eq!(person.questions(), 2);
        // Once is for the command that asked.
        person.will(choice("once"));
        internet.does("curl -sS http://a.sub.test/ && curl -sS http://a.sub.test/");
        assert_eq!(person.questions(), 3);
        // Always is for every session in the project.
        person.will(choice("always"));
        internet.does("curl -sS http://a.sub.test/");
        let other = internet.client.call("bash", json!({"command": "curl -sS http://a.sub.test/", "session": "other"}));
        assert_eq!((other.stdout().as_str(), person.questions()), ("hello from a.sub.test\n", 4));
        assert!(!internet.reached().contains("other.test"), "{}", internet.reached());
    }
}

#[test]
fn people_who_watch_are_asked_about_the_hosts_of_a_task() {
    let mut internet = Internet::new(Level::Full, false, allowed());
    let _person = Growing::start(&internet.world, &["approve", "--wait"]);
    let task = |command: &str| json!({ "command": command, "run_in_background": true });
    // The person may come a moment later than the task.
    let fetch = "until curl -sSf http://other.test/; do sleep 0.1; done";
    internet.client.call("bash", task(fetch)).ok();
    let id = until("the question", || {
        let listed = internet.world.run(&["approve", "--json"]).stdout;
        let listed: Value = serde_json::from_slice(&listed).unwrap();
        let about =
            |question: &&Value| question["message"].as_str().is_some_and(|text| text.contains("host other.test"));
        Some(listed["questions"].as_array()?.iter().find(about)?["id"].as_str()?.to_owned())
    });
    assert!(internet.world.run(&["approve", &id, "session"]).status.success());
    let wait = json!({ "task_id": "t1", "wait_ms": 60_000, "wait_for": "hello from other.test" });
    let fetched = internet.client.call("task_output", wait).ok();
    assert!(fetched.contains("hello from other.test"), "{fetched}");
}

#[test]
fn a_rule_grants_a_host_to_its_commands_only() {
    let rule = "[[policy.rule]]\ncommand = \"curl\"\nverdict = \"allow\"\narguments = \"any\"\ngrants = [\"host:other.test\"]\n";
    let settings: &'static str =
        Box::leak(format!("[network]\nmode = \"hosts\"\n[policy]\nunlisted = \"allow\"\n{rule}").into_boxed_str());
    on_the_internet(
        || Wish { settings, ..Wish::arguments(&[]) },
        |internet| {
            assert_eq!(internet.does("curl -sS http://other.test/"), "hello from other.test\n");
            internet.cannot("wget -qO- http://other.test/");
            assert_eq!(internet.does("curl -sS http://other.test/"), "hello from other.test\n");
            internet.cannot("wget -qO- http://other.test/");
            internet.cannot("curl -sSf http://allowed.test/");
        },
    );
}

#[test]
fn package_managers_and_git_work_through_the_proxy() {
    on_the_internet(allowed, |internet| {
        let www = internet.world.outside().join("www");
        let place = |name: &str, content: &[u8]| {
            let path = www.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        };
        // git, by its simple protocol.
        let repository = www.join("r.git");
        let script = format!(
            "set -e; git init -q --bare {0}; d=$(mktemp -d); git -C $d init -q; git -C $d -c user.name=n -c user.email=e@x commit -q \
             --allow-empty -m first; git -C $d push -q {0} HEAD:main; git -C {0} symbolic-ref HEAD refs/heads/main; git -C {0} \
             update-server-info; rm -rf $d",
            text(&repository)
        );
        let made = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        // An npm package.
        let packed = format!(
            "set -e; d=$(mktemp -d); mkdir $d/package; echo '{{\"name\":\"left\",\"version\":\"1.0.0\"}}' > $d/package/package.json; \
             mkdir -p {0}/left/-; tar -C $d -czf {0}/left/-/left-1.0.0.tgz package; rm -rf $d",
            text(&www)
        );
        assert!(std::process::Command::new("sh").args(["-c", &packed]).status().unwrap().success());
        std::fs::rename(www.join("left"), www.join("npm")).unwrap();
        place(
            "left",
            br#"{"name":"left","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"left","version":"1.0.0","dist":{"tarball":"http://registry.test/npm/-/left-1.0.0.tgz"}}}}"#,
        );
        // A package of apt.
        place("apt/Packages", b"");
        assert_eq!(
            internet.does("git clone -q http://allowed.test/r.git cloned && git -C cloned log --format=%s"),
            "first\n"
        );
        internet.does(
            "npm install --no-audit --no-fund --registry=http://registry.test/ left && test -d node_modules/left",
        );
        let apt = "mkdir -p apt/lists/partial apt/cache/archives/partial && echo 'deb [trusted=yes] http://allowed.test/apt ./' > apt/list \
                   && apt-get -o Dir::Etc::sourcelist=$PWD/apt/list -o Dir::Etc::sourceparts=- -o Dir::State::lists=$PWD/apt/lists \
                   -o Dir::Cache=$PWD/apt/cache -o APT::Sandbox::User= -o Debug::NoLocking=1 update";
        internet.bash(apt);
        let python =
            "python3 -c 'import urllib.request; print(urllib.request.urlopen(\"http://allowed.test/left\").status)'";
        assert_eq!(internet.does(python), "200\n");
        let seen = internet.reached();
        for request in ["/r.git/info/refs", "/npm/-/left-1.0.0.tgz", "/apt/./Packages"] {
            assert!(seen.contains(request), "{request}\n{seen}");
        }
    });
}

#[test]
fn ssh_and_git_over_ssh_use_the_built_in_tunnel() {
    on_the_internet(allowed, |internet| {
        let outside = internet.world.outside();
        let path = |name: &str| text(&outside.join(name));
        for key in [path("host_key"), text(&internet.world.project().join("key"))] {
            let made =
                std::process::Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &key]).status();
            assert!(made.unwrap().success());
        }
        internet.own_project();
        std::fs::copy(internet.world.project().join("key.pub"), outside.join("keys")).unwrap();
        let settings = format!(
            "Port 22\nHostKey {}\nPidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nAuthorizedKeysFile {}\n",
            path("host_key"),
            path("keys")
        );
        let init = std::process::Command::new("git").args(["init", "-q", "--bare", &path("remote.git")]).status();
        assert!(init.unwrap().success());
        std::fs::write(outside.join("sshd_config"), settings).unwrap();
        let options = "-i $PWD/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes";
        let git = format!(
            "GIT_SSH_COMMAND=\"$GIT_SSH_COMMAND {options}\" git ls-remote ssh://root@allowed.test{} && echo listed",
            path("remote.git")
        );
        until("git over ssh", || internet.bash(&git).text().contains("listed").then_some(()));
        // At level landlock, ssh has to be told.
        let told = if internet.level == Level::Full {
            String::new()
        } else {
            "-o \"ProxyCommand=$(echo \"$GIT_SSH_COMMAND\" | cut -d\\' -f2)\"".to_owned()
        };
        assert_eq!(internet.does(&format!("ssh {options} {told} root@allowed.test echo from there")), "from there\n");
        let refused = internet.cannot(&format!("ssh {options} {told} root@other.test true"));
        assert!(refused.contains("the host other.test (port 22) is not among the hosts"), "{refused}");
    });
}

#[test]
fn groups_are_printed_and_mistakes_are_named() {
    let world = World::new();
    let printed = String::from_utf8(world.run(&["explain", "@npm"]).stdout).unwrap();
    assert!(printed.contains("  registry.npmjs.org\n"), "{printed}");
    for (arguments, words) in [
        (&["--allow-host", "https://x.com"][..], "it is a URL"),
        (&["--allow-host", "@nmp"], "did you mean @npm?"),
        (&["--network", "hosts", "--sandbox", "off"], "--sandbox off"),
        (&["--network", "host"], "did you mean hosts?"),
    ] {
        let output = world.run(&[arguments, &["doctor"]].concat());
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && errors.contains(words), "{arguments:?}: {errors}");
    }
    let mut server = world.server(&["--allow-host", "@npm"]);
    let hello = server.hello["instructions"].as_str().unwrap().to_owned();
    assert!(hello.contains("network hosts (@npm)"), "{hello}");
    assert_eq!(server.bash("echo $NO_PROXY $NODE_USE_ENV_PROXY").stdout(), "localhost,127.0.0.1,::1 1\n");
}
