//! Every command and configuration that the documentation shows is tried here.
//!
//! In a block marked `sh`, each line that starts `testudo` is run in a project; it must succeed, or give the verdict in the
//! comment behind it. A block marked `toml` is the configuration for the commands that follow it in its section. Of a command
//! in the middle of a sentence, the command line is checked.

use std::path::Path;
use std::process::{Output, Stdio};

use crate::support::{User, World, text};

/// Words of commands that go on, or that are about something which an empty project does not have. Their own tests run
/// them; here only the command line is checked.
const ONLY_PARSED: &[&str] =
    &["--follow", "--wait", "--transport", "watch", "console", "changes", "apply", "discard", "drafts", "q3fa29c"];

/// Programs besides testudo that the pages show. Others have to be added here, with what tries them.
const OTHERS: &[&str] = &[
    // scripts/test, and the scripts that build and test packages and images.
    "cargo",
    "git",
    "scripts/test",
    "scripts/build-release",
    "npx",
    "npm",
    "uvx",
    "pip",
    "pipx",
    "apt",
    "sudo",
    "dpkg",
    "docker",
    "podman",
    "kubectl",
    "systemctl",
    "curl",
    "tar",
    "install",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The pages with their names. The page of each client is held by `install_docs.rs`.
fn pages() -> Vec<(String, String)> {
    let mut names: Vec<String> = ["README.md", "SECURITY.md", "CONTRIBUTING.md"].map(str::to_owned).into();
    for folder in ["docs", "docs/decisions"] {
        let entries = std::fs::read_dir(root().join(folder)).unwrap().flatten();
        let files = entries.map(|entry| format!("{folder}/{}", entry.file_name().to_str().unwrap()));
        names.extend(files.filter(|name| Path::new(name).extension().is_some_and(|extension| extension == "md")));
    }
    names.into_iter().map(|name| (name.clone(), std::fs::read_to_string(root().join(name)).unwrap())).collect()
}

/// The blocks of code of a text: language and content.
fn blocks(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match line.strip_prefix("```") {
            Some(language) if !inside => found.push((language.to_owned(), String::new())),
            Some(_) => {}
            None if inside => found.last_mut().unwrap().1.push_str(&format!("{line}\n")),
            None => continue,
        }
        inside = inside != line.starts_with("```");
    }
    found
}

/// The lines of a shell block; a line that ends with a backslash goes on in the next.
fn lines(block: &str) -> Vec<String> {
    let joined = block.replace("\\\n", " ");
    joined.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}

/// The program of a line: its first word that is no assignment.
fn program(line: &str) -> &str {
    line.split_whitespace().find(|word| !word.split('/').next().unwrap().contains('=')).unwrap_or_default()
}

/// Runs a line in a shell that finds the program, in a project beside the home directory.
fn shell(world: &World, user: User, line: &str) -> Output {
    let built = match user {
        User::Tester => Path::new(env!("CARGO_BIN_EXE_testudo")).parent().unwrap().to_owned(),
        User::Nobody => world.project().parent().unwrap().to_owned(),
    };
    let path = format!("{}:{}", text(&built), std::env::var("PATH").unwrap());
    let mut command = user.shell(line);
    command.current_dir(world.project()).env_clear();
    command.env("PATH", path).env("HOME", world.home()).stdin(Stdio::null()).output().unwrap()
}

/// What a line must exit with: the verdict in its comment, or success.
fn expected(line: &str) -> i32 {
    let comment = line.rsplit_once(" # ").map(|(_, comment)| comment.trim());
    let verdict = ["allow", "ask", "deny"].iter().position(|verdict| Some(*verdict) == comment);
    verdict.map_or(0, |code| i32::try_from(code).unwrap())
}

fn try_line(world: &World, user: User, line: &str, place: &str) {
    let is_parsed = line.split(" # ").next().unwrap().split_whitespace().any(|word| ONLY_PARSED.contains(&word));
    let output = if is_parsed {
        shell(world, user, &format!("{} --help", line.split(" # ").next().unwrap()))
    } else {
        shell(world, user, line)
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let code = if is_parsed { 0 } else { expected(line) };
    assert_eq!(output.status.code(), Some(code), "{place}: {line}\n{said}");
}

/// Runs everything that a page shows, and counts it.
fn try_page(name: &str, page: &str, user: User) -> usize {
    let (world, mut tried) = (user.world(), 0);
    let prepared = "mkdir -p ~/code/app ~/.config/testudo";
    assert!(shell(&world, user, prepared).status.success());
    let file = world.home().join(".config/testudo/config.toml");
    for section in page.split("\n## ") {
        let place = format!("{name}, {}", section.lines().next().unwrap_or_default());
        let _ = std::fs::remove_file(&file);
        for (language, block) in blocks(section) {
            match language.as_str() {
                // The gateway has a configuration of its own, and tests its page itself.
                "toml" if !["docs/clients.md", "docs/gateway.md"].contains(&name) => {
                    std::fs::write(&file, &block).unwrap();
                    try_line(&world, user, "testudo explain true", &format!("{place}\n{block}"));
                }
                "sh" => {
                    for line in lines(&block) {
                        let program = program(&line);
                        if program == "testudo" {
                            try_line(&world, user, &line, &place);
                            tried += 1;
                        } else {
                            assert!(OTHERS.contains(&program), "{place}: what tries {line:?}?");
                        }
                    }
                }
                "json" => {
                    let parsed: Result<serde_json::Value, _> = serde_json::from_str(&block);
                    assert!(parsed.is_ok(), "{place}: {parsed:?}\n{block}");
                }
                _ => {}
            }
        }
    }
    tried
}

#[test]
fn every_command_and_configuration_in_the_documentation_works() {
    let tried: usize = pages().iter().map(|(name, page)| try_page(name, page, User::Tester)).sum();
    assert!(tried >= 80, "only {tried} commands were tried");
}

/// What a newcomer reads first.
#[test]
fn an_ordinary_user_can_follow_the_first_pages() {
    for (name, page) in pages() {
        if ["README.md", "docs/getting-started.md", "docs/troubleshooting.md"].contains(&name.as_str()) {
            assert!(try_page(&name, &page, *User::all().last().unwrap()) > 0, "{name} shows no command");
        }
    }
}

/// Commands between backticks in sentences and tables.
#[test]
fn every_command_in_the_middle_of_a_sentence_has_a_valid_command_line() {
    let (world, mut tried) = (World::new(), 0);
    for (name, page) in pages() {
        let prose: String = page.split("\n```").step_by(2).collect();
        for span in prose.split('`').skip(1).step_by(2).filter(|span| span.starts_with("testudo ")) {
            // A word in capitals stands for what the reader fills in. What follows `--` is for another program.
            let span = span.replace('\n', " ").replace("CLIENT", "cursor").replace("SHELL", "bash");
            let words = span.split(" -- ").next().unwrap().replace(['…', '[', ']', '(', ')'], "").replace("...", "");
            let output = shell(&world, User::Tester, &format!("{words} --help"));
            assert!(output.status.success(), "{name}: {span}\n{}", String::from_utf8_lossy(&output.stderr));
            tried += 1;
        }
    }
    assert!(tried >= 50, "only {tried} commands were found");
}

/// A link to a page or a heading that is not there misleads.
#[test]
fn every_link_between_the_pages_leads_somewhere() {
    for (name, page) in pages() {
        let folder = root().join(&name).parent().unwrap().to_owned();
        for target in page.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = target.split('#').next().unwrap();
            let is_elsewhere = target.contains("://") || target.contains(char::is_whitespace) || path.is_empty();
            assert!(is_elsewhere || folder.join(path).exists(), "{name}: {target}");
        }
    }
}

/// The table of the threat model names tests in its last column.
#[test]
fn every_claim_of_the_threat_model_is_held_by_tests_that_exist() {
    let page = std::fs::read_to_string(root().join("docs/threat-model.md")).unwrap();
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() >= 10, "{page}");
    for row in rows {
        let held_by = row.trim_end_matches(" |").rsplit(" | ").next().unwrap();
        let tests: Vec<&str> = held_by.split('`').filter(|word| word.contains("::")).collect();
        assert!(!tests.is_empty(), "no test holds this: {row}");
        for test in tests {
            let (file, function) = test.split_once("::").unwrap();
            let source = std::fs::read_to_string(root().join(format!("tests/integration/{file}.rs")));
            let source = source.unwrap_or_else(|_| panic!("there is no tests/integration/{file}.rs: {row}"));
            assert!(source.contains(&format!("fn {function}(")), "there is no test {test}: {row}");
        }
    }
}
