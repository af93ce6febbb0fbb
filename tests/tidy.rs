//! House rules as tests: what ARCHITECTURE.md promises about the shape of the code is looked up in the code.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file below a folder, with its text.
fn sources(folder: &str) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut next = vec![root().join(folder)];
    while let Some(directory) = next.pop() {
        for entry in std::fs::read_dir(&directory).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                next.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                found.insert(path.strip_prefix(root()).unwrap().to_owned(), text);
            }
        }
    }
    found
}

/// The code of a file without its unit tests, which may use anything.
fn code(text: &str) -> &str {
    text.split("#[cfg(test)]").next().unwrap_or(text)
}

fn module_of(path: &Path) -> String {
    path.components().nth(1).unwrap().as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned()
}

/// The picture of ARCHITECTURE.md: rows of rooms, from the top down.
fn layers() -> Vec<Vec<String>> {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let picture = page.split("```layers\n").nth(1).expect("ARCHITECTURE.md has no picture of the layers");
    let rows = picture.split("```").next().unwrap().lines();
    rows.map(|row| row.split_whitespace().map(str::to_owned).collect()).collect()
}

/// Every use of one room in another that the picture does not allow.
fn forbidden_edges(layers: &[Vec<String>], sources: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let row_of = |room: &str| layers.iter().position(|row| row.iter().any(|name| name == room));
    let mut forbidden = Vec::new();
    for (path, text) in sources {
        let room = module_of(path);
        if room == "lib" {
            continue;
        }
        let own = row_of(&room).unwrap_or_else(|| panic!("{}: add {room} to the picture", path.display()));
        let lines = code(text).lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
        for (index, line) in lines {
            for (at, found) in line.match_indices("crate::") {
                let rest = &line[at + found.len()..];
                let used: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let allowed = used.is_empty() || used == room || row_of(&used).is_some_and(|row| row > own);
                if !allowed {
                    forbidden.push(format!("{}:{}: {room} must not know {used}", path.display(), index + 1));
                }
            }
        }
    }
    forbidden
}

#[test]
fn rooms_know_only_the_rows_below_them() {
    assert_eq!(forbidden_edges(&layers(), &sources("src")), Vec::<String>::new());
}

#[test]
fn an_edge_that_the_picture_forbids_is_found() {
    let edge = |path: &str, text: &str| {
        forbidden_edges(&layers(), &BTreeMap::from([(PathBuf::from(path), text.to_owned())])).len()
    };
    assert_eq!(edge("src/policy/rule.rs", "use crate::server::Session;"), 1, "upwards");
    assert_eq!(edge("src/policy/rule.rs", "let x = crate::sandbox::Mode::Off;"), 1, "sideways");
    assert_eq!(edge("src/server/server.rs", "use crate::tools::TOOLS;"), 1, "one row up");
    assert_eq!(edge("src/tools/bash.rs", "use crate::exec::Stdin;"), 0, "downwards");
}

#[test]
fn the_sdk_and_the_web_server_stay_in_their_folders() {
    for (path, text) in sources("src") {
        let module = module_of(&path);
        assert!(
            module == "transport" || !code(&text).contains("rmcp::"),
            "{}: rmcp belongs to transport/",
            path.display()
        );
        let web = ["transport", "console", "control"].contains(&module.as_str());
        assert!(
            web || !code(&text).contains("axum::"),
            "{}: axum belongs to transport/, console/ and control/",
            path.display()
        );
    }
}

#[test]
fn only_three_folders_hold_unsafe_code() {
    for (path, text) in sources("src") {
        let allowed = ["sandbox", "keeper", "exec"].contains(&module_of(&path).as_str());
        let found = text.lines().any(|line| line.contains("unsafe {") || line.contains("unsafe fn"));
        assert!(allowed || !found, "{}: unsafe code", path.display());
    }
}

/// Fails if a room outside the list uses one of the words.
fn assert_only_in(modules: &[&str], words: &[&str]) {
    for (path, text) in sources("src") {
        let used = words.iter().find(|word| code(&text).contains(**word));
        let allowed = modules.contains(&module_of(&path).as_str());
        assert!(allowed || used.is_none(), "{}: {} belongs to {modules:?}", path.display(), used.unwrap());
    }
}

#[test]
fn few_folders_start_processes_or_open_paths() {
    assert_only_in(&["exec", "keeper"], &["process::Command", "posix_spawn"]);
    assert_only_in(
        &[
            "files",
            "install",
            "exec",
            "config",
            "drafts",
            "gate",
            "inventory",
            "audit",
            "records",
            "control",
            "sandbox",
            "keeper",
            "base",
        ],
        &["std::fs::", "fs::read", "File::open", "rustix::fs::open"],
    );
}

#[test]
fn nothing_but_the_command_line_prints() {
    for (path, text) in sources("src") {
        let allowed = ["cli", "main"].contains(&module_of(&path).as_str());
        let prints = ["println!(", "print!(", "eprintln!(", "eprint!("].iter().any(|word| code(&text).contains(word));
        assert!(allowed || !prints, "{} prints", path.display());
    }
}

#[test]
fn the_policy_does_no_io_and_no_async() {
    for (path, text) in sources("src/policy") {
        for word in ["std::fs", "std::process", "tokio::", "async fn", "std::env"] {
            assert!(!code(&text).contains(word), "{}: {word}", path.display());
        }
    }
}

#[test]
fn a_file_is_read_in_one_sitting() {
    let all = ["src", "tests", "benches", "gateway"]
        .into_iter()
        .filter(|folder| root().join(folder).exists())
        .flat_map(sources);
    for (path, text) in all {
        let lines = text.lines().count();
        assert!(lines <= 400, "{} has {lines} lines", path.display());
    }
}

#[test]
fn every_integration_test_file_is_listed() {
    let main = std::fs::read_to_string(root().join("tests/integration/main.rs")).unwrap();
    for entry in std::fs::read_dir(root().join("tests/integration")).unwrap().flatten() {
        let name = entry.path().file_stem().unwrap().to_string_lossy().into_owned();
        let listed = name == "main" || main.contains(&format!("mod {name};"));
        assert!(listed, "tests/integration/{name} is not listed in main.rs and never runs");
    }
}

#[test]
fn no_test_is_ignored_and_nothing_is_left_undone() {
    for (path, text) in sources("src").into_iter().chain(sources("tests")).chain(sources("gateway")) {
        if path.ends_with("tidy.rs") {
            continue;
        }
        for word in ["#[ignore", "todo!(", "unimplemented!(", "dbg!("] {
            assert!(!text.contains(word), "{}: {word}", path.display());
        }
    }
}

/// `docs/tools.md` and `docs/configuration.md` are written by the code; `TESTUDO_BLESS=1 cargo test --test tidy` renews
/// them.
#[test]
fn the_reference_pages_are_in_step_with_the_code() {
    for (name, want) in
        [("tools.md", testudo::reference::tools()), ("configuration.md", testudo::reference::configuration())]
    {
        let path = root().join("docs").join(name);
        if std::env::var_os("TESTUDO_BLESS").is_some() {
            std::fs::write(&path, &want).unwrap();
        }
        let got = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(got == want, "docs/{name} is out of step; renew it with TESTUDO_BLESS=1 cargo test --test tidy");
    }
}
