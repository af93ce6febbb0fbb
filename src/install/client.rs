//! The clients, in the order in which `testudo install --list` shows them.

use super::location::Base::{Config, Desktop, Home, Variable};
use super::{Format, Location, Shape};

/// An MCP client that can start the server.
#[derive(Debug)]
pub struct Client {
    /// As on the command line.
    pub name: &'static str,
    pub title: &'static str,
    /// Other names that people write.
    pub aliases: &'static [&'static str],
    /// The programs by which one sees that the client is installed.
    pub programs: &'static [&'static str],
    /// The configuration of the person: the first that exists, else the first.
    pub user: &'static [(Location, Shape)],
    /// The same in a project. Empty if the client has none.
    pub project: &'static [&'static str],
    pub format: Format,
    /// The key of the table that holds the servers.
    pub servers: &'static str,
    /// Whether the client tells the server which project is open, or starts it there.
    pub knows_project: bool,
    /// What the person should know after the installation.
    pub note: Option<&'static str>,
}

pub const CLIENTS: &[Client] = &[
    Client {
        name: "claude-code",
        title: "Claude Code",
        aliases: &["claude"],
        programs: &["claude"],
        user: &[(Location::new(Variable("CLAUDE_CONFIG_DIR", ""), ".claude.json"), Shape::Typed)],
        project: &[".mcp.json"],
        format: Format::Json,
        servers: "mcpServers",
        knows_project: true,
        note: None,
    },
    Client {
        name: "claude-desktop",
        title: "Claude Desktop",
        aliases: &[],
        programs: &["claude-desktop"],
        user: &[(Location::new(Desktop, "Claude/claude_desktop_config.json"), Shape::Plain)],
        project: &[],
        format: Format::Json,
        servers: "mcpServers",
        knows_project: false,
        note: Some("restart Claude Desktop; it reads the file at its start"),
    },
    Client {
        name: "cursor",
        title: "Cursor",
        aliases: &[],
        programs: &["cursor"],
        user: &[(Location::new(Home, ".cursor/mcp.json"), Shape::Plain)],
        project: &[".cursor/mcp.json"],
        format: Format::Jsonc,
        servers: "mcpServers",
        knows_project: true,
        note: None,
    },
    Client {
        name: "vscode",
        title: "VS Code",
        aliases: &["code", "copilot", "visual-studio-code"],
        programs: &["code"],
        user: &[(Location::new(Desktop, "Code/User/mcp.json"), Shape::Typed)],
        project: &[".vscode/mcp.json"],
        format: Format::Jsonc,
        servers: "servers",
        knows_project: true,
        note: None,
    },
    Client {
        name: "codex",
        title: "Codex",
        aliases: &["codex-cli"],
        programs: &["codex"],
        user: &[(Location::new(Variable("CODEX_HOME", ".codex"), "config.toml"), Shape::Codex)],
        project: &[".codex/config.toml"],
        format: Format::Toml,
        servers: "mcp_servers",
        knows_project: true,
        note: Some(
            "default_tools_approval_mode = \"approve\" lets Codex call the tools without asking; the sandbox and the \
             policy of testudo still hold. Remove the line to be asked by Codex",
        ),
    },
    Client {
        name: "gemini",
        title: "Gemini CLI",
        aliases: &["gemini-cli"],
        programs: &["gemini"],
        user: &[(Location::new(Variable("GEMINI_CLI_HOME", ""), ".gemini/settings.json"), Shape::Plain)],
        project: &[".gemini/settings.json"],
        format: Format::Jsonc,
        servers: "mcpServers",
        knows_project: true,
        note: Some("Gemini CLI starts no server in a folder that it does not trust"),
    },
    Client {
        name: "zed",
        title: "Zed",
        aliases: &[],
        programs: &["zed", "zeditor"],
        user: &[(Location::new(Config, "zed/settings.json").or_on_windows(Desktop, "Zed/settings.json"), Shape::Plain)],
        project: &[".zed/settings.json"],
        format: Format::Jsonc,
        servers: "context_servers",
        knows_project: true,
        note: None,
    },
    Client {
        name: "goose",
        title: "Goose",
        aliases: &[],
        programs: &["goose"],
        user: &[(
            Location::new(Config, "goose/config.yaml").or_on_windows(Desktop, "Block/goose/config/config.yaml"),
            Shape::Goose,
        )],
        project: &[],
        format: Format::Yaml,
        servers: "extensions",
        knows_project: true,
        note: None,
    },
    Client {
        name: "opencode",
        title: "opencode",
        aliases: &[],
        programs: &["opencode"],
        // Where both exist, opencode lets the first win.
        user: &[
            (Location::new(Config, "opencode/opencode.jsonc"), Shape::OneList),
            (Location::new(Config, "opencode/opencode.json"), Shape::OneList),
        ],
        project: &["opencode.jsonc", "opencode.json"],
        format: Format::Jsonc,
        servers: "mcp",
        knows_project: true,
        note: None,
    },
    Client {
        name: "qwen",
        title: "Qwen Code",
        aliases: &["qwen-code"],
        programs: &["qwen"],
        user: &[(Location::new(Variable("QWEN_HOME", ".qwen"), "settings.json"), Shape::Plain)],
        project: &[".qwen/settings.json"],
        format: Format::Jsonc,
        servers: "mcpServers",
        knows_project: true,
        note: None,
    },
    Client {
        name: "cline",
        title: "Cline",
        aliases: &[],
        programs: &["cline"],
        user: &[
            (Location::new(Home, ".cline/data/settings/cline_mcp_settings.json"), Shape::Transport),
            (
                Location::new(
                    Desktop,
                    "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
                ),
                Shape::Timed,
            ),
        ],
        project: &[],
        format: Format::Json,
        servers: "mcpServers",
        knows_project: true,
        note: None,
    },
    Client {
        name: "windsurf",
        title: "Windsurf",
        aliases: &[],
        programs: &["windsurf"],
        user: &[(Location::new(Home, ".codeium/windsurf/mcp_config.json"), Shape::Plain)],
        project: &[],
        format: Format::Jsonc,
        servers: "mcpServers",
        knows_project: false,
        note: None,
    },
];

/// The client of that name. Case, blanks, hyphens and underscores do not matter: `Claude Code` is `claude-code`.
pub fn named(written: &str) -> Option<&'static Client> {
    let plain = |name: &str| name.to_lowercase().replace([' ', '-', '_', '.'], "");
    let wanted = plain(written);
    CLIENTS.iter().find(|client| {
        let mut names = [client.name, client.title].into_iter().chain(client.aliases.iter().copied());
        names.any(|name| plain(name) == wanted)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_however_they_are_written() {
        for (written, want) in [
            ("claude-code", Some("claude-code")),
            ("Claude Code", Some("claude-code")),
            ("claude", Some("claude-code")),
            ("claude_desktop", Some("claude-desktop")),
            ("VS Code", Some("vscode")),
            ("VSCode", Some("vscode")),
            ("gemini-cli", Some("gemini")),
            ("qwen-code", Some("qwen")),
            ("OpenCode", Some("opencode")),
            ("vim", None),
        ] {
            assert_eq!(named(written).map(|client| client.name), want, "{written}");
        }
    }
}
