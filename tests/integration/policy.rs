//! The policy through the real binary: a refused command does not run, an allowed one runs as it was judged.

use crate::support::World;

#[test]
fn a_refusal_names_the_rule_and_the_way_out() {
    let world = World::new();
    world.file("f", "keep");
    let mut server = world.server(&["--deny", "rm", "--ask", "git push"]);
    let text = server.bash("ls && /bin/rm f").err();
    assert!(text.contains("refused by policy") && text.contains("--deny 'rm'"), "{text}");
    let text = server.bash("git -C . push").err();
    assert!(text.contains("nobody to ask") && text.contains("--ask 'git push'"), "{text}");
    assert_eq!(world.read("f"), "keep");
    assert_eq!(server.bash("for i in 1 2; do echo $i; done").stdout(), "1\n2\n");
}

#[test]
fn what_a_rule_allows_runs_in_its_canonical_form() {
    let world = World::new();
    let mut server = world.server(&["--allow", "echo", "--allow", "cat", "--allow", "cd", "--allow", "pwd"]);
    assert_eq!(server.bash("echo   'a  b'   \"c\" # comment").stdout(), "a  b c\n");
    assert_eq!(server.bash("cat <<'E'\n$(pwn) \"x\" 'y'\nE").stdout(), "$(pwn) \"x\" 'y'\n");
    assert_eq!(server.bash("cat <<E\nsay \\\"hi\\\" \\$x $((1+2))\nE").stdout(), "say \\\"hi\\\" $x 3\n");
    assert_eq!(server.bash("cat <<E\nE").stdout(), "");
    assert_eq!(server.bash("echo x > f; cat < f; echo y >> f; cat f").stdout(), "x\nx\ny\n");
    assert_eq!(server.bash("if cd /; then pwd; fi").field("cwd").as_deref(), Some("/"));
    let text = server.bash("ls").err();
    assert!(text.contains("no rule names `ls`") && text.contains("--allow 'ls'"), "{text}");
}

#[test]
fn the_log_begins_with_the_policy_in_force() {
    let world = World::new();
    let server = world.server(&["--allow", "ls", "--ask", "git push"]);
    let block = "\n  allow ls    (--allow 'ls')\n  ask   git push    (--ask 'git push')\n  ask   everything that no rule names\n";
    crate::support::until("the policy in the log", || server.log().contains(block).then_some(()));
    assert!(server.log().contains("the policy in force"), "{}", server.log());
    let mut server = world.server(&["--log-level", "debug"]);
    server.bash("true").ok();
    crate::support::until("a later line in the log", || server.log().contains("answer").then_some(()));
    assert!(!server.log().contains("the policy in force"), "nothing to say without rules: {}", server.log());
}

#[test]
fn allowed_commands_binds_bash_too() {
    let world = World::new();
    let mut command = world.command(&[]);
    command.env("ALLOWED_COMMANDS", "echo, cat");
    let mut server = crate::support::Client::connect(command, crate::support::StartOptions::default());
    assert_eq!(server.bash("echo a | cat").stdout(), "a\n");
    assert!(server.bash("echo a; pwd").err().contains("not in ALLOWED_COMMANDS (echo,cat)"));
}

#[test]
fn rules_of_the_file_and_of_the_flags_add_up() {
    let world = World::new();
    let file = world.home().join("config.toml");
    let rule = "excludeTools = [\"run_shell_command(touch)\"]\n[policy]\ndeny = [\"rm\"]\n[[policy.rule]]\ncommand = \"git push\"\n\
                verdict = \"ask\"\nreason = \"publishing is the user's decision\"\nmatch = [\"git -C x push\"]\n";
    std::fs::write(&file, rule).unwrap();
    let file = file.to_str().unwrap().to_owned();
    let mut server = world.server(&["--config", &file, "--deny", "mv"]);
    for command in ["rm x", "mv x y", "touch x", "git push"] {
        server.bash(command).err();
    }
    assert!(server.bash("git push").err().contains("publishing is the user's decision"));
    assert_eq!(server.bash("echo ok").stdout(), "ok\n");

    std::fs::write(&file, rule.replace("git -C x push", "git status")).unwrap();
    let output = world.run(&["--config", &file, "call", "bash", "command=true"]);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && text.contains("git push") && text.contains("git status"), "{text}");
}

#[test]
fn explain_shows_the_judgement_and_runs_nothing() {
    let world = World::new();
    let output = world.run(&["explain", "--allow", "ls", "--deny", "rm", "ls | xargs rm"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "verdict   deny\nreason    the rule --deny 'rm' names it\nrule      --deny 'rm'\nchange    remove the rule --deny 'rm'\n\n\
         found\n  allow ls    the rule --allow 'ls' names it\n  ask   xargs rm    no rule names `xargs`\n  \
         deny  rm what it reads    the rule --deny 'rm' names it\n\nrules\n  allow ls    (--allow 'ls')\n  \
         deny  rm    (--deny 'rm')\n  ask   everything that no rule names\n"
    );
    let output = world.run(&["explain", "--json", "--allow", "ls", "ls   -l"]);
    assert_eq!(output.status.code(), Some(0));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((json["verdict"].as_str(), json["canonical"].as_str()), (Some("allow"), Some("ls -l")));
}

#[test]
fn explain_without_rules_shows_the_parse_and_refuses_what_bash_could_not_run() {
    let world = World::new();
    let output = world.run(&["explain", "cd src && ls | xargs grep x"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    for part in ["verdict   allow", "there are no rules", "  allow cd src", "  allow xargs grep x", "  allow grep x"] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    for broken in ["echo 'x", "echo \"x", "echo $(ls", "if true; then", "cat <<E"] {
        let output = world.run(&["explain", broken]);
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && error.contains("bash could not run this text"), "{broken}: {error}");
    }
    assert_eq!(world.run(&["explain", "f() { ls; }; [[ -f x ]] && f"]).status.code(), Some(0));
}

#[test]
fn safe_can_be_allowed_and_shown() {
    let world = World::new();
    world.file("src/x", "a\n");
    let shown = String::from_utf8(world.run(&["explain", "@safe"]).stdout).unwrap();
    for part in
        ["\nls  ", "\nrg  ", "\ngit status  ", "\ngit log  ", "\ngit diff  ", "\ngit show  ", "\nhead  ", "\ncat  "]
    {
        assert!(shown.contains(part), "{part:?} is missing in {shown}");
    }
    let mut server = world.server(&["--allow", "@safe"]);
    assert_eq!(server.bash("cd src && ls | head -5 && [ -f x ] && echo \"${y:-none}\"").stdout(), "x\nnone\n");
    for command in ["touch y", "sort -o y x", "git commit -m x", "sed -i s/a/b/ x"] {
        server.bash(command).err();
    }
    crate::support::until("the policy in the log", || server.log().contains("allow @safe").then_some(()));
    let error = String::from_utf8(world.run(&["--deny", "@safe", "doctor"]).stderr).unwrap();
    assert!(error.contains("it can only be allowed"), "{error}");
}

#[test]
fn options_in_a_rule_are_a_set_and_an_unknown_grant_stops_the_start() {
    let world = World::new();
    world.file("x", "keep");
    let mut server = world.server(&["--deny", "rm -rf", "--deny", "git push --force"]);
    for command in ["rm -fr x", "rm -r -f x", "rm x -r -f", "git push origin main --force"] {
        assert!(server.bash(command).err().contains("refused by policy"), "{command}");
    }
    server.bash("rm --recursive --force x").err();
    assert_eq!(world.read("x"), "keep");
    let file = world.home().join("config.toml");
    let rule = "[[policy.rule]]\ncommand = \"git push\"\nverdict = \"ask\"\ngrants = [\"ssh-agent\", \"ssh-agnt\"]\n";
    std::fs::write(&file, rule).unwrap();
    let start = |words: &[&str]| world.run(&[&["--config", file.to_str().unwrap()], words].concat());
    let error = String::from_utf8(start(&["doctor"]).stderr).unwrap();
    assert!(error.contains("\"ssh-agnt\" is no grant") && error.contains("git push"), "{error}");
    std::fs::write(&file, rule.replace(", \"ssh-agnt\"", "")).unwrap();
    let shown = String::from_utf8(start(&["explain", "git push"]).stdout).unwrap();
    assert!(shown.contains("grants    ssh-agent"), "{shown}");
}

/// The default of `sandbox.protect`, read from the file that the binary embeds.
fn protected_by_default() -> Vec<String> {
    let defaults: toml::Table = toml::from_str(include_str!("../../src/config/defaults.toml")).unwrap();
    let names = defaults["sandbox"]["protect"].as_array().unwrap();
    names.iter().map(|name| name.as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_protected_name_is_asked_about_as_the_target_of_a_redirection() {
    let world = World::new();
    let verdict = |options: &[&str], target: &str| {
        let command = format!("echo x > {target}");
        let output = world.run(&[options, &["explain", "--allow", "echo", &command]].concat());
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let names = protected_by_default();
    assert!(names.iter().any(|name| name == ".zed"), "{names:?}");
    for name in names {
        let name = name.replace('*', "lib");
        for target in [name.clone(), format!("{name}/x"), format!("sub/{name}")] {
            let (code, text) = verdict(&[], &target);
            assert!(code == 1 && text.contains("is a protected name (sandbox.protect)"), "{target}: {text}");
        }
    }
    let file = world.home().join("config.toml");
    std::fs::write(&file, "[sandbox]\nprotect = [\"deploy/*.key\"]\n").unwrap();
    let own = ["--config", file.to_str().unwrap()];
    for (target, expected) in [("deploy/a.key", 1), ("deploy/a.txt", 0), (".zed/x", 0), (".git/config", 1)] {
        let (code, text) = verdict(&own, target);
        assert_eq!(code, expected, "a list in the file replaces the default one: {target}: {text}");
    }
    assert_eq!(verdict(&[], "deploy/a.key").0, 0);
}

#[test]
fn a_protected_name_is_not_written_without_anybody_to_ask() {
    let world = World::new();
    // Without the sandbox, so that only the policy stands between the command and the file.
    let mut server = world.server(&["--sandbox", "off", "--allow", "echo"]);
    let text = server.bash("echo x > .cursorrules").err();
    assert!(text.contains(".cursorrules is a protected name") && text.contains("nobody to ask"), "{text}");
    assert!(!world.project().join(".cursorrules").exists());
    server.bash("echo x > rules.txt").ok();
    assert_eq!(world.read("rules.txt"), "x\n");
}
