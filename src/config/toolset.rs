use std::str::FromStr;

use crate::base::spelling;

/// A named list of tools. `tools` says which tools belong to which.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Toolset {
    Standard,
    Anthropic,
    Terminal,
    Gemini,
    /// Every tool there is. No tool has to name it.
    All,
}

impl Toolset {
    pub const ALL: [Self; 5] = [Self::Standard, Self::Anthropic, Self::Terminal, Self::Gemini, Self::All];

    /// As people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Anthropic => "anthropic",
            Self::Terminal => "terminal",
            Self::Gemini => "gemini",
            Self::All => "all",
        }
    }
}

impl FromStr for Toolset {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|toolset| toolset.name() == text);
        found.ok_or_else(|| {
            let valid = Self::ALL.map(Self::name);
            let near = spelling::nearest(text, valid).map(|name| format!("; did you mean {name}?")).unwrap_or_default();
            format!("unknown toolset {text:?}{near} (valid: {})", valid.join(", "))
        })
    }
}
