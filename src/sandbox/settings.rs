use serde::Deserialize;

/// `[sandbox]` of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub mode: Mode,
    pub level: WantedLevel,
    /// Below it, commands are refused.
    pub minimum: Level,
    pub network: Switch,
    /// With the network off: a loopback of the session's own.
    pub loopback: bool,
    /// Directories of tools that commands may write besides the scope.
    pub caches: Vec<String>,
    /// Names that commands may not write, at any depth of the scope.
    pub protect: Vec<String>,
    /// Unix sockets outside the scope that commands may use; `*` is all of them.
    pub sockets: Vec<String>,
    pub limits: super::limits::Settings,
}

/// What commands may write.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    ReadOnly,
    WorkspaceWrite,
    Off,
}

/// How much of the boundary stands; a higher one includes the lower.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    #[default]
    None,
    /// Landlock and seccomp.
    Landlock,
    /// Namespaces too.
    Full,
}

/// Which level to try first.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum WantedLevel {
    /// The strongest that this machine offers.
    Auto,
    /// Without namespaces.
    Landlock,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Switch {
    On,
    Off,
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
