//! The published attacks on file tools, each tried on the real binary: refused, or without effect.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::{World, corpus, text};

/// Makes everything that the cases name: links out of the project, a loop, a FIFO, a device, a file of a terabyte.
fn prepare(world: &World) {
    let root = world.project();
    let evil = root.with_file_name(format!("{}-evil", root.file_name().unwrap().to_str().unwrap()));
    std::fs::create_dir(&evil).unwrap();
    std::fs::write(evil.join("secret.txt"), "canary").unwrap();
    std::fs::write(world.outside().join("x"), "canary").unwrap();
    std::fs::create_dir(world.home().join(".ssh")).unwrap();
    std::fs::write(world.home().join(".ssh/id_rsa"), "canary").unwrap();
    for (link, target) in [("link", "/"), ("l", "/etc/passwd"), ("zero", "/dev/zero"), ("loop", "loop")] {
        symlink(target, root.join(link)).unwrap();
    }
    symlink(world.outside(), root.join("d")).unwrap();
    let git = std::process::Command::new("git").args(["init", "-q"]).current_dir(&root).status();
    assert!(git.unwrap().success());
    let pipe = rustix::fs::Mode::RUSR;
    rustix::fs::mknodat(rustix::fs::CWD, root.join("fifo"), rustix::fs::FileType::Fifo, pipe, 0).unwrap();
    std::fs::File::create(root.join("sparse.bin")).unwrap().set_len(1 << 40).unwrap();
    world.file("a", "x");
}

/// The corpus names tools by what they do.
fn call(row: &Value) -> (&'static str, Value) {
    let input = &row["input"];
    match row["tool"].as_str().unwrap() {
        "read_file" | "list_dir" => ("view", input.clone()),
        "write_file" => ("create_file", input.clone()),
        "edit_file" => {
            ("str_replace", json!({"path": input["path"], "old_str": input["old"], "new_str": input["new"]}))
        }
        "git_add" => ("bash", json!({"command": format!("git add {}", input["paths"][0].as_str().unwrap())})),
        "git_diff" => ("bash", json!({"command": format!("git diff {}", input["target"].as_str().unwrap())})),
        other => panic!("the corpus has a new tool: {other}"),
    }
}

#[test]
fn no_published_path_leads_out() {
    let world = World::new();
    prepare(&world);
    let before = std::fs::read_to_string(world.project().join(".git/config")).unwrap();
    let root = text(&world.project());
    let shared_tmp = std::path::Path::new("/tmp").join(root.replace('/', "-"));
    let mut server = world.server(&["--allow", "git"]);
    let mut count = 0;
    for row in corpus().filter(|row| row["class"] == "path") {
        // A session has a /tmp of its own. The name is unique to this test, so a file of that name in the host's /tmp can only
        // come from here.
        let row = row.to_string().replace("$ROOT", &root).replace("/tmp/x", &text(&shared_tmp));
        let row: Value = serde_json::from_str(&row).unwrap();
        let (tool, arguments) = call(&row);
        let reply = server.call(tool, arguments);
        let shown = format!("{}: {}", row["id"], reply.text());
        assert!(!reply.text().contains("canary") && !reply.text().contains("root:"), "{shown}");
        let went_wrong = reply.is_error();
        assert!(row["must"] == "contain" || tool == "bash" || went_wrong, "{shown}");
        count += 1;
    }
    assert!(count >= 20, "{count}");
    assert!(!shared_tmp.exists());
    assert!(!world.project().join(".git/hooks/pre-commit").exists());
    assert_eq!(std::fs::read_to_string(world.project().join(".git/config")).unwrap(), before);
    assert_eq!(std::fs::read_to_string(world.outside().join("x")).unwrap(), "canary");
}
