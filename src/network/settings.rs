use serde::{Deserialize, Deserializer};

use super::HostPattern;

/// `[network]` of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    #[serde(deserialize_with = "mode")]
    mode: Option<Mode>,
    /// Hosts that commands may reach in mode `hosts`.
    pub allow: Vec<HostPattern>,
    /// Hosts that they may not reach, whatever else says so.
    pub deny: Vec<HostPattern>,
    /// Whether ports that commands listen on appear on the host's loopback interface.
    pub publish: bool,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    On,
    /// Only hosts that are named, through the proxy.
    Hosts,
    Off,
}

impl Settings {
    /// What was written; else `hosts` if a host is named, and `on` if none is.
    pub fn mode(&self) -> Mode {
        self.mode.unwrap_or(if self.names_hosts() { Mode::Hosts } else { Mode::On })
    }

    pub fn names_hosts(&self) -> bool {
        !self.allow.is_empty() || !self.deny.is_empty()
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::On => "on",
            Self::Hosts => "hosts",
            Self::Off => "off",
        })
    }
}

/// An empty text means that it is not set.
fn mode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Mode>, D::Error> {
    let text = String::deserialize(deserializer)?;
    match text.as_str() {
        "" => Ok(None),
        "on" => Ok(Some(Mode::On)),
        "hosts" => Ok(Some(Mode::Hosts)),
        "off" => Ok(Some(Mode::Off)),
        _ => Err(serde::de::Error::custom(format!("network.mode is {text:?}; it can be \"on\", \"hosts\" or \"off\""))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn naming_a_host_restricts_commands_to_hosts_that_are_named() {
        let mode = |text: &str| toml::from_str::<Settings>(text).map(|settings| settings.mode()).ok();
        for (text, want) in [
            ("mode = ''\nallow = []\ndeny = []\npublish = true", Some(Mode::On)),
            ("mode = ''\nallow = ['@npm']\ndeny = []\npublish = true", Some(Mode::Hosts)),
            ("mode = ''\nallow = []\ndeny = ['example.com']\npublish = true", Some(Mode::Hosts)),
            ("mode = 'off'\nallow = ['example.com']\ndeny = []\npublish = true", Some(Mode::Off)),
            ("mode = 'some'\nallow = []\ndeny = []\npublish = true", None),
            ("mode = ''\nallow = ['exa mple']\ndeny = []\npublish = true", None),
        ] {
            assert_eq!(mode(text), want, "{text}");
        }
    }
}
