//! `run_shell_command`: its result is one JSON object, nothing persists, command substitution is refused, and a person
//! who can be asked confirms each command.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::{Client, Person, StartOptions, World, choice, text};

fn run(server: &mut Client, command: &str) -> Value {
    serde_json::from_str(&server.call("run_shell_command", json!({ "command": command })).ok()).unwrap()
}

#[test]
fn every_key_is_there_and_nothing_persists() {
    let world = World::new();
    std::fs::create_dir(world.project().join("sub")).unwrap();
    let mut server = world.server(&["--toolset", "gemini"]);
    let first = run(&mut server, "cd sub; export X=1; echo out; echo err >&2; exit 3");
    assert!(first["pid"].as_i64().unwrap() > 0);
    let want = json!({"stdout": "out\n", "stderr": "err\n", "exitCode": 3, "signal": null, "error": null, "pid": first["pid"], "backgroundPids": []});
    assert_eq!(first, want);
    assert_eq!(
        run(&mut server, "echo \"$PWD [$X] $ASIMI_CLI\"")["stdout"],
        format!("{} [] 1\n", text(&world.project()))
    );
    let killed = run(&mut server, "kill -9 $$");
    assert_eq!((&killed["exitCode"], &killed["signal"]), (&Value::Null, &json!(9)));
    let large = run(&mut server, "head -c 200000 /dev/zero | tr '\\0' x");
    assert_eq!(large["stdout"].as_str().unwrap().len(), 200_000);
}

#[test]
fn substitution_is_refused_where_bash_would_perform_it_and_nowhere_else() {
    let world = World::new();
    let mut server = world.server(&["--toolset", "gemini"]);
    for command in [
        "echo $(touch m)",
        "echo `touch m`",
        "cat <(touch m)",
        "ls > >(touch m)",
        "echo \"$(touch m)\"",
        "cat <<E\n$(touch m)\nE",
        "echo $(( $(touch m) ))",
        "echo ${x:-$(touch m)}",
    ] {
        let error = server.call("run_shell_command", json!({ "command": command })).err();
        assert!(error.contains("substitution"), "{command}: {error}");
    }
    assert!(!world.project().join("m").exists());
    for (command, want) in [
        ("echo '$(x)'", "$(x)\n"),
        ("echo \\$\\(x\\)", "$(x)\n"),
        ("cat <<'E'\n$(x)\nE", "$(x)\n"),
        ("echo $((1+2))", "3\n"),
    ] {
        assert_eq!(run(&mut server, command)["stdout"], want, "{command}");
    }
}

#[test]
fn a_person_confirms_each_command_when_there_is_no_list() {
    let world = World::new();
    let asked = Arc::new(Mutex::new(0));
    let count = asked.clone();
    let options = StartOptions {
        capabilities: json!({"elicitation": {"form": {}}}),
        answers: Arc::new(move |_, _| {
            *count.lock().unwrap() += 1;
            Some(json!({"action": "accept", "content": {"decision": "session"}}))
        }),
        ..StartOptions::default()
    };
    let mut server = world.server_with(&["--toolset", "gemini"], options);
    for _ in 0..2 {
        assert_eq!(run(&mut server, "echo hi")["stdout"], "hi\n");
    }
    assert_eq!(*asked.lock().unwrap(), 1);
    assert_eq!(run(&mut world.server(&["--toolset", "gemini"]), "echo hi")["stdout"], "hi\n", "nobody to ask: it runs");
}

#[test]
fn a_confirmed_program_is_not_asked_about_again() {
    let world = World::new();
    let person = Person::new();
    let mut server = world.server_with(&["--toolset", "gemini"], person.options());
    person.will(choice("program"));
    run(&mut server, "touch a && ls");
    let message = person.question(0)["message"].as_str().unwrap().to_owned();
    assert!(message.ends_with("1 line, 13 B; programs: touch, ls"), "{message}");
    run(&mut server, "ls -l; touch b");
    assert_eq!(person.questions(), 1);
    person.will(choice("deny"));
    let error = server.call("run_shell_command", json!({ "command": "touch c; rm a" })).err();
    assert!(error.contains("refused by the user"), "{error}");
}
