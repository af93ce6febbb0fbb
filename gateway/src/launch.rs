//! Turns what a person wrote into a launcher.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};

use crate::arguments::OnePlace;
use crate::key::Key;
use crate::places::{
    Docker, DockerSettings, Kind, Kubernetes, KubernetesSettings, Launcher, Program, Reach, Ssh, SshSettings,
    StateDirectory, Url, UrlSettings,
};

/// In seconds. The claim of a client on stdio ends after it, whatever became of the gateway.
const DAY: u64 = 86_400;

/// The launcher for one client on stdio. Its key is its own: nobody else has to find the place.
pub fn one(options: &OnePlace) -> anyhow::Result<Arc<dyn Launcher>> {
    let Some(kind) = &options.place else {
        bail!("name a place, such as --place docker:debian:stable (testudo-gateway --help)");
    };
    let key = Key::random()?;
    let state = || {
        let path = StateDirectory::usual();
        StateDirectory::open(&path).with_context(|| format!("failed to use the directory {}", path.display()))
    };
    let program = || Program::find(options.testudo.as_deref());
    Ok(match kind {
        Kind::Docker { image } | Kind::Podman { image } => {
            let (engine_name, engine) = engine(kind)?;
            let settings = DockerSettings {
                project: project(options)?,
                network: options.network.clone(),
                full_sandbox: options.full_sandbox,
                arguments: options.arguments.clone(),
                lease: options.lease,
                ..DockerSettings::new(engine_name, engine, image.clone(), "one".to_owned())
            };
            Arc::new(Docker::new(settings, program()?, key, state()?)?)
        }
        Kind::Ssh { host, directory } => {
            let settings = SshSettings {
                host: host.clone(),
                directory: directory.clone(),
                kind: "one".to_owned(),
                arguments: options.arguments.clone(),
                lease: options.lease,
                options: options.ssh_option.clone(),
            };
            Arc::new(Ssh::new(settings, program()?, key, &state()?)?)
        }
        Kind::Url(url) => {
            let token = token(options).context(
                "a server behind a URL asks for the token that it was started with; give it with TESTUDO_PLACE_TOKEN or --token",
            )?;
            Arc::new(Url::new(UrlSettings { urls: vec![url.clone()], token })?)
        }
        Kind::Kubernetes { template } => {
            let settings = KubernetesSettings {
                template: template.clone(),
                kind: "one".to_owned(),
                program_image: options.program_image.clone(),
                pool_token: token(options),
                reach: Reach::usual(),
                environment: Vec::new(),
                arguments: options.arguments.clone(),
                lease: options.lease,
                lifetime: DAY,
            };
            Arc::new(Kubernetes::new(settings, key))
        }
    })
}

/// The token of a server that somebody else has started.
fn token(options: &OnePlace) -> Option<String> {
    options.token.clone().or_else(|| std::env::var("TESTUDO_PLACE_TOKEN").ok())
}

/// The name of the engine and where it listens, as its own clients find it.
pub fn engine(kind: &Kind) -> anyhow::Result<(&'static str, String)> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let runtime = variable("XDG_RUNTIME_DIR").map(PathBuf::from);
    let (name, from_variable, candidates) = if matches!(kind, Kind::Podman { .. }) {
        let own = runtime.map(|runtime| runtime.join("podman/podman.sock"));
        (
            "podman",
            variable("CONTAINER_HOST"),
            own.into_iter().chain([PathBuf::from("/run/podman/podman.sock")]).collect(),
        )
    } else {
        let own = runtime.map(|runtime| runtime.join("docker.sock"));
        ("docker", variable("DOCKER_HOST"), [PathBuf::from("/var/run/docker.sock")].into_iter().chain(own).collect())
    };
    if let Some(address) = from_variable {
        return Ok((name, address));
    }
    let candidates: Vec<PathBuf> = candidates;
    let Some(found) = candidates.iter().find(|path| path.exists()) else {
        bail!(
            "{name} does not listen at {}; is it installed and started? {} says where it listens otherwise",
            candidates[0].display(),
            if name == "podman" { "CONTAINER_HOST" } else { "DOCKER_HOST" }
        );
    };
    Ok((name, format!("unix://{}", found.display())))
}

/// The directory of this machine that the work is about.
fn project(options: &OnePlace) -> anyhow::Result<Option<PathBuf>> {
    if options.no_project {
        return Ok(None);
    }
    let named = options.project.clone();
    let path = match &named {
        Some(path) => std::fs::canonicalize(path).with_context(|| format!("failed to find {}", path.display()))?,
        None => std::env::current_dir()?,
    };
    let home = std::env::var_os("HOME").map(PathBuf::from);
    // A person who says nothing does not mean to give all of it away.
    let says_nothing = path == Path::new("/") || home.is_some_and(|home| home.starts_with(&path));
    Ok((named.is_some() || !says_nothing).then_some(path))
}
