use std::path::PathBuf;

use super::{Machine, Platform};

/// Where a client keeps its configuration.
#[derive(Clone, Copy, Debug)]
pub struct Location {
    pub base: Base,
    /// Below the base.
    pub path: &'static str,
    /// Where it is on Windows, if that follows another rule.
    pub windows: Option<(Base, &'static str)>,
}

#[derive(Clone, Copy, Debug)]
pub enum Base {
    Home,
    /// `$XDG_CONFIG_HOME`, else `~/.config`.
    Config,
    /// Where desktop programs keep their settings: `~/.config`, `~/Library/Application Support` or `%APPDATA%`.
    Desktop,
    /// The directory that this variable names, else this one below the home directory.
    Variable(&'static str, &'static str),
}

impl Location {
    pub const fn new(base: Base, path: &'static str) -> Self {
        Self { base, path, windows: None }
    }

    #[must_use]
    pub const fn or_on_windows(self, base: Base, path: &'static str) -> Self {
        Self { windows: Some((base, path)), ..self }
    }

    /// `None` without a home directory.
    pub fn on(&self, machine: &Machine) -> Option<PathBuf> {
        let here = (self.base, self.path);
        let (base, path) = self.windows.filter(|_| machine.platform == Platform::Windows).unwrap_or(here);
        Some(base.on(machine)?.join(path))
    }
}

impl Base {
    fn on(self, machine: &Machine) -> Option<PathBuf> {
        let home = machine.home();
        let config = || machine.directory("XDG_CONFIG_HOME").or_else(|| Some(home.clone()?.join(".config")));
        match (self, machine.platform) {
            (Self::Home, _) => home,
            (Self::Config, _) | (Self::Desktop, Platform::Linux) => config(),
            (Self::Desktop, Platform::MacOs) => Some(home?.join("Library/Application Support")),
            (Self::Desktop, Platform::Windows) => {
                machine.directory("APPDATA").or_else(|| Some(home?.join("AppData/Roaming")))
            }
            (Self::Variable(name, below_home), _) => machine.directory(name).or_else(|| Some(home?.join(below_home))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::install::named;

    fn at(platform: Platform, variables: &[(&str, &str)], client: &str) -> PathBuf {
        let environment = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let machine = Machine { platform, environment, project: "/p".into() };
        named(client).unwrap().user[0].0.on(&machine).unwrap()
    }

    #[test]
    fn each_platform_has_its_own_locations() {
        let (linux, mac, windows) = (
            (Platform::Linux, &[("HOME", "/h")][..]),
            (Platform::MacOs, &[("HOME", "/h")][..]),
            // Written as this machine writes absolute paths.
            (Platform::Windows, &[("USERPROFILE", "/u"), ("APPDATA", "/u/Roaming")][..]),
        );
        for ((platform, variables), client, want) in [
            (linux, "claude-desktop", "/h/.config/Claude/claude_desktop_config.json"),
            (mac, "claude-desktop", "/h/Library/Application Support/Claude/claude_desktop_config.json"),
            (windows, "claude-desktop", "/u/Roaming/Claude/claude_desktop_config.json"),
            (mac, "vscode", "/h/Library/Application Support/Code/User/mcp.json"),
            (mac, "zed", "/h/.config/zed/settings.json"),
            (windows, "zed", "/u/Roaming/Zed/settings.json"),
            (mac, "goose", "/h/.config/goose/config.yaml"),
            (windows, "goose", "/u/Roaming/Block/goose/config/config.yaml"),
            (windows, "opencode", "/u/.config/opencode/opencode.jsonc"),
            (windows, "cursor", "/u/.cursor/mcp.json"),
        ] {
            assert_eq!(at(platform, variables, client), Path::new(want), "{platform:?} {client}");
        }
    }

    #[test]
    fn the_clients_own_variables_count() {
        for (variable, client, want) in [
            ("XDG_CONFIG_HOME", "zed", "/x/zed/settings.json"),
            ("CODEX_HOME", "codex", "/x/config.toml"),
            ("CLAUDE_CONFIG_DIR", "claude-code", "/x/.claude.json"),
            ("GEMINI_CLI_HOME", "gemini", "/x/.gemini/settings.json"),
            ("QWEN_HOME", "qwen", "/x/settings.json"),
        ] {
            assert_eq!(at(Platform::Linux, &[("HOME", "/h"), (variable, "/x")], client), Path::new(want), "{variable}");
            // A relative one would mean another file in every directory.
            assert_ne!(at(Platform::Linux, &[("HOME", "/h"), (variable, "x")], client), Path::new(want), "{variable}");
        }
    }
}
