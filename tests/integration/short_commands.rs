//! Commands that end at once: their answer comes before the kernel has taken the shell down, and says the same. Shells that
//! wait, and a start whose self-test runs beside the handshake.

use serde_json::json;

use crate::support::{Pending, World, everywhere, until};

#[test]
fn the_status_of_a_short_command_is_its_own_however_it_ends() {
    everywhere("", &[], |inside| {
        for (command, code) in [
            ("true", 0),
            ("false", 1),
            ("exit 7", 7),
            ("trap 'echo bye' EXIT; exit 3", 3),
            ("trap 'exit 9' EXIT; exit 3", 9),
            ("kill -9 $$", 137),
            ("trap 'kill -9 $$' EXIT", 137),
            ("trap 'kill -TERM $$' EXIT; exit 4", 143),
            ("kill -URG $PPID; exit 5", 5),
            ("(kill -URG $PPID); exit 6", 6),
            ("kill -URG $PPID; kill -9 $$", 137),
            ("bash -c 'kill -URG $PPID'; exit 8", 8),
            ("exec sh -c 'exit 11'", 11),
        ] {
            // Three times: in a fresh shell, in a waiting one, and in one that started while a command ran.
            for _ in 0..3 {
                let reply = inside.client.bash(command);
                assert!(reply.text().starts_with(&format!("exit_code: {code}\n")), "{command}: {}", reply.text());
            }
        }
    });
}

/// A command of the same session kills shells while they end. Each answer is either a success with all that belongs to it, or
/// a killed shell, and never something in between.
#[test]
fn a_shell_that_is_killed_at_its_end_is_no_success() {
    let world = World::new();
    let mut server = world.server(&[]);
    let killer = "while :; do read -r pid <pids && kill -9 \"$pid\"; done 2>/dev/null";
    server.bash("mkfifo pids").ok();
    server.call("bash", json!({"command": killer, "run_in_background": true})).ok();
    let (mut killed, mut whole) = (0, 0);
    for round in 0..300 {
        // The shell tells its number and goes on to its end; when the killer strikes is left to the scheduler.
        let work = "x".repeat(round % 60);
        let reply = server.bash(&format!("echo $$ >pids; : {work}; echo done"));
        let text = reply.text();
        match text.lines().next() {
            Some("exit_code: 0") => {
                assert!(text.contains("done"), "{text}");
                whole += 1;
            }
            Some("exit_code: 137") => killed += 1,
            _ => panic!("{text}"),
        }
    }
    assert_eq!(killed + whole, 300);
}

#[test]
fn a_lock_of_the_last_command_is_free_for_the_next() {
    let world = World::new();
    let mut server = world.server(&[]);
    for round in 0..100 {
        let reply = server.bash("exec 9>lock; flock -n 9 && echo got");
        assert_eq!(reply.stdout(), "got\n", "{round}");
    }
}

#[test]
fn output_that_ends_in_the_middle_of_a_character_is_whole() {
    let world = World::new();
    let mut server = world.server(&[]);
    for _ in 0..3 {
        assert_eq!(server.bash("printf 'a\\xe2\\x82'").stdout(), "a\u{fffd}");
        assert_eq!(server.bash("printf 'no newline'").stdout(), "no newline");
        assert_eq!(server.bash("printf 'x%.0s' {1..20000}").stdout().len(), 20_000);
    }
}

#[test]
fn many_at_once_and_one_after_the_other_each_have_their_own_answer() {
    let world = World::new();
    let mut server = world.server(&[]);
    for _ in 0..5 {
        let calls: Vec<Pending> =
            (0..12).map(|n| server.start("bash", json!({"command": format!("echo {n}; exit {n}")}))).collect();
        for (n, call) in calls.into_iter().enumerate() {
            let text = call.reply().text();
            assert!(text.starts_with(&format!("exit_code: {n}\n")) && text.contains(&format!("\n{n}\n")), "{text}");
        }
        for n in 0..20 {
            assert_eq!(server.bash(&format!("echo {n}")).stdout(), format!("{n}\n"));
        }
        // A command that moves the session makes the shells that wait useless.
        server.bash("mkdir -p sub; cd sub; export N=1").ok();
        assert_eq!(server.bash("echo ${PWD##*/} $N").stdout(), "sub 1\n");
        server.bash("cd ..; unset N").ok();
    }
}

/// The level is known from the start before; the calls rely on the test of this start.
#[test]
fn a_level_that_is_recalled_is_tested_again() {
    let world = World::new();
    let hello = |arguments: &[&str]| {
        let server = world.server(arguments);
        (server.hello["instructions"].as_str().unwrap().to_owned(), server)
    };
    let (first, mut server) = hello(&[]);
    assert!(!server.bash("true").text().contains("[sandbox:"));
    server.hang_up();
    server.wait_for_exit();
    let file = world.home().join(".local/state/testudo/level");
    let remembered = until("the memory", || std::fs::read_to_string(&file).ok());
    let (second, mut server) = hello(&[]);
    assert_eq!(first, second);
    assert!(!server.bash("true").text().contains("[sandbox:"));
    let (found, other) = if remembered.contains(" full ") { ("full", "landlock") } else { ("landlock", "full") };
    std::fs::write(&file, remembered.replace(found, other)).unwrap();
    let (wrong, mut server) = hello(&[]);
    assert!(wrong.contains(&format!("level {other}")), "{wrong}");
    let text = server.bash("true").text();
    assert!(text.contains(&format!("level {found} since this start, not {other}")), "{text}");
    assert!(!server.bash("true").text().contains("since this start"));
    until("the right memory", || (std::fs::read_to_string(&file).ok()? == remembered).then_some(()));
}
