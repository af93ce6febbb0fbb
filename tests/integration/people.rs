//! What people see and decide: `testudo ps`, `watch` and `approve`, on the control sockets of all servers.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::{Client, Pending, Person, StartOptions, World, choice, everywhere, nap, until};

fn run_dir(world: &World) -> PathBuf {
    world.home().join(".local/state/testudo/run")
}

pub fn sockets(world: &World) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(run_dir(world)).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[track_caller]
pub fn output(world: &World, words: &[&str]) -> String {
    let output = world.run(words);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

pub fn ps(world: &World) -> Value {
    serde_json::from_str(&output(world, &["ps", "--json"])).unwrap()
}

/// A program whose output grows.
pub struct Growing {
    pub child: Child,
    seen: Arc<Mutex<String>>,
}

impl Growing {
    pub fn start(world: &World, words: &[&str]) -> Self {
        Self::spawn(world.command(words))
    }

    pub fn spawn(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let (mut output, seen) = (child.stdout.take().unwrap(), Arc::new(Mutex::new(String::new())));
        let kept = seen.clone();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                kept.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
        });
        Self { child, seen }
    }

    pub fn seen(&self) -> String {
        self.seen.lock().unwrap().clone()
    }

    #[track_caller]
    pub fn until(&self, text: &str) {
        until(&format!("{text:?} in the output"), || self.seen().contains(text).then_some(()));
    }

    fn press(&mut self, keys: &str) {
        std::io::Write::write_all(self.child.stdin.as_mut().unwrap(), keys.as_bytes()).unwrap();
    }
}

impl Drop for Growing {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn ps_lists_servers_clients_sessions_commands_and_tasks() {
    let world = World::new();
    assert_eq!(output(&world, &["ps"]), "no server of this user is running\n");
    let (mut one, _two) = (world.server(&[]), world.server(&[]));
    let nap = nap();
    let _call = one.start("bash", json!({"command": format!("sleep {nap}"), "session": "work"}));
    one.call("bash", json!({"command": "sleep 1000", "run_in_background": true})).ok();
    one.call("bash", json!({"command": "exit 3", "run_in_background": true})).ok();
    let state = until("all of it", || {
        let state = ps(&world);
        (state["servers"].as_array()?.len() == 2 && state.to_string().contains("\"exit_code\":3")).then_some(state)
    });
    let servers = state["servers"].as_array().unwrap();
    let server = servers.iter().find(|server| server["server"]["pid"] == one.pid()).unwrap();
    assert_eq!(server["server"]["project"], json!(world.project()));
    let client = &server["clients"][0];
    assert_eq!((&client["principal"], &client["name"]), (&json!("local"), &json!("test 1")));
    let sessions = client["sessions"].as_array().unwrap();
    let command = |session: usize| &sessions[session]["commands"][0];
    assert_eq!((&sessions[0]["name"], &command(0)["task"]), (&json!("default"), &json!("t1")));
    assert_eq!((&sessions[1]["name"], &command(1)["command"]), (&json!("work"), &json!(format!("sleep {nap}"))));
    let text = output(&world, &["ps"]);
    for part in
        ["client local (test 1)", "session work", &format!("$ sleep {nap}"), "task t1", "ended with exit code 3"]
    {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
}

#[test]
fn the_socket_is_private_and_goes_with_its_server() {
    let world = World::new();
    let mut server = world.server(&[]);
    let socket = until("the socket", || sockets(&world).pop());
    let mode = |path: &PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&socket), mode(&run_dir(&world))), (0o600, 0o700));
    let mut killed = world.server(&[]);
    until("two sockets", || (sockets(&world).len() == 2).then_some(()));
    killed.kill();
    server.hang_up();
    server.wait_for_exit();
    assert_eq!(sockets(&world).len(), 1, "only that of the killed one");
    assert_eq!(output(&world, &["ps"]), "no server of this user is running\n");
    let _next = world.server(&[]);
    until("the dead one's socket to go", || (sockets(&world).len() == 1).then_some(()));
    let runtime = world.home().join("runtime");
    std::fs::create_dir(&runtime).unwrap();
    let mut command = world.command(&[]);
    command.env("XDG_RUNTIME_DIR", &runtime);
    let _elsewhere = Client::connect(command, StartOptions::default());
    until("the socket in the runtime directory", || std::fs::read_dir(runtime.join("testudo")).ok()?.next().map(drop));
}

#[test]
fn a_server_without_a_socket_serves_all_the_same() {
    let world = World::new();
    std::fs::create_dir_all(run_dir(&world).parent().unwrap()).unwrap();
    std::fs::write(run_dir(&world), "a file").unwrap();
    let mut server = world.server(&[]);
    server.bash("true").ok();
    assert!(server.log().contains("there is no control socket"), "{}", server.log());
    assert!(output(&world, &["doctor"]).contains("control socket  none: "));
}

/// The API has no token, and whoever reaches it can approve.
#[test]
fn no_command_can_connect_to_any_servers_socket() {
    const CONNECT: &str = "import socket,sys,os\n\
        s=socket.socket(socket.AF_UNIX)\n\
        if len(sys.argv[1])>100:\n  os.chdir(os.path.dirname(sys.argv[1])); sys.argv[1]=os.path.basename(sys.argv[1])\n\
        s.connect(sys.argv[1])\n\
        s.sendall(b'GET /v1/state HTTP/1.1\\r\\nhost: x\\r\\nconnection: close\\r\\n\\r\\n')\n\
        d=b''\n\
        while (p:=s.recv(65536)): d+=p\n\
        sys.stdout.write(d.decode())\n";
    everywhere("", &[], |inside| {
        let script = inside.world.file("connect.py", CONNECT);
        let sockets = until("the socket", || Some(sockets(&inside.world)).filter(|all| !all.is_empty()));
        for socket in &sockets {
            let (script, socket) = (script.display(), socket.display());
            for attack in [
                format!("python3 {script} {socket}"),
                format!("(setsid python3 {script} {socket} > out 2>&1 &) ; sleep 1; cat out"),
            ] {
                let reply = inside.bash(&attack).text();
                assert!(!reply.contains("\"pid\"") && !reply.contains("HTTP/1.1"), "{attack}: {reply}");
            }
            inside.bash(&format!("rm -f {socket}"));
        }
        assert!(sockets.iter().all(|socket| socket.exists()));
    });
    // Even without a sandbox, a command is not a person; and another server's command is no better.
    let world = World::new();
    let (mut off, _other) = (world.server(&["--sandbox", "off"]), world.server(&[]));
    let script = world.file("connect.py", CONNECT);
    until("both sockets", || (sockets(&world).len() == 2).then_some(()));
    for socket in sockets(&world) {
        let reply = off.bash(&format!("python3 {} {}", script.display(), socket.display())).text();
        assert!(!reply.contains("\"pid\""), "{reply}");
    }
    let binary = env!("CARGO_BIN_EXE_testudo");
    assert!(off.bash(&format!("{binary} ps")).text().contains("no server of this user is running"));
}

/// A person must be able to look and to decide while they mend the file.
#[test]
fn a_broken_configuration_file_keeps_nobody_from_looking_and_deciding() {
    let world = World::new();
    let mut server = world.server_with(&["--ask", "touch"], silent());
    let file = world.home().join(".config/testudo/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "[policy\nnonsense").unwrap();
    assert!(!world.run(&["call", "bash", "command=true"]).status.success(), "the file is broken");
    let (call, id) = asked(&world, &mut server, "touch one");
    assert!(output(&world, &["ps"]).contains(&format!("server {}", server.pid())));
    output(&world, &["approve", &id, "program"]);
    call.reply().ok();
    assert!(output(&world, &["audit"]).contains("touch one"));
    output(&world, &["audit", "verify"]);
    let watch = Growing::start(&world, &["watch"]);
    watch.until(&format!("-- server {}", server.pid()));
    let console = Growing::start(&world, &["console", "--no-open"]);
    console.until("/console/login?key=");
    assert!(output(&world, &["revoke", "all"]).contains("touch"));
}

pub fn silent() -> StartOptions {
    // Shows the question, and its person has gone for a coffee.
    StartOptions { capabilities: json!({"elicitation": {"form": {}}}), ..StartOptions::default() }
}

/// Asks about a command, and returns the id of the question once `approve --json` lists it.
pub fn asked(world: &World, server: &mut Client, command: &str) -> (Pending, String) {
    let call = server.start("bash", json!({ "command": command }));
    let id = until("the question", || {
        let list: Value = serde_json::from_str(&output(world, &["approve", "--json"])).unwrap();
        let questions = list["questions"].as_array().unwrap().clone();
        let found = questions.iter().find(|question| question["message"].as_str().unwrap().contains(command))?;
        Some(found["id"].as_str().unwrap().to_owned())
    });
    (call, id)
}

#[test]
fn the_first_answer_counts_and_the_others_learn_by_whom() {
    let world = World::new();
    let mut server = world.server_with(&["--ask", "touch"], silent());
    let (call, id) = asked(&world, &mut server, "touch one");
    assert_eq!(output(&world, &["approve", &id, "once"]), format!("{id}: once\n"));
    call.reply().ok();
    assert!(world.project().join("one").exists());
    let cancelled = until("the client to be told", || server.notifications("notifications/cancelled").pop());
    assert_eq!(cancelled["reason"], "answered by testudo approve");
    let late = world.run(&["approve", &id, "once"]);
    assert_eq!(late.status.code(), Some(1));

    let (call, id) = asked(&world, &mut server, "touch two");
    let wrong = world.run(&["approve", &id, "yes"]);
    assert!(String::from_utf8(wrong.stderr).unwrap().contains("the choices are: once, session, program, always, deny"));
    output(&world, &["approve", &id, "deny"]);
    assert!(call.reply().err().contains("refused by the user"));

    let (call, id) = asked(&world, &mut server, "touch three");
    output(&world, &["approve", &id, "session"]);
    call.reply().ok();
    server.bash("touch three").ok();
    let log = std::fs::read_to_string(world.home().join(".local/state/testudo/audit.jsonl")).unwrap();
    assert!(log.contains("\"by\":\"testudo approve\""), "{log}");
}

#[test]
fn whoever_waits_with_approve_is_asked_for_clients_that_cannot_ask() {
    let world = World::new();
    let mut server = world.server(&["--ask", "touch"]);
    assert!(server.bash("touch x").err().contains("nobody to ask"));
    let mut approve = Growing::start(&world, &["approve", "--wait"]);
    approve.until("waiting for questions");
    let refused = "nobody to ask";
    // The approver has connected once a call is not refused any more.
    let call = until("the question", || {
        let call = server.start("bash", json!({"command": "touch a\u{202e}b"}));
        until("an answer or a question", || {
            if approve.seen().contains("May this run?") {
                return Some(Some(()));
            }
            call.answered().map(|answer| {
                assert!(answer.to_string().contains(refused), "{answer}");
                None
            })
        })?;
        Some(call)
    });
    for part in ["│ touch a<U+202E>b", "size: 1 line", "1 or o   Once", "5 or d   No", "local/default test 1"] {
        approve.until(part);
    }
    approve.press("1");
    call.reply().ok();
    assert!(world.project().join("a\u{202e}b").exists());
    let second = server.start("bash", json!({"command": "touch c"}));
    approve.until("│ touch c");
    approve.until("size: 1 line, 7 B; programs: touch");
    approve.press("d");
    assert!(second.reply().err().contains("refused by the user"));
    let third = server.start("bash", json!({"command": "touch d"}));
    approve.until("│ touch d");
    approve.press("q");
    assert!(third.reply().err().contains("nobody answered"));
    assert!(until("the end", || approve.child.try_wait().unwrap()).success());
}

/// As when somebody loads the page of the console again.
#[test]
fn a_question_waits_for_a_person_who_is_back_soon() {
    let world = World::new();
    let mut server = world.server(&["--ask", "touch"]);
    let mut approve = Growing::start(&world, &["approve", "--wait"]);
    approve.until("waiting for questions");
    let call = until("the question", || {
        let call = server.start("bash", json!({"command": "touch one"}));
        until("an answer or a question", || match call.answered() {
            Some(_) => Some(false),
            None => approve.seen().contains("│ touch one").then_some(true),
        })
        .then_some(call)
    });
    approve.child.kill().unwrap();
    approve.child.wait().unwrap();
    let mut back = Growing::start(&world, &["approve", "--wait"]);
    back.until("│ touch one");
    back.press("1");
    call.reply().ok();
    assert!(world.project().join("one").exists());
}

#[test]
fn an_approver_sees_that_the_client_was_faster() {
    let world = World::new();
    let answer = Arc::new(Mutex::new(None));
    let given = answer.clone();
    let person = Person::new();
    let options = StartOptions {
        answers: Arc::new(move |_, _| {
            // Waits until the test lets the person at the client answer.
            Some(until("the answer", || given.lock().unwrap().clone()))
        }),
        ..person.options()
    };
    let mut server = world.server_with(&["--ask", "touch"], options);
    let approve = Growing::start(&world, &["approve", "--wait"]);
    let call = server.start("bash", json!({"command": "touch one"}));
    approve.until("│ touch one");
    *answer.lock().unwrap() = Some(choice("once"));
    call.reply().ok();
    approve.until("answered by the client: once");
}

#[test]
fn watch_shows_commands_and_their_output_as_they_happen() {
    let world = World::new();
    let watch = Growing::start(&world, &["watch"]);
    let mut server = world.server(&[]);
    watch.until(&format!("-- server {}", server.pid()));
    let go = world.project().join("go");
    let command = format!(
        "printf '\\033[31mred\\033[0m\\033]0;title\\007\\n'; until [ -e {} ]; do sleep 0.01; done; echo last; exit 4",
        go.display()
    );
    let call = server.start("bash", json!({ "command": command }));
    watch.until("\u{1b}[31mred\u{1b}[0m");
    assert!(call.answered().is_none(), "the command still runs");
    std::fs::write(&go, "").unwrap();
    call.reply().ok();
    watch.until("exit 4 after ");
    let seen = watch.seen();
    assert!(seen.find("  last\n").unwrap() < seen.find("exit 4 after ").unwrap(), "{seen}");
    assert!(!seen.contains("\u{1b}]0;"), "{seen}");
    drop(server);
    watch.until("a server has ended");
    let mut next = world.server(&[]);
    watch.until(&format!("-- server {}", next.pid()));
    next.bash("echo from the next one").ok();
    watch.until("  from the next one\n");
}

/// A server goes on with the configuration that it has, so people go on to see it.
#[test]
fn a_mistake_in_the_configuration_file_hides_no_server() {
    let world = World::new();
    let mut server = world.server(&[]);
    server.bash("true").ok();
    let file = world.home().join(".config/testudo/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "tiemout = 5\n").unwrap();
    assert_eq!(ps(&world)["servers"].as_array().map(Vec::len), Some(1));
    for words in [&["ps"][..], &["approve"], &["audit"], &["revoke", "all"]] {
        let output = world.run(words);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains("tiemout") && told.contains("keep the configuration"), "{words:?}: {told}");
        assert_ne!(output.status.code(), Some(101));
    }
    assert!(String::from_utf8_lossy(&world.run(&["audit"]).stdout).contains("true"));
}
