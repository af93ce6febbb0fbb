use super::output;

/// Shown to a person who starts the server in a terminal. A server that waits in silence would look broken.
pub fn print() -> std::io::Result<()> {
    let program = std::env::current_exe().map_or_else(|_| "testudo".to_owned(), |path| path.display().to_string());
    output::print(&format!(
        r"testudo gives an AI agent a shell and the files of a project, over MCP. An MCP client starts it and talks to it on
stdin and stdout. In a terminal there is no client, so here is how to connect one.

See which clients are here:  {program} install --list
Connect one of them:         {program} install claude-code
Show the change first:       {program} install claude-code --print

Clients with a command of their own for it:

  claude mcp add testudo -- {program}
  codex mcp add testudo -- {program}
  gemini mcp add testudo {program}

Make a call by hand:         testudo call bash command='echo hello'
See what is enforced here:   testudo doctor
List all options:            testudo --help"
    ))
}
