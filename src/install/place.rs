use std::path::PathBuf;

use super::{Machine, Platform};

/// Where a client keeps its configuration.
#[derive(Clone, Copy, Debug)]
pub struct Place {
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

impl Place {
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
