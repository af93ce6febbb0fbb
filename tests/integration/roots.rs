//! Project directory and scope: the client's roots, the flags, `--allow-dir`, and their effect on files and commands.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::{Client, StartOptions, World, text, until};

/// A client whose roots can change.
#[derive(Clone)]
struct Offer(Arc<Mutex<Option<Value>>>);

impl Offer {
    fn of(uris: &[String]) -> Self {
        Self(Arc::new(Mutex::new(Some(Self::listed(uris)))))
    }

    fn listed(uris: &[String]) -> Value {
        json!({ "roots": uris.iter().map(|uri| json!({ "uri": uri })).collect::<Vec<_>>() })
    }

    fn change(&self, uris: &[String]) {
        *self.0.lock().unwrap() = Some(Self::listed(uris));
    }

    fn options(&self) -> StartOptions {
        let offer = self.0.clone();
        StartOptions {
            capabilities: json!({"roots": {"listChanged": true}}),
            answers: Arc::new(
                move |method, _| if method == "roots/list" { offer.lock().unwrap().clone() } else { None },
            ),
            ..StartOptions::default()
        }
    }
}

fn uri(path: &Path) -> String {
    format!("file://{}", text(path))
}

fn directory(world: &World, name: &str) -> PathBuf {
    let path = world.outside().join(name);
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn pwd(server: &mut Client) -> String {
    server.bash("pwd").stdout().lines().next().unwrap().to_owned()
}

#[test]
fn the_first_root_is_the_project_and_every_root_is_in_scope() {
    let world = World::new();
    let (a, b) = (directory(&world, "a"), directory(&world, "b"));
    let mut server = world.server_with(&[], Offer::of(&[uri(&a), uri(&b)]).options());
    assert_eq!(pwd(&mut server), text(&a));
    for path in [a.join("x"), b.join("x")] {
        server.call("create_file", json!({"path": text(&path), "content": "x"})).ok();
        server.bash(&format!("echo more >> {}", text(&path))).ok();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "xmore\n");
    }
    let outside = world.project().join("x");
    let error = server.call("create_file", json!({"path": text(&outside), "content": "x"})).err();
    assert!(error.contains("is outside allowed directories"), "{error}");
    let denied = server.bash(&format!("echo x > {}", text(&outside))).ok();
    assert!(!denied.starts_with("exit_code: 0"), "the sandbox has the same scope: {denied}");
}

#[test]
fn a_removed_root_is_gone_at_the_next_call_and_the_cwd_returns() {
    let world = World::new();
    let (a, b) = (directory(&world, "a"), directory(&world, "b"));
    std::fs::write(a.join("f"), "in a\n").unwrap();
    let offer = Offer::of(&[uri(&a)]);
    let mut server = world.server_with(&[], offer.options());
    assert_eq!(pwd(&mut server), text(&a));
    offer.change(&[uri(&b)]);
    server.notify("notifications/roots/list_changed", json!({}));
    let error = server.call("view", json!({"path": text(&a.join("f"))})).err();
    assert!(error.contains("is outside allowed directories"), "{error}");
    assert_eq!(pwd(&mut server), text(&b));
    let denied = server.bash(&format!("echo x > {}/g", text(&a))).ok();
    assert!(!denied.starts_with("exit_code: 0"), "{denied}");
    assert!(!a.join("g").exists());
}

#[test]
fn uris_are_decoded_and_those_that_name_no_directory_are_ignored() {
    let world = World::new();
    let odd = directory(&world, "My Proj#x é");
    let link = world.outside().join("link");
    std::os::unix::fs::symlink(&odd, &link).unwrap();
    let encoded = format!("file://{}", text(&odd).replace(' ', "%20").replace('#', "%23").replace('é', "%C3%A9"));
    let strange = ["https://example.test/x".to_owned(), "not a uri".to_owned(), "file:///does/not/exist".to_owned()];
    let uris: Vec<String> = strange.into_iter().chain([encoded.clone(), encoded]).collect();
    let mut server = world.server_with(&[], Offer::of(&uris).options());
    assert_eq!(pwd(&mut server), text(&odd));
    let mut linked = world.server_with(&[], Offer::of(&[uri(&link)]).options());
    assert_eq!(pwd(&mut linked), text(&link));
    linked.call("create_file", json!({"path": text(&link.join("by link")), "content": "x"})).ok();
    linked.call("view", json!({"path": text(&odd.join("by link"))})).ok();
}

#[test]
fn silence_errors_and_empty_lists_fall_back_to_the_flags() {
    for offered in [None, Some(json!({"roots": []})), Some(json!({"wrong": 1}))] {
        let world = World::new();
        let offer = Offer(Arc::new(Mutex::new(offered)));
        let mut server = world.server_with(&[], offer.options());
        assert_eq!(pwd(&mut server), text(&world.project()));
    }
}

#[test]
fn a_client_without_roots_and_the_newest_lifecycle_are_not_asked() {
    for modern in [false, true] {
        let world = World::new();
        let asked = Arc::new(Mutex::new(0));
        let count = asked.clone();
        let options = StartOptions {
            modern,
            answers: Arc::new(move |_, _| {
                *count.lock().unwrap() += 1;
                None
            }),
            ..StartOptions::default()
        };
        let mut server = world.server_with(&["--project-dir", &text(&world.outside())], options);
        assert_eq!(pwd(&mut server), text(&world.outside()));
        assert_eq!(*asked.lock().unwrap(), 0);
    }
}

#[test]
fn roots_outside_the_allowed_directories_are_ignored() {
    let world = World::new();
    let (inside, outside) = (directory(&world, "in"), world.project());
    let ceiling = text(&world.outside());
    let mut server = world.server_with(&["--allow-dir", &ceiling], Offer::of(&[uri(&outside), uri(&inside)]).options());
    assert_eq!(pwd(&mut server), text(&inside));
    assert!(
        until("the log", || Some(server.log()).filter(|log| log.contains("outside --allow-dir")))
            .contains(&text(&outside))
    );
}

#[test]
fn sessions_start_in_an_explicit_workdir_inside_the_scope() {
    let world = World::new();
    let sub = directory(&world, "a/sub");
    let root = world.outside().join("a");
    let mut server = world.server_with(&["--workdir", &text(&sub)], Offer::of(&[uri(&root)]).options());
    assert_eq!(pwd(&mut server), text(&sub));
}

#[test]
fn a_server_started_in_the_home_directory_has_no_project() {
    let world = World::new();
    std::fs::write(world.home().join("f"), "x").unwrap();
    let mut command = world.command(&[]);
    command.current_dir(world.home());
    let mut server = Client::connect(command, StartOptions::default());
    assert_eq!(pwd(&mut server), text(&world.home()));
    let error = server.call("view", json!({"path": "f"})).err();
    assert!(error.contains("is outside allowed directories") && error.contains("--project-dir"), "{error}");
    assert!(server.hello["instructions"].as_str().unwrap().contains("--project-dir"));
    let mut doctor = world.command(&["doctor"]);
    let output = doctor.current_dir(world.home()).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("--project-dir"));
}

#[test]
fn a_root_that_is_the_home_or_above_it_says_nothing() {
    let world = World::new();
    let home = world.home();
    for root in [home.as_path(), home.parent().unwrap(), Path::new("/")] {
        let mut command = world.command(&[]);
        command.current_dir(&home);
        let mut server = Client::connect(command, Offer::of(&[uri(root)]).options());
        assert_eq!(pwd(&mut server), text(&home));
        let error = server.call("create_file", json!({"path": "planted", "content": "x"})).err();
        assert!(error.contains("--project-dir"), "{error}");
        for path in [home.join("planted"), home.parent().unwrap().join("planted")] {
            // What a command writes into the home goes to a layer of its own.
            server.bash(&format!("echo x > {}", text(&path))).ok();
            assert!(!path.exists());
        }
    }
    let elsewhere = Offer::of(&[uri(Path::new("/")), uri(&home)]);
    assert_eq!(pwd(&mut world.server_with(&[], elsewhere.options())), text(&world.project()), "the flags decide");
    for flag in ["--project-dir", "--allow-dir"] {
        let mut server = world.server_with(&[flag, &text(&home)], Offer::of(&[uri(&home)]).options());
        assert_eq!(pwd(&mut server), text(&home));
        server.call("create_file", json!({"path": "named", "content": "x"})).ok();
    }
}

#[test]
fn without_roots_every_allowed_directory_is_in_scope() {
    let world = World::new();
    let (a, b) = (directory(&world, "a"), directory(&world, "b"));
    let mut server = world.server(&["--allow-dir", &text(&a), "--allow-dir", &text(&b)]);
    assert_eq!(pwd(&mut server), text(&a), "the launch directory is not one of them");
    for path in [a.join("x"), b.join("x")] {
        server.call("create_file", json!({"path": text(&path), "content": "x"})).ok();
        server.bash(&format!("echo more >> {}", text(&path))).ok();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "xmore\n");
    }
    let outside = world.project().join("x");
    server.call("create_file", json!({"path": text(&outside), "content": "x"})).err();
    let launched_inside = text(&world.project());
    let mut server = world.server(&["--allow-dir", &text(&b), "--allow-dir", &launched_inside]);
    assert_eq!(pwd(&mut server), launched_inside);
    server.call("create_file", json!({"path": text(&b.join("y")), "content": "x"})).ok();
}

/// The sandbox of a running process cannot be widened. Later commands run in a new sandbox; tasks stay in the old one.
#[test]
fn when_the_scope_widens_tasks_run_on_and_later_commands_reach_the_new_root() {
    let world = World::new();
    let (a, b) = (directory(&world, "a"), directory(&world, "b"));
    let offer = Offer::of(&[uri(&a)]);
    let mut server = world.server_with(&[], offer.options());
    let write_b = format!("echo x > {}/f", text(&b));
    assert_ne!(server.bash(&write_b).field("exit_code").as_deref(), Some("0"));
    server.call("bash", json!({"command": "read line; echo got $line > answer", "run_in_background": true})).ok();
    offer.change(&[uri(&a), uri(&b)]);
    server.notify("notifications/roots/list_changed", json!({}));
    let widened = server.bash(&write_b);
    assert_eq!(widened.field("exit_code").as_deref(), Some("0"), "{}", widened.text());
    assert!(widened.text().contains("the scope has changed: pids of earlier commands"), "{}", widened.text());
    assert!(!server.bash("true").text().contains("the scope has changed"), "this is reported once");
    server.call("task_input", json!({"task_id": "t1", "text": "it\n"})).ok();
    until("the task to write", || (std::fs::read_to_string(a.join("answer")).ok()? == "got it\n").then_some(()));
}
