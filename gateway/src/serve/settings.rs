//! The places file. An unknown key is an error that names it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use serde::Deserialize;

use crate::key::Key;
use crate::launch;
use crate::places::{
    Docker, DockerSettings, Kind, Kubernetes, KubernetesSettings, Launcher, Program, Reach, Ssh, SshSettings,
    StateDirectory, Url, UrlSettings,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    #[serde(default = "usual_address")]
    pub listen: String,
    /// `OWNER TOKEN` per line.
    pub token_file: PathBuf,
    /// Shared by all replicas. Made at the first start.
    pub key_file: PathBuf,
    #[serde(default = "StateDirectory::usual")]
    pub directory: PathBuf,
    /// The static testudo that is put into places.
    pub testudo: Option<PathBuf>,
    /// Pages that may call from a browser.
    #[serde(default)]
    pub allowed_origins: Vec<String>,
    #[serde(default)]
    pub limits: Limits,
    pub place: Vec<PlaceSettings>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Places at once.
    pub total: usize,
    pub per_owner: usize,
    /// A burst of as many is allowed.
    pub creates_per_second: f64,
    /// A place that hears nothing for so many seconds ends itself.
    pub idle: u64,
    /// A session id is good for so many seconds.
    pub session: u64,
    /// A place that has ended is remembered for so many seconds, so that its client can be told.
    pub remember: u64,
    /// A place that was made and not started for so many seconds is left over from a gateway that died.
    pub unstarted: u64,
    /// So many seconds a call waits for a place that is cut off.
    pub patience: u64,
    /// So many seconds calls may take to finish when the gateway ends.
    pub drain: u64,
    pub largest_message: usize,
    /// Requests at once.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            total: 200,
            per_owner: 20,
            creates_per_second: 10.0,
            idle: 1800,
            session: 86_400,
            remember: 3600,
            unstarted: 120,
            patience: 60,
            drain: 30,
            largest_message: 16 << 20,
            connections: 4096,
        }
    }
}

impl Limits {
    fn check(&self) -> anyhow::Result<()> {
        let rate = self.creates_per_second;
        ensure!(
            rate.is_finite() && rate > 0.0,
            "creates_per_second = {rate} would never allow a place; use more than 0"
        );
        for (name, value) in [("total", self.total), ("per_owner", self.per_owner), ("connections", self.connections)] {
            ensure!(value > 0, "{name} = 0 would let nobody in; use at least 1");
        }
        Ok(())
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlaceSettings {
    /// Clients use the first place at `/mcp`, and each at `/mcp/NAME`.
    pub name: String,
    /// `docker:IMAGE` and so on; several URLs are servers that take turns.
    #[serde(deserialize_with = "one_or_more")]
    pub place: Vec<String>,
    /// Who may use it; everybody unless it is given.
    pub owners: Option<Vec<String>>,
    pub engine: Option<String>,
    #[serde(default)]
    pub mounts: Vec<String>,
    pub user: Option<String>,
    pub workdir: Option<String>,
    /// In MB.
    pub memory: Option<u64>,
    pub pids: Option<u64>,
    pub cpus: Option<f64>,
    pub network: Option<String>,
    pub runtime: Option<String>,
    #[serde(default)]
    pub full_sandbox: bool,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    #[serde(default)]
    pub arguments: Vec<String>,
    /// So many places wait for an owner.
    #[serde(default)]
    pub warm: usize,
    /// The image from which testudo is copied into pods.
    pub program_image: Option<String>,
    /// How pods are reached; by their address from inside the cluster, unless it is given.
    pub reach: Option<ReachSetting>,
    /// The file with the token of servers behind URLs or in a warm pool.
    pub place_token_file: Option<PathBuf>,
    #[serde(default)]
    pub ssh_options: Vec<String>,
}

/// Straight to the address of a pod, or through the API server.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReachSetting {
    Address,
    PortForward,
}

/// The token in a file, which may have a name before it.
fn token_in(file: &Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(file).with_context(|| format!("failed to read {}", file.display()))?;
    Ok(text.split_whitespace().last().unwrap_or_default().to_owned())
}

fn usual_address() -> String {
    "127.0.0.1:8741".to_owned()
}

fn one_or_more<'de, D: serde::Deserializer<'de>>(input: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMore {
        One(String),
        More(Vec<String>),
    }
    Ok(match OneOrMore::deserialize(input)? {
        OneOrMore::One(one) => vec![one],
        OneOrMore::More(more) => more,
    })
}

impl Settings {
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| {
            format!("failed to read the places file {} (docs/gateway.md shows one)", path.display())
        })?;
        let settings: Self = toml::from_str(&text).with_context(|| format!("in {}", path.display()))?;
        ensure!(!settings.place.is_empty(), "{} names no place", path.display());
        for place in &settings.place {
            let is_plain = place.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
            ensure!(is_plain && !place.name.is_empty(), "the name {:?} may have letters, digits, - and _", place.name);
            let same = settings.place.iter().filter(|other| other.name == place.name).count();
            ensure!(same == 1, "{} names {same} places {:?}; give each a name of its own", path.display(), place.name);
        }
        settings.limits.check().with_context(|| format!("in {}", path.display()))?;
        Ok(settings)
    }

    pub fn launcher(&self, place: &PlaceSettings, key: &Key) -> anyhow::Result<Arc<dyn Launcher>> {
        let kinds = place.place.iter().map(|text| text.parse::<Kind>()).collect::<Result<Vec<_>, _>>()?;
        let Some(first) = kinds.first() else { bail!("the place {} has no `place`", place.name) };
        ensure!(kinds.len() == 1 || kinds.iter().all(|kind| matches!(kind, Kind::Url(_))), "only URLs can be several");
        let program = || Program::find(self.testudo.as_deref());
        let state = || {
            StateDirectory::open(&self.directory)?;
            StateDirectory::open(&self.directory.join(&place.name))
        };
        Ok(match first {
            Kind::Docker { image } | Kind::Podman { image } => {
                let engine_name = if matches!(first, Kind::Podman { .. }) { "podman" } else { "docker" };
                let engine = match &place.engine {
                    Some(engine) => engine.clone(),
                    None => launch::engine(first)?.1,
                };
                let settings = DockerSettings {
                    mounts: place.mounts.clone(),
                    user: place.user.clone(),
                    workdir: place.workdir.clone(),
                    memory: place.memory.map(|megabytes| megabytes << 20),
                    pids: place.pids,
                    cpus: place.cpus,
                    network: place.network.clone(),
                    runtime: place.runtime.clone(),
                    full_sandbox: place.full_sandbox,
                    environment: place.env.iter().map(|(name, value)| format!("{name}={value}")).collect(),
                    arguments: place.arguments.clone(),
                    lease: self.limits.idle,
                    warm: place.warm,
                    ..DockerSettings::new(engine_name, engine, image.clone(), place.name.clone())
                };
                Arc::new(Docker::new(settings, program()?, key.clone(), state()?)?)
            }
            Kind::Ssh { host, directory } => {
                let settings = SshSettings {
                    host: host.clone(),
                    directory: directory.clone(),
                    kind: place.name.clone(),
                    arguments: place.arguments.clone(),
                    lease: self.limits.idle,
                    options: place.ssh_options.clone(),
                };
                Arc::new(Ssh::new(settings, program()?, key.clone(), &state()?)?)
            }
            Kind::Url(_) => {
                let file = place.place_token_file.as_ref();
                let file = file.with_context(|| format!("the place {} needs a place_token_file", place.name))?;
                let token = token_in(file)?;
                Arc::new(Url::new(UrlSettings { urls: place.place.clone(), token })?)
            }
            Kind::Kubernetes { template } => {
                let settings = KubernetesSettings {
                    template: template.clone(),
                    kind: place.name.clone(),
                    program_image: place.program_image.clone(),
                    pool_token: place.place_token_file.as_deref().map(token_in).transpose()?,
                    reach: match place.reach {
                        Some(ReachSetting::Address) => Reach::Address,
                        Some(ReachSetting::PortForward) => Reach::PortForward,
                        None => Reach::usual(),
                    },
                    environment: place.env.clone().into_iter().collect(),
                    arguments: place.arguments.clone(),
                    lease: self.limits.idle,
                    lifetime: self.limits.session,
                };
                Arc::new(Kubernetes::new(settings, key.clone()))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_in_the_documentation_is_read() {
        let page = include_str!("../../../docs/gateway.md");
        let (_, rest) = page.split_once("```toml\n").unwrap();
        let settings: Settings = toml::from_str(rest.split_once("```").unwrap().0).unwrap();
        for place in &settings.place {
            assert!(place.place.iter().all(|text| text.parse::<Kind>().is_ok()), "{}", place.name);
        }
        let limits = settings.limits.clone();
        assert_eq!(format!("{limits:?}"), format!("{:?}", Limits::default()), "the page shows the defaults");
    }
}
