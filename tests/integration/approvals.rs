//! Asking the person: both lifecycles, the four choices, and every answer that is not a yes.

use serde_json::{Value, json};

use crate::support::{Client, Person, StartOptions, World, choice};

fn asking(world: &World, person: &Person) -> Client {
    world.server_with(&["--ask", "touch", "--deny", "rm"], person.options())
}

#[test]
fn the_question_shows_what_would_run_and_only_a_yes_runs_it() {
    let world = World::new();
    let person = Person::new();
    let mut server = asking(&world, &person);
    let call = json!({"command": "touch a\u{202e}b", "description": "make a file"});
    server.call("bash", call).ok();
    let question = person.question(0);
    let message = question["message"].as_str().unwrap();
    for part in ["touch a<U+202E>b", "make a file", world.project().to_str().unwrap(), "why you are asked: "] {
        assert!(message.contains(part), "{part} is missing in {message}");
    }
    assert_eq!(
        question["requestedSchema"]["properties"]["decision"]["enum"],
        json!(["once", "session", "program", "deny"])
    );
    let noes = [
        choice("deny"),
        json!({"action": "decline"}),
        json!({"action": "cancel"}),
        choice("yes"),
        json!({"action": "accept"}),
        json!({"nonsense": 1}),
    ];
    for answer in noes {
        person.will(answer.clone());
        let error = server.bash("touch mark").err();
        assert!(error.contains("refused"), "{answer}: {error}");
    }
    assert!(!world.project().join("mark").exists());
}

#[test]
fn each_choice_lasts_as_long_as_it_says() {
    let world = World::new();
    let person = Person::new();
    let mut server = asking(&world, &person);
    let mut asked_for = |command: &str, answer: &str| {
        person.will(choice(answer));
        let before = person.questions();
        server.bash(command).ok();
        person.questions() - before
    };
    assert_eq!(asked_for("touch one", "once"), 1);
    assert_eq!(asked_for("touch one", "session"), 1);
    assert_eq!(asked_for("touch one", "deny"), 0);
    assert_eq!(asked_for("touch two", "program"), 1);
    assert_eq!(asked_for("touch three", "deny"), 0);
    let other = server.call("bash", json!({"command": "touch four", "session": "other"}));
    assert!(other.is_error(), "another session has its own approvals");
}

#[test]
fn a_denied_command_is_never_asked_about() {
    let world = World::new();
    let person = Person::new();
    let mut server = asking(&world, &person);
    assert!(server.bash("rm x").err().contains("--deny"));
    assert!(server.bash("touch x; rm x").err().contains("--deny"));
    assert_eq!(person.questions(), 0);
}

#[test]
fn without_anybody_to_ask_the_refusal_names_the_setting() {
    let world = World::new();
    let mut server = world.server(&["--ask", "touch"]);
    let error = server.bash("touch x").err();
    assert!(error.contains("nobody to ask") && error.contains("--a"), "{error}");
}

#[test]
fn what_nobody_would_read_is_refused_rather_than_cut() {
    let world = World::new();
    let person = Person::new();
    let mut server = asking(&world, &person);
    let error = server.bash(&format!("touch {}", "x".repeat(5000))).err();
    assert!(error.contains("too long"), "{error}");
    assert_eq!(person.questions(), 0);
}

#[test]
fn questions_are_rationed() {
    let world = World::new();
    let person = Person::new();
    person.will(choice("deny"));
    let mut server = asking(&world, &person);
    let errors: Vec<String> = (0..25).map(|index| server.bash(&format!("touch {index}")).err()).collect();
    assert!(errors.last().unwrap().contains("too many questions"), "{errors:?}");
    assert_eq!(person.questions(), 20);
}

/// In the newest lifecycle the server answers the call with a question. The client repeats the call with the person's answer.
#[test]
fn in_the_newest_lifecycle_an_answer_fits_its_own_call_once() {
    let world = World::new();
    let options =
        StartOptions { modern: true, capabilities: json!({"elicitation": {"form": {}}}), ..StartOptions::default() };
    let mut server = world.server_with(&["--ask", "touch"], options);
    let call = |command: &str| json!({"name": "bash", "arguments": {"command": command}});
    let question = server.request("tools/call", call("touch a"));
    assert_eq!(question["resultType"], "input_required", "{question}");
    let message = &question["inputRequests"]["decision"]["params"]["message"];
    assert!(message.as_str().unwrap().contains("touch a"), "{question}");
    let mut repeated = |command: &str, decision: &str| {
        let mut params = call(command);
        params["requestState"] = question["requestState"].clone();
        params["inputResponses"] = json!({"decision": choice(decision)});
        server.request("tools/call", params)
    };
    assert_eq!(repeated("touch b", "once")["resultType"], "input_required", "an answer for another command is none");
    assert!(!world.project().join("b").exists());
    let again = server.request("tools/call", call("touch a"));
    let answer = |state: &Value, decision: &str| {
        let mut params = call("touch a");
        params["requestState"] = state.clone();
        params["inputResponses"] = json!({"decision": choice(decision)});
        params
    };
    let done = server.request("tools/call", answer(&again["requestState"], "once"));
    assert_eq!(done["content"][0]["text"], "exit_code: 0\n", "{done}");
    assert!(world.project().join("a").exists());
    let replayed = server.request("tools/call", answer(&again["requestState"], "once"));
    assert_eq!(replayed["resultType"], "input_required", "a used answer is none");
    let forged = server.request("tools/call", answer(&json!("forged"), "once"));
    assert_eq!(forged["resultType"], "input_required", "a forged state is none");
}

#[test]
fn what_is_approved_can_be_seen_and_taken_back_while_the_server_runs() {
    let world = World::new();
    let person = Person::new();
    let mut server = asking(&world, &person);
    let testudo = |words: &[&str]| {
        let output = world.run(words);
        (String::from_utf8(output.stdout).unwrap(), output.status.code().unwrap())
    };
    assert!(testudo(&["doctor"]).0.contains("approvals       none"));
    person.will(choice("session"));
    server.bash("touch one").ok();
    person.will(choice("program"));
    server.bash("touch two").ok();
    let listed = testudo(&["doctor"]).0;
    let explained = testudo(&["explain", "touch three"]).0;
    for part in ["command `touch one` in ", "program touch", "session default of local, server "] {
        assert!(listed.contains(part) && explained.contains(part), "{part} is missing in {listed} or {explained}");
    }
    let json: Value = serde_json::from_str(&testudo(&["explain", "--json", "ls"]).0).unwrap();
    let approvals = json["approvals"].as_array().unwrap();
    let id = approvals.iter().find(|approval| approval["program"] == "touch").unwrap()["id"].as_str().unwrap();
    assert_eq!(testudo(&["revoke", "nonsense"]).1, 1);
    let (told, code) = testudo(&["revoke", id]);
    assert!(code == 0 && told.contains("program touch"), "{told}");
    person.will(choice("deny"));
    let before = person.questions();
    server.bash("touch one").ok();
    assert_eq!(person.questions(), before, "the other approval still holds");
    assert!(server.bash("touch three").err().contains("refused by the user"));
    assert_eq!(testudo(&["revoke", "all"]).1, 0);
    assert!(server.bash("touch one").err().contains("refused by the user"));
    drop(server);
    assert!(testudo(&["doctor"]).0.contains("approvals       none"));
}

#[test]
fn no_command_can_see_or_make_an_approval() {
    let world = World::new();
    let person = Person::new();
    person.will(choice("session"));
    let mut server = world.server_with(&["--ask", "touch"], person.options());
    server.bash("touch one").ok();
    let cache = world.home().join(".cache/testudo");
    let found = server.bash(&format!("find {} -path '*approvals*' 2>/dev/null | wc -l", cache.display())).ok();
    assert!(found.contains("stdout:\n0\n"), "{found}");
}
