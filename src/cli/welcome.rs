/// What a person sees who starts the server by hand: a server that waits in silence would look broken.
#[expect(clippy::print_stdout, reason = "it is for the person at the terminal")]
pub fn print() {
    let program = std::env::current_exe().map_or_else(|_| "testudo".to_owned(), |path| path.display().to_string());
    println!(
        r#"testudo gives an AI agent a shell, over MCP. A client starts it and talks to it on stdin and stdout;
on a terminal there is nobody to talk to, so here is how to connect one.

Claude Code:   claude mcp add testudo -- {program}
Codex:         codex mcp add testudo -- {program}
Gemini CLI:    gemini mcp add testudo {program}

Claude Desktop, Cursor, VS Code, Zed and others take this in their MCP configuration:

  {{ "mcpServers": {{ "testudo": {{ "command": "{program}", "args": ["--project-dir", "/path/to/project"] }} }} }}

Try a call yourself:   testudo call bash command='echo hello'
See what is enforced:  testudo doctor
All options:           testudo --help"#
    );
}
