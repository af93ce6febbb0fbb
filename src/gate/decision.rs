/// What the person decided. Everything that is not an explicit yes is [`Decision::Deny`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Decision {
    Once,
    /// This exact command, for the rest of the session.
    Session,
    /// These programs, for the rest of the session.
    Program,
    /// This exact command in this project, until somebody revokes it.
    Always,
    Deny,
}

/// What a question is about. It decides which answers there are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Topic {
    Command,
    /// A file that a file tool wants to write.
    File,
    /// A host that commands want to reach.
    Host,
}

impl Decision {
    /// All decisions, in the order in which people see them.
    pub const ALL: [Self; 5] = [Self::Once, Self::Session, Self::Program, Self::Always, Self::Deny];

    pub fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Session => "session",
            Self::Program => "program",
            Self::Always => "always",
            Self::Deny => "deny",
        }
    }

    /// The decision with this name.
    pub fn read(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|decision| decision.name() == name)
    }
}
