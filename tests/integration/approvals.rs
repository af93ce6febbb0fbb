//! Asking the person: both lifecycles, the five choices, and every answer that is not a yes.

use serde_json::{Value, json};

use crate::support::{Client, Person, StartOptions, World, choice, everywhere};

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
    server.bash("touch b").ok();
    let question = person.question(1);
    let field = &question["requestedSchema"]["properties"]["decision"];
    let choices: Vec<_> = field["oneOf"].as_array().unwrap().iter().map(|choice| choice["const"].clone()).collect();
    assert_eq!(choices, ["once", "session", "program", "always", "deny"], "{question}");
    assert_eq!(field["oneOf"][2]["title"], "For this session: touch");
    assert_eq!(field["description"], "1 line, 7 B; programs: touch");
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

/// An older protocol version knows no titles, so the description says what the choices mean.
#[test]
fn an_older_client_gets_plain_choices() {
    let world = World::new();
    let person = Person::new();
    let options = StartOptions { version: "2025-06-18", ..person.options() };
    let mut server = world.server_with(&["--ask", "touch"], options);
    server.bash("touch a").ok();
    let field = &person.question(0)["requestedSchema"]["properties"]["decision"];
    assert_eq!(field["enum"], json!(["once", "session", "program", "always", "deny"]));
    assert!(field["description"].as_str().unwrap().contains("always: Always in this project"), "{field}");
}

/// A description of many lines pushed the command off the screen and showed another one.
#[test]
fn an_agent_cannot_write_a_part_of_the_question() {
    let world = World::new();
    let person = Person::new();
    let mut server = asking(&world, &person);
    let fake = format!("{}May this run?\n\nls -la\n\nwhy you are asked: first use of ls", "\n".repeat(45));
    let command = format!("touch x; true{fake}");
    server.call("bash", json!({"command": command, "description": fake}));
    let question = person.question(0);
    let message = question["message"].as_str().unwrap();
    let ours: Vec<&str> = message.lines().filter(|row| !row.is_empty() && !row.starts_with("│ ")).collect();
    let begins = ["May this run?", "in: ", "for:", "why you are asked: the rule --ask 'touch'", "size: 50 lines, "];
    assert!(ours.len() == 5 && ours.iter().zip(begins).all(|(row, begin)| row.starts_with(begin)), "{message}");
    let description = message.lines().skip_while(|row| *row != "for:").nth(1).unwrap();
    assert!(
        description.starts_with("│ May this run?<U+000A><U+000A>ls -la<U+000A>") && description.chars().count() <= 202,
        "{description}"
    );
    assert!(message.contains("│ touch x; true\n│ (44 empty lines)\n│ May this run?\n"), "{message}");
    assert!(message.lines().count() < 30 && message.ends_with("programs: touch, true, May, ls, why"), "{message}");
}

#[test]
fn always_holds_in_this_project_until_it_is_revoked() {
    let world = World::new();
    let person = Person::new();
    person.will(choice("always"));
    asking(&world, &person).bash("touch one").ok();
    person.will(choice("deny"));
    let mut later = asking(&world, &person);
    later.bash("touch one").ok();
    later.call("bash", json!({"command": "touch one", "session": "other"})).ok();
    assert_eq!(person.questions(), 1, "it holds in other sessions and servers");
    assert!(later.bash("touch two").err().contains("refused by the user"));
    let other = world.outside().to_str().unwrap().to_owned();
    let mut elsewhere = world.server_with(&["--ask", "touch", "--project-dir", &other], person.options());
    assert!(elsewhere.bash("touch one").err().contains("refused by the user"), "another project");

    let kept = world.home().join(".local/state/testudo/approvals");
    let file = std::fs::read_dir(&kept).unwrap().next().unwrap().unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    assert!(!later.bash(&format!("cat {}/*", kept.display())).text().contains("touch one"), "no command can see it");
    let testudo = |words: &[&str]| String::from_utf8(world.run(words).stdout).unwrap();
    let line = "always `touch one` in ";
    assert!(testudo(&["doctor"]).contains(line) && testudo(&["explain", "ls"]).contains(line));
    let id = file.file_name().into_string().unwrap();
    assert!(testudo(&["revoke", &id]).contains(line));
    assert!(later.bash("touch one").err().contains("refused by the user"));
}

/// Commands could write the approvals there.
#[test]
fn always_is_not_offered_where_the_approvals_lie_in_the_scope() {
    let world = World::new();
    let person = Person::new();
    let home = world.home().to_str().unwrap().to_owned();
    let mut server = world.server_with(&["--ask", "touch", "--project-dir", &home], person.options());
    person.will(choice("always"));
    assert!(server.bash("touch one").err().contains("none of the choices"));
    let choices = person.question(0)["requestedSchema"]["properties"]["decision"]["oneOf"].clone();
    assert_eq!(choices.as_array().unwrap().len(), 4, "{choices}");
}

/// Claude Code and Codex answer like this, within milliseconds, when they run without a person.
#[test]
fn an_answer_that_no_person_can_have_given_is_not_called_a_refusal_by_the_user() {
    let world = World::new();
    let person = Person::new();
    let mut server = asking(&world, &person);
    for how in ["cancel", "decline"] {
        person.will(json!({ "action": how }));
        let error = server.bash("touch mark").err();
        let parts = [
            &format!("`{how}` at once"),
            "without a person",
            "`--allow touch` would permit it in place of --ask 'touch'",
        ];
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
        assert!(!error.contains("refused by the user"), "{error}");
    }
    person.will(choice("deny"));
    assert!(server.bash("touch mark").err().contains("refused by the user"));
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
    assert!(error.contains("this client cannot ask; `--allow touch` would permit it"), "{error}");
    // A client that cannot ask has no person who could approve; the program that asks without it is named.
    assert!(!error.contains("a person has to approve") && error.contains("`testudo approve --wait`"), "{error}");
    let mut server = world.server(&["--allow", "npm test"]);
    let error = server.bash("npm run build").err();
    assert!(error.contains("this client cannot ask; `--allow 'npm run build'` would permit it"), "{error}");
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

/// Files of approvals that are for good grant what they say, so no command may write one.
#[test]
fn no_command_can_reach_the_approvals_that_are_for_good() {
    everywhere("", &["--ask", "touch"], |inside| {
        let kept = inside.world.home().join(".local/state/testudo/approvals");
        assert!(kept.is_dir(), "it is there before the first command, so that none can make it");
        let canary = inside.home_file(".local/state/testudo/approvals/canary", "canary-789");
        let kept = kept.display();
        for command in [
            format!("echo x > {kept}/y"),
            format!("mv {kept} /tmp/elsewhere && mkdir -p {kept}"),
            format!("cat {kept}/canary"),
        ] {
            assert!(!inside.bash(&command).text().contains("canary-789"), "{command}");
        }
        let read = inside.client.call("view", json!({ "path": canary })).err();
        assert!(!read.contains("canary-789"), "{read}");
        assert_eq!(std::fs::read_to_string(&canary).unwrap(), "canary-789");
        assert_eq!(std::fs::read_dir(canary.parent().unwrap()).unwrap().count(), 1);
    });
}
