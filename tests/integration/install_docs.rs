//! What the documentation shows about clients is what `testudo install` writes.

use serde_json::Value;
use testudo::install::CLIENTS;

use crate::support::{World, text};

fn page(name: &str) -> String {
    std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// The first block of code below a heading.
fn snippet(page: &str, title: &str) -> String {
    let section = page.split("\n## ").find(|section| section.starts_with(&format!("{title}\n")));
    let section = section.unwrap_or_else(|| panic!("docs/clients.md has no section {title}"));
    let block = section.split("\n```").nth(1).unwrap_or_else(|| panic!("{title} has no block of code"));
    block.split_once('\n').unwrap().1.to_owned()
}

#[test]
fn the_documented_entry_of_each_client_is_what_install_writes() {
    let clients = page("docs/clients.md");
    for client in CLIENTS {
        let world = World::new();
        let output = world.run(&["install", client.name, "--print"]);
        let diff = String::from_utf8(output.stdout).unwrap();
        let added =
            diff.lines().filter(|line| line.starts_with('+') && !line.starts_with("+++")).map(|line| &line[1..]);
        let written =
            added.collect::<Vec<_>>().join("\n").replace(env!("CARGO_BIN_EXE_testudo"), "/usr/local/bin/testudo");
        let read = |text: &str| -> Value { client.format.read(text).unwrap_or_else(|fault| panic!("{fault}: {text}")) };
        assert_eq!(read(&snippet(&clients, client.title)), read(&written), "{}", client.title);
    }
}

/// The lines of the shell blocks of a page that start the program.
fn commands(page: &str) -> Vec<String> {
    let blocks = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    blocks.flat_map(str::lines).filter(|line| line.starts_with("testudo ")).map(str::to_owned).collect()
}

/// Runs a line of a page in a shell that finds the program, in a project below the home directory.
fn shell(world: &World, line: &str) -> std::process::Output {
    let built = std::path::Path::new(env!("CARGO_BIN_EXE_testudo")).parent().unwrap();
    let path = format!("{}:{}", text(built), std::env::var("PATH").unwrap());
    let mut command = std::process::Command::new("bash");
    command.args(["-c", line]).current_dir(world.project()).env_clear();
    command.env("PATH", path).env("HOME", world.home()).stdin(std::process::Stdio::null()).output().unwrap()
}

#[test]
fn the_documented_commands_run() {
    for name in ["README.md", "docs/clients.md", "docs/getting-started.md", "docs/troubleshooting.md"] {
        let world = World::new();
        std::fs::create_dir_all(world.home().join("code/app")).unwrap();
        let commands = commands(&page(name));
        assert!(!commands.is_empty(), "{name} shows no command");
        for line in commands {
            let output = shell(&world, &line);
            assert!(output.status.success(), "{name}: {line}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

/// In `docs/cookbook.md`, the lines below each configuration say what `testudo explain` answers with it.
#[test]
fn the_recipes_of_the_cookbook_decide_as_they_say() {
    let cookbook = page("docs/cookbook.md");
    let mut judged = 0;
    for recipe in cookbook.split("\n## ").skip(1) {
        let Some(configuration) = recipe.split("```toml\n").nth(1) else { continue };
        let world = World::new();
        let file = world.home().join(".config/testudo/config.toml");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, configuration.split("```").next().unwrap()).unwrap();
        for line in commands(recipe) {
            let want = line.rsplit("# ").next().unwrap().trim().to_owned();
            let code = ["allow", "ask", "deny"].iter().position(|verdict| *verdict == want);
            let output = shell(&world, &line);
            let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code().map(|code| usize::try_from(code).unwrap()), code, "{line}\n{said}");
            judged += 1;
        }
    }
    assert!(judged >= 15, "only {judged} commands were judged");
}
