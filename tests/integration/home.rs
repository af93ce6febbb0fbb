//! A home of its own: what commands write there is kept for the project, and the real home stays as it is.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use crate::support::{Client, Inside, Level, StartOptions, World, text, until};

const NOBODY: u32 = 65534;

/// At level full, as the user who runs the tests and as nobody.
fn as_both(settings: &str, check: impl Fn(&mut Inside)) {
    for nobody in [false, true] {
        check(&mut Inside::new(Level::Full, nobody, settings, &[]));
    }
}

/// Everything in a home but testudo's own files.
fn names(home: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(home).unwrap().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.retain(|name| ![".cache", ".local"].contains(&name.as_str()));
    names.sort();
    names
}

#[test]
fn what_commands_write_is_kept_for_the_project_and_not_in_the_real_home() {
    as_both("", |inside| {
        inside.home_file(".gitconfig", "[user]\n\tname = me\n");
        let before = names(&inside.world.home());
        inside.does(
            "git config --global user.email a@b && mkdir -p ~/.local/bin ~/.anything/deep && echo 'echo mine' > \
             ~/.local/bin/tool && chmod +x ~/.local/bin/tool && ~/.local/bin/tool && echo x >> ~/.bashrc",
        );
        assert_eq!(inside.does("git config --global user.name; git config --global user.email"), "me\na@b\n");
        assert_eq!(names(&inside.world.home()), before);
        assert!(!inside.world.home().join(".local/bin").exists());
        assert_eq!(std::fs::read_to_string(inside.world.home().join(".gitconfig")).unwrap(), "[user]\n\tname = me\n");
        // A later server of the same project finds it again; one of another project does not.
        let config = text(&inside.world.outside().join("config.toml"));
        inside.reconnect(&["--config", &config]);
        assert_eq!(inside.does("~/.local/bin/tool; cat ~/.bashrc"), "mine\nx\n");
        let other = text(&inside.world.outside());
        inside.reconnect(&["--project-dir", &other]);
        inside.cannot("test -e ~/.bashrc");
    });
}

#[test]
fn two_sessions_and_two_servers_share_one_home() {
    as_both("", |inside| {
        let config = text(&inside.world.outside().join("config.toml"));
        inside.does("echo one > ~/a");
        let other = inside.client.call("bash", json!({"command": "cat ~/a && echo two > ~/b", "session": "other"}));
        assert_eq!(other.stdout(), "one\n");
        let first = std::mem::replace(&mut inside.client, World::new().server(&[]));
        inside.reconnect(&["--config", &config]);
        let (mut first, mut second) = (first, std::mem::replace(&mut inside.client, World::new().server(&[])));
        assert_eq!(second.bash("cat ~/a ~/b && echo three > ~/c").stdout(), "one\ntwo\n");
        assert_eq!(first.bash("cat ~/c").stdout(), "three\n");
        // The mount does not go with the server that made it.
        first.hang_up();
        first.wait_for_exit();
        assert_eq!(second.bash("cat ~/a ~/c && echo four > ~/d").stdout(), "one\nthree\n");
        inside.reconnect(&["--config", &config]);
        assert_eq!(inside.does("cat ~/d"), "four\n");
        second.kill();
        assert_eq!(inside.does("echo five > ~/e; cat ~/e"), "five\n");
        inside.client.kill();
        inside.reconnect(&["--config", &config]);
        assert_eq!(inside.does("cat ~/a ~/b ~/c ~/d ~/e"), "one\ntwo\nthree\nfour\nfive\n");
        assert_eq!(names(&inside.world.home()), Vec::<String>::new());
    });
}

#[test]
fn servers_that_start_at_the_same_time_share_it_too() {
    let world = World::new();
    let mut servers: Vec<Client> = std::thread::scope(|scope| {
        let starting: Vec<_> = (0..4).map(|_| scope.spawn(|| world.server(&[]))).collect();
        starting.into_iter().map(|server| server.join().unwrap()).collect()
    });
    for (index, server) in servers.iter_mut().enumerate() {
        assert_eq!(server.bash(&format!("echo {index} >> ~/all")).field("exit_code").as_deref(), Some("0"));
    }
    for server in &mut servers {
        assert_eq!(server.bash("sort ~/all").stdout(), "0\n1\n2\n3\n");
    }
}

#[test]
fn a_project_inside_the_home_is_the_real_one() {
    as_both("", |inside| {
        let project = inside.home_file("code/p/there", "x").parent().unwrap().to_owned();
        inside.reconnect(&["--project-dir", &text(&project)]);
        inside.does("cat there && echo y > made && echo z > ~/z && echo z > ~/code/z && cd ~/code/p && ls made");
        assert!(project.join("made").exists());
        assert!(!inside.world.home().join("z").exists() && !inside.world.home().join("code/z").exists());
        assert_eq!(inside.client.call("view", json!({"path": text(&project.join("made"))})).ok(), "1\ty\n");
    });
}

#[test]
fn removing_the_home_harms_nobody() {
    as_both("", |inside| {
        inside.home_file("precious", "x");
        inside.home_file(".config/deep/f", "x");
        inside.bash("rm -rf ~; rm -rf ~/.* ~/*");
        assert_eq!(inside.does("ls -A ~ | grep -v -e .local -e .cache; true"), "");
        assert!(inside.world.home().join("precious").exists() && inside.world.home().join(".config/deep/f").exists());
        // Emptying the layer brings the home back.
        let config = text(&inside.world.outside().join("config.toml"));
        inside.client.hang_up();
        inside.client.wait_for_exit();
        inside.reconnect(&["--config", &config]);
        inside.cannot("test -e ~/precious");
        inside.client.kill();
        let user = format!("--reuid={NOBODY}");
        let mut reset = if inside.nobody {
            inside.world.command_by(&["setpriv", &user, "--clear-groups"], &["home", "--reset"])
        } else {
            inside.world.command(&["home", "--reset"])
        };
        let reset = reset.output().unwrap();
        assert!(reset.status.success(), "{reset:?}");
        inside.reconnect(&["--config", &config]);
        inside.does("test -e ~/precious");
    });
}

#[test]
fn a_home_behind_a_link_is_private_too() {
    let world = World::new();
    let link = world.outside().join("link");
    symlink(world.home(), &link).unwrap();
    let mut command = world.command(&[]);
    command.env("HOME", &link);
    let mut server = Client::connect(command, StartOptions::default());
    assert_eq!(server.bash("echo x > ~/new && cat ~/new").stdout(), "x\n");
    assert_eq!(server.bash(&format!("cat {}/new", world.home().display())).stdout(), "x\n");
    assert!(!world.home().join("new").exists());
}

#[test]
fn where_no_layer_can_be_kept_the_home_is_read_only_and_doctor_says_so() {
    let world = World::new();
    std::fs::write(world.home().join("f"), "x").unwrap();
    // The state directory cannot be created below a file.
    let start = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        command.env("XDG_STATE_HOME", world.home().join("f"));
        command
    };
    let mut server = Client::connect(start(&[]), StartOptions::default());
    let reply = server.bash("cat ~/f; echo x > ~/new");
    assert_eq!(reply.field("exit_code").as_deref(), Some("1"), "{}", reply.text());
    let doctor = String::from_utf8(start(&["doctor"]).output().unwrap().stdout).unwrap();
    assert!(doctor.contains("\nhome            read-only except for tool caches"), "{doctor}");
    assert!(server.bash("mkdir -p ~/.npm/_cacache && touch ~/.npm/_cacache/x").text().contains("exit_code: 0"));
}

#[test]
fn the_setting_turns_it_off() {
    as_both("home = \"read-only\"", |inside| {
        let secret = text(&inside.home_file(".netrc", "canary"));
        let denied = inside.cannot("echo x > ~/new");
        assert!(denied.contains("Read-only file system"), "{denied}");
        inside.cannot(&format!("cat {secret}"));
    });
}

#[test]
fn a_large_home_costs_nothing_at_the_start() {
    let world = World::new();
    let many = world.home().join("many");
    std::fs::create_dir(&many).unwrap();
    for number in 0..20_000 {
        std::fs::File::create(many.join(number.to_string())).unwrap();
    }
    let mut server = world.server(&[]);
    server.bash("true").ok();
    let layer = std::fs::read_dir(world.home().join(".local/state/testudo/homes")).unwrap().flatten().next().unwrap();
    assert_eq!(std::fs::read_dir(layer.path().join("upper")).unwrap().count(), 0, "nothing is copied");
    assert_eq!(server.bash("ls ~/many | wc -l").stdout(), "20000\n");
}

#[test]
fn the_homes_can_be_listed_and_one_in_use_is_not_emptied() {
    let world = World::new();
    let mut server = world.server(&[]);
    server.bash("mkdir ~/.tool && head -c 100000 /dev/urandom > ~/.tool/data").ok();
    let run = |arguments: &[&str]| {
        let output = world.run(arguments);
        (
            output.status.success(),
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (_, listed) = run(&["home", "--list"]);
    assert!(listed.starts_with(&format!("{}\n", world.project().display())), "{listed}");
    assert!(listed.contains("in use") && listed.contains("\n    .tool  "), "{listed}");
    let (_, doctor) = run(&["doctor"]);
    assert!(doctor.contains("\nhome            private, ") && doctor.contains(" KB of 20 GB"), "{doctor}");
    let (emptied, refused) = run(&["home", "--reset"]);
    assert!(!emptied && refused.contains("is in use"), "{refused}");
    assert_eq!(server.bash("ls ~/.tool").stdout(), "data\n");
    server.hang_up();
    server.wait_for_exit();
    let (emptied, told) = run(&["home", "--reset", "--all"]);
    assert!(emptied && told.contains("emptied the private home of"), "{told}");
    assert!(run(&["home"]).1.contains("no project has a private home yet"));
}

#[test]
fn a_full_home_becomes_read_only_and_says_so() {
    let world = World::new();
    let config = world.outside().join("config.toml");
    std::fs::write(&config, "[sandbox.limits]\nhome = \"100KB\"\n").unwrap();
    let mut server = world.server(&["--config", config.to_str().unwrap()]);
    server.bash("head -c 300000 /dev/urandom > ~/large").ok();
    let told = until("the home to be full", || {
        let reply = server.bash("true").ok();
        reply.contains("private home of this project is full").then_some(reply)
    });
    assert!(told.contains("testudo home --reset"), "{told}");
    assert_eq!(server.bash("echo x > ~/more").field("exit_code").as_deref(), Some("1"));
}

/// Programs that want a home of their own, as issue reports name them.
#[test]
fn tools_that_install_into_the_home_work() {
    as_both("", |inside| {
        inside.does(
            "mkdir tool && echo '{\"name\": \"tool\", \"version\": \"1.0.0\", \"bin\": {\"tool\": \"t.js\"}}' > tool/package.json \
             && printf '#!/usr/bin/env node\\nconsole.log(\"ran\")\\n' > tool/t.js && chmod +x tool/t.js",
        );
        inside.does("npm config set fund false && grep -q fund=false ~/.npmrc");
        assert!(inside.does("npx --offline --yes ./tool 2>&1").contains("ran"));
        inside.does("python3 -m venv --without-pip ~/.local/share/v && ~/.local/share/v/bin/python -c 'print(1)'");
        assert_eq!(names(&inside.world.home()), Vec::<String>::new());
    });
}

/// Cargo moves the program from a directory of its own into `bin`, as `uv` moves archives: nothing may look like a second
/// device. Only as the user who tests: rustup installs cargo where no other user may enter.
#[test]
fn cargo_installs_into_the_home() {
    let mut inside = Inside::new(Level::Full, false, "", &[]);
    inside.world.file("Cargo.toml", "[package]\nname = \"hello\"\nedition = \"2021\"\n[workspace]\n");
    inside.world.file("src/main.rs", "fn main() { println!(\"installed\"); }\n");
    let program = env!("CARGO");
    let tools = Path::new(program).parent().unwrap().display();
    inside.does(&format!("CARGO_HOME=~/.cargo PATH={tools}:$PATH {program} install --offline --path . 2>&1"));
    assert_eq!(inside.does("~/.cargo/bin/hello"), "installed\n");
    assert!(!inside.world.home().join(".cargo").exists());
}

/// A rule that allows a program means the person's own, and not what a command has put into the layer.
#[test]
fn a_program_in_the_layer_is_not_the_one_that_a_rule_allows() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    let bin = world.home().join("bin");
    std::fs::create_dir(&bin).unwrap();
    for name in ["mine", "kept"] {
        std::fs::write(bin.join(name), "#!/bin/sh\necho real\n").unwrap();
        std::fs::set_permissions(bin.join(name), PermissionsExt::from_mode(0o755)).unwrap();
    }
    let start = |arguments: &[&str]| {
        let mut command = world.command(arguments);
        let inherited = std::env::var_os("PATH").unwrap();
        let path = [bin.clone()].into_iter().chain(std::env::split_paths(&inherited));
        command.env("PATH", std::env::join_paths(path).unwrap());
        Client::connect(command, StartOptions::default())
    };
    let mut server = start(&[]);
    let plant =
        "for name in mine ls new; do printf '#!/bin/sh\\necho planted\\n' > ~/bin/$name; chmod +x ~/bin/$name; done";
    server.bash(plant).ok();
    assert_eq!(server.bash("mine; ls; new; kept").stdout(), "planted\nplanted\nplanted\nreal\n");
    drop(server);
    let mut server = start(&["--allow", "mine", "--allow", "kept", "--allow", "ls", "--allow", "new"]);
    assert_eq!(server.bash("kept").stdout(), "real\n");
    for name in ["mine", "new", "~/bin/mine"] {
        let refused = server.bash(name).err();
        assert!(!refused.contains("planted"), "{name}: {refused}");
    }
    world.file("a-file", "");
    assert_eq!(server.bash("ls").stdout(), "a-file\n", "the program that the rule means");
}

/// In most containers the root file system is an overlay, which cannot hold the upper layer of another one.
#[test]
fn on_an_overlay_the_home_is_read_only_and_its_secrets_are_hidden() {
    let world = World::new();
    for name in ["lower", "upper", "work"] {
        std::fs::create_dir(world.outside().join(name)).unwrap();
    }
    std::fs::write(world.outside().join("lower/.netrc"), "canary").unwrap();
    let (outside, home) = (text(&world.outside()), text(&world.home()));
    let mount = format!(
        "mount -t overlay o -o lowerdir={outside}/lower,upperdir={outside}/upper,workdir={outside}/work {home} && exec \"$0\" \"$@\""
    );
    let words = ["unshare", "-m", "sh", "-c", &mount];
    let doctor = world.command_by(&words, &["doctor"]).output().unwrap();
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    assert!(doctor.contains("read-only except for tool caches: no layer can be mounted over it here"), "{doctor}");
    let mut server = Client::connect(world.command_by(&words, &[]), StartOptions::default());
    let reply = server.bash("cat ~/.netrc; echo x > ~/new");
    assert!(!reply.text().contains("canary"), "{}", reply.text());
    assert_eq!(reply.field("exit_code").as_deref(), Some("1"), "{}", reply.text());
    assert_eq!(server.bash("touch ~/.npm/_cacache/x").field("exit_code").as_deref(), Some("0"));
}

#[test]
fn a_file_system_that_is_mounted_in_the_home_is_shown_without_its_secrets() {
    let world = World::new();
    ["data", ".config", ".ssh"].iter().for_each(|name| std::fs::create_dir(world.home().join(name)).unwrap());
    let home = text(&world.home());
    let mount = format!(
        "cd {home} && for at in data .config .ssh; do mount -t tmpfs t $at; done && echo shown > data/f && mkdir .config/gh \
         .config/git && echo canary > .config/gh/hosts.yml && echo shown > .config/git/ignore && echo canary > .ssh/id_rsa && \
         cd {} && exec \"$0\" \"$@\"",
        text(&world.project())
    );
    let command = world.command_by(&["unshare", "-m", "sh", "-c", &mount], &[]);
    let mut server = Client::connect(command, StartOptions::default());
    assert_eq!(server.bash("cat ~/data/f ~/.config/git/ignore").stdout(), "shown\nshown\n");
    let reply = server.bash("cat ~/.config/gh/hosts.yml ~/.ssh/id_rsa; echo x > ~/new && cat ~/new");
    assert!(!reply.text().contains("canary"), "{}", reply.text());
    assert!(reply.stdout().starts_with("x\n"), "{}", reply.text());
    assert!(!world.home().join("new").exists());
}

/// The kernel lets nobody but root mount an overlay over a directory in which something is mounted.
#[test]
fn a_file_system_in_the_home_of_an_ordinary_user_makes_it_read_only() {
    let world = World::for_user(NOBODY);
    std::fs::create_dir(world.home().join("data")).unwrap();
    std::fs::write(world.home().join(".netrc"), "canary").unwrap();
    let mount = format!(
        "mount -t tmpfs t {}/data && exec setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups \"$0\" \"$@\"",
        text(&world.home())
    );
    let words = ["unshare", "-m", "sh", "-c", &mount];
    let doctor = world.command_by(&words, &["doctor"]).output().unwrap();
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    assert!(doctor.contains("level full") && doctor.contains("a file system is mounted below it"), "{doctor}");
    let mut server = Client::connect(world.command_by(&words, &[]), StartOptions::default());
    let reply = server.bash("cat ~/.netrc; echo x > ~/new");
    assert!(!reply.text().contains("canary"), "{}", reply.text());
    assert_eq!(reply.field("exit_code").as_deref(), Some("1"), "{}", reply.text());
    assert!(!world.home().join("new").exists());
}

/// What the person runs outside later must not be writable: programs that tools run in place, and stores whose files other
/// projects share by hard links.
#[test]
fn where_the_home_is_not_private_no_cache_holds_what_runs_outside() {
    let content = [".cargo/registry", ".npm/_cacache", ".cache/pip", ".cache/go-build", "go/pkg/mod", ".cache/ccache"];
    let run = [
        ".cache/pre-commit/repo/bin",
        ".cache/uv/environments-v2/e/bin",
        ".cache/uv/archive-v0/a",
        ".cache/bazel/install",
        ".nuget/packages/p/build",
        ".cache/pnpm",
        ".local/share/pnpm/store/v3",
        ".bun/install/cache/p",
        ".cache/deno",
        ".cache/zig",
        ".npm/_npx/1/node_modules/.bin",
        ".cache/pypoetry/virtualenvs/v/bin",
        ".cargo/bin",
        "go/bin",
        ".local/bin",
    ];
    for nobody in [false, true] {
        for (level, settings) in [(Level::Landlock, ""), (Level::Full, "home = \"read-only\"")] {
            let mut inside = Inside::new(level, nobody, settings, &[]);
            for name in content.into_iter().chain(run) {
                inside.home_file(&format!("{name}/tool"), "the person's own\n");
            }
            let config = text(&inside.world.outside().join("config.toml"));
            inside.reconnect(&["--config", &config]);
            for name in content {
                inside.does(&format!("echo x > ~/{name}/new"));
            }
            for name in run {
                inside.cannot(&format!("echo x > ~/{name}/new"));
                inside.cannot(&format!("echo x >> ~/{name}/tool"));
                let tool = std::fs::read_to_string(inside.world.home().join(name).join("tool")).unwrap();
                assert_eq!(tool, "the person's own\n", "{name}");
            }
        }
    }
}
