/// The environment variable `ALLOWED_COMMANDS`. It is a list of program names, separated by commas.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum AllowedCommands {
    /// Not set: `execute_command` runs nothing, and the other tools have no such list.
    #[default]
    Unset,
    /// The list contains `*`.
    All,
    /// These names and no others. The list may be empty.
    Only(Vec<String>),
}

impl AllowedCommands {
    /// Reads the value of the variable, if it is set.
    pub fn read(value: Option<&str>) -> Self {
        let Some(value) = value else { return Self::Unset };
        let names: Vec<String> =
            value.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
        if names.iter().any(|name| name == "*") { Self::All } else { Self::Only(names) }
    }

    /// Whether `execute_command` runs this word. Names are compared exactly.
    pub fn permits(&self, word: &str) -> bool {
        match self {
            Self::Unset => false,
            Self::All => true,
            Self::Only(names) => names.iter().any(|name| name == word),
        }
    }
}

impl std::fmt::Display for AllowedCommands {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::All => f.write_str("*"),
            Self::Only(names) if !names.is_empty() => f.write_str(&names.join(",")),
            Self::Unset | Self::Only(_) => f.write_str("(none)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::AllowedCommands;

    #[test]
    fn the_list_is_trimmed_and_an_empty_one_allows_nothing() {
        let rows = [
            (None, "ls", false, "(none)"),
            (Some(""), "ls", false, "(none)"),
            (Some(" , "), "ls", false, "(none)"),
            (Some(" ls , cat "), "cat", true, "ls,cat"),
            (Some("ls"), "pwd", false, "ls"),
            (Some("*"), "pwd", true, "*"),
        ];
        for (value, word, permitted, shown) in rows {
            let list = AllowedCommands::read(value);
            assert_eq!((list.permits(word), list.to_string().as_str()), (permitted, shown), "{value:?}");
        }
    }
}
