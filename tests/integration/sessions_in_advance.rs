//! A session that is made before its client asks for it finds a shell ready, and is in nothing else different from others.

use serde_json::json;

use crate::support::{Client, World, everywhere, until, waiting_shells};

fn wait_for_a_shell(client: &Client) -> Vec<String> {
    until("a shell that waits", || Some(waiting_shells(client.pid())).filter(|shells| !shells.is_empty()))
}

#[test]
fn the_first_command_of_a_client_finds_a_shell_that_has_started_before_it() {
    everywhere("", &[], |inside| {
        let before = wait_for_a_shell(&inside.client);
        let secret = inside.home_file(".netrc", "canary");
        let shown = inside.client.bash(&format!("echo \"pid $$\"; cat {}", secret.display())).text();
        assert!(before.iter().any(|pid| shown.contains(&format!("pid {pid}\n"))), "{before:?}: {shown}");
        assert!(!shown.contains("canary"), "{shown}");
    });
}

/// The session of the first client is made before its first call, with the settings of that moment.
#[test]
fn settings_that_change_before_the_first_command_count_for_it() {
    let world = World::new();
    let config = world.outside().join("config.toml");
    std::fs::write(&config, "").unwrap();
    let mut server = world.server(&["--config", config.to_str().unwrap()]);
    wait_for_a_shell(&server);
    std::fs::write(&config, "[sandbox]\nmode = \"read-only\"\n").unwrap();
    let shown = server.bash("echo written >file").text();
    assert!(shown.starts_with("exit_code: 1\n") && !world.project().join("file").exists(), "{shown}");
}

#[test]
fn a_directory_that_is_replaced_before_the_first_command_is_the_new_one() {
    let world = World::new();
    let mut server = world.server(&[]);
    wait_for_a_shell(&server);
    let project = world.project();
    std::fs::rename(&project, project.with_extension("old")).unwrap();
    std::fs::create_dir(&project).unwrap();
    std::fs::write(project.join("new"), "").unwrap();
    assert_eq!(server.bash("ls; pwd").stdout(), format!("new\n{}\n", project.display()));
}

/// The first session of a server, and those from the third one on, are made before anybody asks for them.
#[test]
fn sessions_that_were_made_before_are_apart_and_see_no_new_secret() {
    everywhere("", &[], |inside| {
        let run = |inside: &mut crate::support::Inside, session: usize, command: &str| {
            let session = format!("s{session}");
            inside.client.call("bash", json!({"command": command, "session": session})).text()
        };
        for session in 0..6 {
            let secret = [".netrc", ".git-credentials", ".pgpass"][session % 3];
            let path = inside.home_file(secret, "canary");
            let shown =
                run(inside, session, &format!("cat {}; echo s{session} >$TMPDIR/mine; ls $TMPDIR", path.display()));
            assert!(!shown.contains("canary") && shown.contains("mine\n"), "{session}: {shown}");
            std::fs::remove_file(path).unwrap();
        }
        for session in 0..6 {
            let shown = run(inside, session, "cat $TMPDIR/mine");
            assert!(shown.contains(&format!("s{session}\n")), "{session}: {shown}");
        }
    });
}

#[test]
fn sessions_with_hosts_that_were_made_before_have_their_own_proxy() {
    everywhere("", &["--allow-host", "example.test"], |inside| {
        for session in 0..6 {
            let host = format!("h{session}.test");
            let arguments = json!({"command": format!("curl -sS http://{host}/"), "session": format!("s{session}")});
            let shown = inside.client.call("bash", arguments).text();
            let told = format!("[sandbox: the host {host} (port 80) is not among the hosts that commands may reach");
            assert!(shown.contains(&told) && shown.matches("[sandbox: ").count() == 1, "{shown}");
        }
    });
}
