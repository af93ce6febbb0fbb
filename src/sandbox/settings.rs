use serde::Deserialize;

/// `[sandbox]` of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub mode: Mode,
    pub level: WantedLevel,
    /// If the machine offers only a lower level, commands are refused.
    pub minimum: Level,
    /// What commands may do to the home directory.
    pub home: HomeMode,
    /// Secrets that commands may read.
    pub reveal: Vec<String>,
    /// Cache directories of tools, which commands may write where the home is not private.
    pub caches: Vec<String>,
    /// Names that commands may not write, at any depth of the scope.
    pub protect: Vec<String>,
    /// Unix sockets outside the scope that commands may connect to; `*` means all of them.
    pub sockets: Vec<String>,
    /// The person's agents that all commands may use.
    pub agents: Vec<Agent>,
    pub limits: super::limits::Settings,
}

/// A program that holds the person's keys and uses them without giving them away.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Agent {
    Ssh,
    Gpg,
}

/// What commands may write.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    ReadOnly,
    WorkspaceWrite,
    Off,
}

/// How strong the sandbox is. A higher level includes the lower ones.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    #[default]
    None,
    /// Landlock and seccomp.
    Landlock,
    /// Landlock, seccomp and namespaces.
    Full,
}

/// Which level a person asks for.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum WantedLevel {
    /// The highest level that this machine offers.
    Auto,
    /// Level `landlock`, even if the machine offers `full`.
    Landlock,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum HomeMode {
    /// What commands write there goes to a layer of the project's own.
    Private,
    ReadOnly,
}

impl std::fmt::Display for Level {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Landlock => "landlock",
            Self::Full => "full",
        })
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::ReadOnly => "read-only",
            Self::WorkspaceWrite => "workspace-write",
            Self::Off => "off",
        })
    }
}
