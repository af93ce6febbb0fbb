use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Table;

use super::directory_settings::DirectorySettings;
use super::{HttpSettings, LogSettings, ToolSettings, Transport};
use crate::{audit, exec, files, network, policy, sandbox};

/// The merged layers, before anything is resolved.
///
/// Each of these structs reads its keys from the top of the same table and ignores the keys of the others, so a key is
/// named in one struct only. Unknown keys were refused before, when the file was read. (`#[serde(flatten)]` would do the
/// same, but its errors do not name the key.)
pub struct Written {
    pub tables: Tables,
    pub directories: DirectorySettings,
    pub tools: ToolSettings,
    pub exec: exec::Settings,
    pub files: files::Settings,
}

/// What [`super::Config`] takes over as it is.
#[derive(Debug, Deserialize)]
pub struct Tables {
    pub transport: Transport,
    pub draft: bool,
    pub sandbox: sandbox::Settings,
    pub network: network::Settings,
    pub env: exec::EnvironmentSettings,
    pub policy: policy::Settings,
    pub http: HttpSettings,
    pub log: LogSettings,
    pub audit: audit::Settings,
}

impl Written {
    pub fn read(merged: &Table) -> Result<Self, toml::de::Error> {
        Ok(Self {
            tables: part(merged)?,
            directories: part(merged)?,
            tools: part(merged)?,
            exec: part(merged)?,
            files: part(merged)?,
        })
    }
}

fn part<T: DeserializeOwned>(merged: &Table) -> Result<T, toml::de::Error> {
    merged.clone().try_into()
}
