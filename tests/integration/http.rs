//! HTTP: who may connect, what clients see of each other, and the limits for all of them.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{Exchange, HttpClient, HttpServer, World, nap, text, until, with_word};

const JSON: [(&str, &str); 2] =
    [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];

#[test]
fn health_needs_no_token_and_the_rest_does() {
    let world = World::new();
    let server = HttpServer::with_token(&world);
    let health = server.request("GET", "/health", &[], b"");
    assert_eq!((health.status, health.body.as_str()), (200, r#"{"status":"ok"}"#));
    for headers in
        [&[][..], &[("authorization", "Bearer no")], &[("authorization", "tok")], &[("authorization", "Basic tok")]]
    {
        let reply = server.request("POST", "/mcp", headers, b"{}");
        assert_eq!((reply.status, reply.body.as_str()), (401, r#"{"error":"unauthorized"}"#), "{headers:?}");
        assert_eq!(reply.header("www-authenticate"), Some("Bearer realm=\"testudo\""));
    }
    assert_eq!(server.request("GET", "/mcp", &[], b"").status, 401);
    assert_eq!(server.request("DELETE", "/mcp", &[], b"").status, 401);
}

#[test]
fn a_token_is_generated_and_printed_if_none_is_given() {
    let world = World::new();
    let server = HttpServer::start(&world, &[]);
    let token = until("the token on stderr", || {
        server
            .log()
            .lines()
            .find_map(|line| line.strip_prefix("bearer token, generated for this start: ").map(str::to_owned))
    });
    assert!(token.len() >= 32);
    server.client(&token).bash("true").ok();
    assert_eq!(server.request("POST", "/mcp", &[], b"").status, 401);
}

#[test]
fn an_address_that_others_can_reach_needs_a_token() {
    let world = World::new();
    for (arguments, reason) in [
        (&["--listen", "0.0.0.0:0"][..], "needs a token"),
        (&["--listen", "[::]:0", "--no-auth", "--network", "off"], "--no-auth is accepted on a loopback address only"),
        (&["--no-auth", "--token", "t", "--network", "off"], "contradict each other"),
        (&["--no-auth"], "keep commands off the network with --network off"),
        (&["--no-auth", "--sandbox", "read-only"], "a command could connect to this server"),
        (&["--listen", "example.com:80"], "is not an address and a port"),
        (&["--listen", "unix:/does/not/exist"], "failed to listen on unix:/does/not/exist"),
        (&["--token", "two words"], "without blanks"),
        (&["--token-file", "missing"], "missing"),
    ] {
        let mut server = HttpServer::spawn(&world, arguments);
        assert_eq!(server.wait_for_exit().code(), Some(2), "{arguments:?}");
        until("the reason", || server.log().contains(reason).then_some(()));
    }
    for closed in [["--network", "off"], ["--network", "hosts"], ["--sandbox", "off"]] {
        let arguments = [&["--no-auth", "--listen", "localhost:0"][..], &closed].concat();
        HttpServer::start(&world, &arguments).client("anything").bash("true").ok();
    }
}

#[test]
fn a_server_that_cannot_listen_does_not_say_that_it_serves() {
    let world = World::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut server = HttpServer::spawn(&world, &["--listen", &taken.local_addr().unwrap().to_string()]);
    assert_eq!(server.wait_for_exit().code(), Some(2));
    until("the reason", || server.log().contains("failed to listen on").then_some(()));
    assert!(!server.log().contains("testudo serves"), "{}", server.log());
    assert!(HttpServer::with_token(&world).log().contains("testudo serves"));
}

#[test]
fn a_token_file_that_others_can_read_is_warned_about() {
    let world = World::new();
    let file = world.home().join("tokens");
    std::fs::write(&file, "alice a-secret\n").unwrap();
    for (mode, warned) in [(0o644, true), (0o600, false)] {
        std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
        let server = HttpServer::start(&world, &["--token-file", &text(&file)]);
        let warning = format!("other users of this machine can read the tokens in {}", text(&file));
        assert_eq!(server.log().contains(&warning), warned, "{mode:o}: {}", server.log());
    }
}

#[test]
fn options_for_http_are_warned_about_on_stdio() {
    let world = World::new();
    for option in [&["--token", "tok"][..], &["--listen", "127.0.0.1:0"], &["--no-auth"]] {
        let words = [&["call", "bash", "command=true"], option].concat();
        let log = String::from_utf8(world.run(&words).stderr).unwrap();
        assert!(log.contains(&format!("{} has no effect without --transport http", option[0])), "{log}");
    }
    let log = HttpServer::with_token(&world).log();
    assert!(!log.contains("has no effect"), "{log}");
}

#[test]
fn the_environment_sets_address_and_token_and_commands_do_not_see_the_token() {
    let world = World::new();
    let mut command = world.command(&["--transport", "http"]);
    command.env("TESTUDO_LISTEN", "127.0.0.1:0").env("TESTUDO_TOKEN", "from-environment");
    let server = HttpServer::start_with(command);
    let mut client = server.client("from-environment");
    assert_eq!(client.bash("env | grep -c from-environment").stdout(), "0\n");
}

#[test]
fn foreign_hosts_and_pages_are_refused() {
    let world = World::new();
    let server = HttpServer::configured(&world, r#"allowed_hosts = ["dev.example"]"#);
    let port = server.address.rsplit_once(':').unwrap().1.to_owned();
    let own = format!("http://localhost:{port}");
    let local = format!("localhost:{port}");
    for (host, origin, status) in [
        (server.address.as_str(), None, 200),
        (&local, Some(own.as_str()), 200),
        ("dev.example", None, 200),
        ("evil.example", None, 403),
        (&server.address, Some("http://evil.example"), 403),
        (&server.address, Some("null"), 403),
        (&local, Some("http://localhost:3000"), 403),
    ] {
        let mut headers = vec![("host", host), ("authorization", "Bearer tok")];
        headers.extend(JSON);
        headers.extend(origin.map(|origin| ("origin", origin)));
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
        let reply = server.request("POST", "/mcp", &headers, message.to_string().as_bytes());
        assert_eq!(reply.status, status, "{host} {origin:?}");
        assert_eq!(reply.header("access-control-allow-origin"), None);
    }
    for (target, status) in [(format!("{own}/mcp"), 404), ("http://evil.example/mcp".to_owned(), 403)] {
        let reply = server.request("DELETE", &target, &[("authorization", "Bearer tok"), ("mcp-session-id", "x")], b"");
        assert_eq!(reply.status, status, "{target}");
    }
}

#[test]
fn cors_is_for_configured_pages_only() {
    let world = World::new();
    let server = HttpServer::configured(&world, r#"allowed_origins = ["https://app.example"]"#);
    let ask = |origin| {
        let headers = [("origin", origin), ("access-control-request-method", "POST")];
        server.request("OPTIONS", "/mcp", &headers, b"")
    };
    let allowed = ask("https://app.example");
    assert_eq!((allowed.status, allowed.header("access-control-allow-origin")), (204, Some("https://app.example")));
    assert!(allowed.header("access-control-allow-headers").unwrap().contains("Authorization"));
    let refused = ask("https://other.example");
    assert_eq!((refused.status, refused.header("access-control-allow-origin")), (403, None));
}

#[test]
fn sessions_of_one_token_are_apart_and_the_other_lifecycle_has_one_of_its_own() {
    let world = World::new();
    let server = HttpServer::with_token(&world);
    let (mut one, mut two) = (server.client("tok"), server.client("tok"));
    assert_ne!(one.session, two.session);
    one.bash("cd /; export A=one").ok();
    assert_eq!(two.bash("echo $PWD [$A]").stdout(), format!("{} []\n", text(&world.project())));
    assert_eq!(one.bash("echo $PWD [$A]").stdout(), "/ [one]\n");

    server.modern_client("tok").bash("cd /usr; export A=modern").ok();
    assert_eq!(server.modern_client("tok").bash("echo $PWD [$A]").stdout(), "/usr [modern]\n");
    let named = json!({"command": "echo $PWD [$A]", "session": "other"});
    assert_eq!(server.modern_client("tok").call("bash", named).stdout(), format!("{} []\n", text(&world.project())));
    assert_eq!(one.bash("echo $PWD [$A]").stdout(), "/ [one]\n");
}

#[test]
fn sessions_of_one_principal_do_not_exist_for_another() {
    let world = World::new();
    let file = world.home().join("tokens");
    std::fs::write(&file, "# who\nalice a-secret\nbob b-secret\n").unwrap();
    let server = HttpServer::start(&world, &["--token-file", &text(&file)]);
    let mut alice = server.client("a-secret");
    alice.bash("export MINE=alice").ok();
    let stored = alice.bash("seq 1 20000").ok();
    assert!(stored.contains("task_id=\"o1\""));

    let mut bob = server.client("b-secret");
    assert!(bob.call("task_output", json!({"task_id": "o1"})).err().starts_with("task not found: o1"));
    let own_session = std::mem::replace(&mut bob.session, alice.session.clone());
    for reply in [bob.start("bash", json!({"command": "echo $MINE"})).reply(), bob.listen().reply(), bob.delete()] {
        assert_eq!(reply.status, 404, "{reply:?}");
    }
    bob.session = own_session;
    assert_eq!(bob.bash("echo [$MINE]").stdout(), "[]\n");

    server.modern_client("a-secret").bash("export MINE=modern").ok();
    assert_eq!(server.modern_client("b-secret").bash("echo [$MINE]").stdout(), "[]\n");
    assert_eq!(server.modern_client("a-secret").bash("echo [$MINE]").stdout(), "[modern]\n");
    assert_eq!(alice.bash("echo [$MINE]").stdout(), "[alice]\n");
}

#[test]
fn oversized_and_broken_bodies_get_an_error_response() {
    let world = World::new();
    let server = HttpServer::configured(&world, r#"max_body = "100KB""#);
    let mut headers = vec![("authorization", "Bearer tok")];
    headers.extend(JSON);
    let post = |body: &[u8]| server.request("POST", "/mcp", &headers, body);
    let long = format!(r#"{{"jsonrpc":"2.0","method":"x","params":{{"a":"{}"}},"id":5}}"#, "x".repeat(200_000));
    let deep = format!(r#"{{"jsonrpc":"2.0","id":6,"method":"x","params":{}}}"#, "[".repeat(5000));
    let id = |reply: &crate::support::HttpReply| reply.json()["id"].clone();
    for (body, status, code, wanted) in [
        (long.as_bytes(), 413, -32600, json!(5)),
        (deep.as_bytes(), 400, -32700, json!(6)),
        (b"hello", 400, -32700, Value::Null),
        (b"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\xff\"}", 400, -32700, json!(7)),
        (b"[]", 400, -32600, Value::Null),
        (b"", 400, -32700, Value::Null),
    ] {
        let reply = post(body);
        assert_eq!((reply.status, &reply.json()["error"]["code"]), (status, &json!(code)), "{reply:?}");
        assert_eq!(id(&reply), wanted);
    }
    let huge = vec![b'x'; 4 << 20];
    assert_eq!(Exchange::begin(&server.address, "POST", "/mcp", &headers, &huge).reply().status, 413);
    server.client("tok").bash("true").ok();
}

#[test]
fn requests_before_initialize_and_unknown_methods_get_an_error_response() {
    let world = World::new();
    let server = HttpServer::with_token(&world);
    let mut headers = vec![("authorization", "Bearer tok")];
    headers.extend(JSON);
    let call = json!({"name": "bash", "arguments": {"command": "touch mark"}});
    for (method, params) in [("tools/list", json!({})), ("tools/call", call), ("no/such", json!({}))] {
        let message = json!({"jsonrpc": "2.0", "id": 3, "method": method, "params": params}).to_string();
        let reply = server.request("POST", "/mcp", &headers, message.as_bytes());
        assert!((400..500).contains(&reply.status) && !reply.body.is_empty(), "{reply:?}");
    }
    assert!(!world.project().join("mark").exists());
    for mut client in [server.client("tok"), server.modern_client("tok")] {
        assert_eq!(client.begin("no/such", json!({})).reply().answer()["error"]["code"], -32601);
        let unknown = client.begin("tools/call", json!({"name": "nobody", "arguments": {}})).reply().answer();
        assert_eq!(unknown["error"]["code"], -32602);
        client.bash("true").ok();
    }
}

#[test]
fn heads_that_are_too_large_are_refused() {
    let world = World::new();
    let server = HttpServer::with_token(&world);
    let long = "x".repeat(1 << 20);
    assert_eq!(server.request("GET", "/health", &[("x-long", &long)], b"").status, 431);
    let many: Vec<(String, String)> = (0..200).map(|number| (format!("x-{number}"), "y".to_owned())).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(server.request("GET", "/health", &many, b"").status, 431);
}

#[test]
fn sessions_are_limited_and_deleting_one_makes_room() {
    let world = World::new();
    let server = HttpServer::configured(&world, "max_sessions = 2");
    let (one, _two) = (server.client("tok"), server.client("tok"));
    let mut headers = vec![("authorization", "Bearer tok")];
    headers.extend(JSON);
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let refused = server.request("POST", "/mcp", &headers, hello.to_string().as_bytes());
    assert_eq!(refused.status, 503);
    assert!(refused.json()["error"]["message"].as_str().unwrap().contains("max_sessions"));
    assert_eq!(one.delete().status, 204);
    server.client("tok").bash("true").ok();
}

#[test]
fn deleting_a_session_ends_its_processes() {
    let world = World::new();
    let server = HttpServer::with_token(&world);
    let mut client = server.client("tok");
    let (left, running) = (nap(), nap());
    client.bash(&format!("setsid sleep {left} >/dev/null 2>&1 &")).ok();
    let pending = client.start("bash", json!({"command": format!("sleep {running}")}));
    until("both to run", || (!with_word(&left).is_empty() && !with_word(&running).is_empty()).then_some(()));
    assert_eq!(client.delete().status, 204);
    assert!(with_word(&left).is_empty() && with_word(&running).is_empty());
    until("the call's stream to end", || pending.is_over().then_some(()));
    assert_eq!(client.start("bash", json!({"command": "true"})).reply().status, 404);
    assert_eq!(client.delete().status, 404);
}

#[test]
fn an_idle_client_ends_with_its_processes_in_both_lifecycles() {
    let world = World::new();
    let server = HttpServer::configured(&world, "idle_timeout = 3");
    let (mut legacy, mut modern) = (server.client("tok"), server.modern_client("tok"));
    let (old, new) = (nap(), nap());
    legacy.bash(&format!("sleep {old} & export A=1")).ok();
    modern.bash(&format!("sleep {new} & export A=1")).ok();
    until("the end of both", || (with_word(&old).is_empty() && with_word(&new).is_empty()).then_some(()));
    assert_eq!(legacy.start("bash", json!({"command": "true"})).reply().status, 404);
    assert_eq!(modern.bash("echo [$A]").stdout(), "[]\n", "a new client starts without the old variables");
}

#[test]
fn a_client_that_works_or_listens_is_not_idle() {
    let world = World::new();
    let server = HttpServer::configured(&world, "idle_timeout = 3");
    let mut listening = server.client("tok");
    let stream = listening.listen();
    let mut working = server.client("tok");
    let pending = working.start("bash", json!({"command": "until [ -e go ]; do sleep 0.01; done; echo worked"}));
    // This client is idle from now on, so its end shows that the others were silent for longer than the limit.
    let mut idle = server.client("tok");
    let word = nap();
    idle.bash(&format!("sleep {word} &")).ok();
    until("the end of the idle client", || with_word(&word).is_empty().then_some(()));
    assert!(!stream.is_over());
    world.file("go", "");
    assert_eq!(pending.reply().tool().stdout(), "worked\n");
    listening.bash("true").ok();
}

#[test]
fn the_server_raises_its_descriptor_limit_and_commands_keep_theirs() {
    let world = World::new();
    let limited = ["sh", "-c", "ulimit -Sn 512; ulimit -Hn 2048; exec \"$0\" \"$@\""];
    for (sandbox, expected) in [("off", "512\n"), ("workspace-write", "2048\n")] {
        let arguments = ["--transport", "http", "--listen", "127.0.0.1:0", "--token", "tok", "--sandbox", sandbox];
        let server = HttpServer::start_with(world.command_by(&limited, &arguments));
        // In the sandbox a setting decides, up to what the machine allows.
        assert_eq!(server.client("tok").bash("ulimit -Sn").stdout(), expected, "{sandbox}");
        let limits = std::fs::read_to_string(format!("/proc/{}/limits", server.pid())).unwrap();
        let own = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
        assert_eq!(own.split_whitespace().nth(3), Some("2048"));
    }
}

#[test]
fn connections_are_limited_and_one_too_many_gets_a_503() {
    let world = World::new();
    let server = HttpServer::configured(&world, "max_connections = 3");
    let clients: Vec<_> = (0..3).map(|_| server.client("tok")).collect();
    // The connection on which a client has begun its session may still count for a moment.
    let listen = |client: &HttpClient| {
        until("a stream", || {
            let stream = client.listen();
            let answer = until("an answer", || Some(stream.so_far()).filter(|answer| answer.contains("\r\n")));
            answer.contains("200 OK").then_some(stream)
        })
    };
    let streams: Vec<_> = clients.iter().map(listen).collect();
    let surplus = until("the limit", || {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).ok().map(|()| answer)
    });
    assert_eq!(&surplus, b"HTTP/1.1 503");
    streams.into_iter().for_each(crate::support::Exchange::hang_up);
    until("room again", || {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        write!(stream, "GET /health HTTP/1.1\r\nhost: {}\r\n\r\n", server.address).unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).ok().filter(|()| &answer == b"HTTP/1.1 200")
    });
}

/// Each client has roots of its own, and the text is the same for all of them.
#[test]
fn the_instructions_say_that_roots_choose_the_project() {
    let world = World::new();
    let server = HttpServer::start(&world, &["--token", "tok", "--workspace-dir", &text(&world.outside())]);
    let hello =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let reply = server.modern_client("tok").begin("server/discover", json!({})).reply();
    let modern = reply.messages()[0]["result"]["instructions"].as_str().unwrap().to_owned();
    let mut client = server.client("tok");
    client.session = None;
    let reply = client.begin("initialize", hello).reply();
    let told = reply.messages().last().unwrap()["result"]["instructions"].as_str().unwrap().to_owned();
    for told in [modern, told] {
        let (project, outside) = (text(&world.project()), text(&world.outside()));
        assert!(told.contains("decided by the client's roots within") && told.contains(&outside), "{told}");
        assert!(told.contains(&format!("without roots {project}")), "{told}");
    }
}
