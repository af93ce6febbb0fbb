//! What makes short commands fast changes nothing that they do: shells without a report, and sessions that are made before
//! anybody asks for them.

use serde_json::json;

use crate::support::{Client, World, descendants, everywhere, until};

#[test]
fn a_plain_command_leaves_the_session_as_it_is_and_any_other_moves_it() {
    let world = World::new();
    let mut server = world.server(&[]);
    server.bash("mkdir -p sub/inner; cd sub; export A=1 B='x y'").ok();
    for _ in 0..3 {
        assert_eq!(server.bash("true").text(), "exit_code: 0\n");
        assert!(server.bash("ls | cat && env A=2 true; false || exit 7").text().starts_with("exit_code: 7\n"));
    }
    let shown = server.bash("echo \"$PWD $A $B\"").text();
    assert!(shown.contains(&format!("{}/sub 1 x y\n", world.project().display())), "{shown}");
    for (text, moved) in [("ls; cd inner", "/sub/inner"), ("ls &&\ncd ..", "/sub"), ("A=5; ls", "/sub")] {
        server.bash(text).ok();
        let shown = server.bash("echo \"at $PWD, $A\"").text();
        let a = if text.starts_with('A') { "5" } else { "1" };
        assert!(shown.contains(&format!("at {}{moved}, {a}\n", world.project().display())), "{text}: {shown}");
    }
}

#[test]
fn a_plain_command_that_removes_its_directory_says_so() {
    everywhere("", &[], |inside| {
        let project = inside.world.project().display().to_string();
        let shown = inside.client.bash("echo \"at $TMPDIR.\"").text();
        let tmp = shown.split_once("at ").unwrap().1.split_once(".\n").unwrap().0.to_owned();
        for place in [format!("{project}/gone"), format!("{tmp}/gone")] {
            inside.client.bash(&format!("mkdir -p {place}; cd {place}")).ok();
            // The second call of a directory finds a shell that waits in it.
            inside.client.bash("true").ok();
            let shown = inside.client.bash(&format!("rm -rf {place}")).text();
            assert!(shown.contains(&format!("cwd: {project} ({place} no longer exists)\n")), "{shown}");
            assert!(inside.client.bash("pwd").text().contains(&project));
        }
    });
}

/// A program inherits the descriptor on which its shell says that it ends.
#[test]
fn a_program_that_writes_to_the_channel_of_its_shell_ends_and_moves_nothing() {
    everywhere("", &[], |inside| {
        inside.client.bash("mkdir -p sub; cd sub").ok();
        let project = inside.world.project().display().to_string();
        for word in ["!", "x", "stale", "0123456789abcdef!"] {
            // Longer than the server looks for the end of a command that has announced it.
            let write = format!("import os, time; os.write(251, b'{word}'); time.sleep(0.1); print('later')");
            let shown = inside.client.bash(&format!("python3 -c \"{write}\" && env false")).text();
            assert_eq!(shown, "exit_code: 1\n\nstdout:\nlater\n", "{word}");
            assert!(inside.client.bash("pwd").text().contains(&format!("{project}/sub\n")), "{word}");
        }
    });
}

/// A short text comes with the word to begin, a longer one in a file.
#[test]
fn texts_of_every_length_and_alphabet_arrive_whole_in_a_waiting_shell() {
    let world = World::new();
    let mut server = world.server(&[]);
    server.bash("true").ok();
    for (length, letter) in
        [(1, "a"), (40, ":"), (100, "p"), (125, "\\"), (126, "r"), (127, " "), (4000, "z"), (20, "é")]
    {
        let word = letter.repeat(length);
        for text in [format!("printf '%s|' '{word}'"), format!("x='{word}'; printf '%s|' \"$x\"")] {
            assert_eq!(server.bash(&text).text(), format!("exit_code: 0\n\nstdout:\n{word}|"), "{text}");
        }
    }
}

/// The shells that wait below this server, by the pid that each of them has in its own namespace.
fn waiting_shells(client: &Client) -> Vec<String> {
    let inner_pid = |pid: u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = |name: &str| Some(status.lines().find_map(|line| line.strip_prefix(name))?.trim().to_owned());
        (line("Name:")? == "bash").then(|| line("NSpid:"))??.split_whitespace().last().map(str::to_owned)
    };
    descendants(client.pid()).into_iter().filter_map(inner_pid).collect()
}

fn wait_for_a_shell(client: &Client) -> Vec<String> {
    until("a shell that waits", || Some(waiting_shells(client)).filter(|shells| !shells.is_empty()))
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
