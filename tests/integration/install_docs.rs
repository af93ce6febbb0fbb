//! What the documentation shows about clients is what `testudo install` writes.

use serde_json::Value;
use testudo::install::CLIENTS;

use crate::support::World;

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
