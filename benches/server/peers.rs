//! The servers that people use instead. `benches/peers/install` puts them below `target/peers`, at the versions named there.

use std::path::{Path, PathBuf};

use anyhow::ensure;
use serde_json::json;

use crate::subject::{Call, FileTools, Subject};

pub fn all() -> anyhow::Result<Vec<Subject>> {
    let installed = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/peers");
    ensure!(installed.join("versions").is_file(), "the peers are not installed: run scripts/bench --peers");
    let program = |path: &str| installed.join(path).display().to_string();
    let node = |path: &str| vec!["node".to_owned(), program(&format!("node_modules/{path}"))];
    let desktop_commander = Subject {
        tool: "start_process".to_owned(),
        template: json!({ "command": "{command}", "timeout_ms": 60_000 }),
        files: Some(FileTools {
            edit: |path, old, new| ("edit_block", json!({ "file_path": path, "old_string": old, "new_string": new })),
            // Its search answers at once and is asked again for its results.
            find: None,
        }),
        ..Subject::new("Desktop Commander", node("@wonderwhy-er/desktop-commander/dist/index.js"))
    };
    let commands = Subject {
        tool: "run_command".to_owned(),
        ..Subject::new("mcp-server-commands", vec![program("node_modules/.bin/mcp-server-commands")])
    };
    // It takes words and has no shell.
    let shell_server = Subject {
        tool: "shell_execute".to_owned(),
        template: json!({ "command": ["{words}"], "directory": "{directory}" }),
        environment: vec![("ALLOW_COMMANDS", "true,cat,touch,mkdir,cp,sleep,setsid,head,seq")],
        ..Subject::new("mcp-shell-server", vec![program("venv/bin/mcp-shell-server")])
    };
    // Its sandbox is a program of the Codex CLI, which sends it along. It is measured without.
    let policy = json!({ "type": "danger-full-access" });
    let codex = Subject {
        tool: "shell".to_owned(),
        template: json!({ "command": "{command}", "workdir": "{directory}", "login": false }),
        first_request: Some((
            "codex/sandbox-state/update",
            json!({ "sandboxPolicy": policy, "codexLinuxSandboxExe": null, "sandboxCwd": "/" }),
        )),
        ..Subject::new("codex-shell-tool-mcp, no sandbox", node("@openai/codex-shell-tool-mcp/bin/mcp-server.js"))
    };
    let filesystem = Subject {
        shell: false,
        files: Some(FileTools { edit: edit_file, find: Some(search_files) }),
        ..Subject::new("server-filesystem", vec![program("node_modules/.bin/mcp-server-filesystem"), "/".to_owned()])
    };
    let words = vec![program("bin/rust-mcp-filesystem"), "--allow-write".to_owned(), "/".to_owned()];
    let rust_filesystem =
        Subject { files: filesystem.files, shell: false, ..Subject::new("rust-mcp-filesystem", words) };
    Ok(vec![desktop_commander, commands, shell_server, codex, filesystem, rust_filesystem])
}

fn edit_file(path: &Path, old: &str, new: &str) -> Call {
    ("edit_file", json!({ "path": path, "edits": [{ "oldText": old, "newText": new }] }))
}

fn search_files(directory: &Path, name: &str) -> Call {
    ("search_files", json!({ "path": directory, "pattern": format!("**/{name}") }))
}
