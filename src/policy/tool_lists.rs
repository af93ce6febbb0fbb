//! `core_tools` and `exclude_tools`: entries like `run_shell_command(git push)`.

/// What an entry says about commands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Entry {
    /// Those that begin with these words.
    Prefix(String),
    /// All of them.
    Everything,
}

/// Reads an entry; `None` for one that is about another tool.
pub fn read(entry: &str) -> Option<Entry> {
    let rest = ["run_shell_command", "ShellTool"].iter().find_map(|name| entry.trim().strip_prefix(name))?;
    if rest.is_empty() {
        return Some(Entry::Everything);
    }
    let prefix = rest.strip_prefix('(')?.strip_suffix(')')?.trim();
    // Older lists end a prefix with `:*`, which says what a prefix says anyway.
    let prefix = prefix.strip_suffix(":*").unwrap_or(prefix).trim();
    Some(if prefix.is_empty() || prefix == "*" { Entry::Everything } else { Entry::Prefix(prefix.to_owned()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read() {
        let rows = [
            ("run_shell_command(git push)", Some(Entry::Prefix("git push".into()))),
            ("run_shell_command( ls )", Some(Entry::Prefix("ls".into()))),
            ("ShellTool(npm:*)", Some(Entry::Prefix("npm".into()))),
            ("run_shell_command", Some(Entry::Everything)),
            ("read_file", None),
            ("run_shell_command(x", None),
        ];
        for (text, entry) in rows {
            assert_eq!(read(text), entry, "{text}");
        }
    }
}
