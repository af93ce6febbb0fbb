//! Every tool that runs commands puts the same question to the person, in both lifecycles.

use serde_json::{Value, json};

use crate::support::{Client, Person, Reply, StartOptions, World, choice};

const TOOLS: [&str; 3] = ["bash", "execute_command", "run_shell_command"];

/// A server with all three tools, whose person is asked before `touch` runs.
fn asking(world: &World, options: StartOptions) -> Client {
    let mut command = world.command(&["--toolset", "all", "--ask", "touch"]);
    command.env("ALLOWED_COMMANDS", "*");
    Client::connect(command, options)
}

/// Fails unless the command ran: its file is there, and the tool says so in its own format.
#[track_caller]
fn assert_ran(world: &World, tool: &str, reply: &Reply) {
    let text = reply.ok();
    match tool {
        "bash" => assert_eq!(text, "exit_code: 0\n"),
        "execute_command" => assert_eq!(text, "exit_code: 0\nstdout: \"\"\nstderr: \"\"\n"),
        _ => assert_eq!(serde_json::from_str::<Value>(&text).unwrap()["exitCode"], 0, "{text}"),
    }
    assert!(world.project().join(tool).exists(), "{tool}");
}

/// Fails unless the person's refusal is the answer and nothing ran.
#[track_caller]
fn assert_refused(world: &World, tool: &str, reply: &Reply) {
    let error = reply.err();
    assert!(error.contains("refused by the user"), "{tool}: {error}");
    assert_eq!(error.starts_with("Error executing command: "), tool == "execute_command", "{tool}: {error}");
    assert!(!world.project().join(tool).exists(), "{tool}");
}

/// The file is named after the tool, so that its command tells which tool ran it.
fn call(tool: &str) -> Value {
    json!({"name": tool, "arguments": {"command": format!("touch {tool}")}})
}

/// 2026-07-28: the question is the answer to the call, and the client repeats the call with the person's decision.
#[test]
fn in_the_newest_lifecycle_each_tool_asks_and_the_repeated_call_has_the_answer() {
    let world = World::new();
    let options =
        StartOptions { modern: true, capabilities: json!({"elicitation": {"form": {}}}), ..StartOptions::default() };
    let mut server = asking(&world, options);
    for tool in TOOLS {
        for decision in ["deny", "once"] {
            let question = server.request("tools/call", call(tool));
            assert_eq!(question["resultType"], "input_required", "{tool}: {question}");
            let message = question["inputRequests"]["decision"]["params"]["message"].as_str().unwrap();
            assert!(message.contains(&format!("touch {tool}")), "{message}");
            assert!(!world.project().join(tool).exists(), "{tool} runs nothing before the answer");
            let mut repeated = call(tool);
            repeated["requestState"] = question["requestState"].clone();
            repeated["inputResponses"] = json!({"decision": choice(decision)});
            let reply = Reply { raw: server.request("tools/call", repeated) };
            match decision {
                "deny" => assert_refused(&world, tool, &reply),
                _ => assert_ran(&world, tool, &reply),
            }
        }
    }
}

/// 2025-11-25: the question is a request of the server's, and the call waits for its answer.
#[test]
fn with_sessions_each_tool_asks_and_waits_for_the_answer() {
    let world = World::new();
    let person = Person::new();
    let mut server = asking(&world, person.options());
    for tool in TOOLS {
        for decision in ["deny", "once"] {
            person.will(choice(decision));
            let before = person.questions();
            let reply = Reply { raw: server.request("tools/call", call(tool)) };
            assert_eq!(person.questions(), before + 1, "{tool}: {reply:?}");
            let message = person.question(before)["message"].as_str().unwrap().to_owned();
            assert!(message.contains(&format!("touch {tool}")), "{message}");
            match decision {
                "deny" => assert_refused(&world, tool, &reply),
                _ => assert_ran(&world, tool, &reply),
            }
        }
    }
}

#[test]
fn with_nobody_to_ask_each_tool_refuses_in_its_own_format() {
    let world = World::new();
    let mut server = asking(&world, StartOptions::default());
    for tool in TOOLS {
        let error = Reply { raw: server.request("tools/call", call(tool)) }.err();
        assert!(error.contains("nobody to ask"), "{tool}: {error}");
        assert_eq!(error.starts_with("Error executing command: "), tool == "execute_command", "{tool}: {error}");
        assert!(!world.project().join(tool).exists(), "{tool}");
    }
}
