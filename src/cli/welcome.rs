use super::output;

/// Shown to a person who starts the server in a terminal. A server that waits in silence would look broken.
pub fn print() -> std::io::Result<()> {
    let program = std::env::current_exe().map_or_else(|_| "testudo".to_owned(), |path| path.display().to_string());
    output::print(&format!(
        r#"testudo gives an AI agent a shell and the files of a project, over MCP. An MCP client starts it and talks to it on
stdin and stdout. In a terminal there is no client, so here is how to connect one.

Claude Code:   claude mcp add testudo -- {program}
Codex:         codex mcp add testudo -- {program}
Gemini CLI:    gemini mcp add testudo {program}

Claude Desktop and Cursor take this in their MCP configuration. VS Code calls the outer key "servers" and Zed calls it
"context_servers":

  {{ "mcpServers": {{ "testudo": {{ "command": "{program}", "args": ["--project-dir", "/path/to/project"] }} }} }}

Make a call by hand:         testudo call bash command='echo hello'
See what is enforced here:   testudo doctor
List all options:            testudo --help"#
    ))
}
