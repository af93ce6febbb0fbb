//! `core_tools` and `exclude_tools`: entries like `run_shell_command(git push)`.

/// The commands that an entry is about.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Commands {
    /// Commands that begin with these words.
    StartingWith(String),
    All,
}

/// Reads an entry. `None` if it is about another tool.
pub fn read(entry: &str) -> Option<Commands> {
    let rest = ["run_shell_command", "ShellTool"].iter().find_map(|name| entry.trim().strip_prefix(name))?;
    if rest.is_empty() {
        return Some(Commands::All);
    }
    let prefix = rest.strip_prefix('(')?.strip_suffix(')')?.trim();
    // Older lists end an entry with `:*`. It adds nothing, because an entry is a prefix anyway.
    let prefix = prefix.strip_suffix(":*").unwrap_or(prefix).trim();
    Some(if prefix.is_empty() || prefix == "*" { Commands::All } else { Commands::StartingWith(prefix.to_owned()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read() {
        let rows = [
            ("run_shell_command(git push)", Some(Commands::StartingWith("git push".into()))),
            ("run_shell_command( ls )", Some(Commands::StartingWith("ls".into()))),
            ("ShellTool(npm:*)", Some(Commands::StartingWith("npm".into()))),
            ("run_shell_command", Some(Commands::All)),
            ("read_file", None),
            ("run_shell_command(x", None),
        ];
        for (text, commands) in rows {
            assert_eq!(read(text), commands, "{text}");
        }
    }
}
