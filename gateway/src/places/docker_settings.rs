//! What a person may say about the containers of a kind.

use std::path::PathBuf;

pub struct DockerSettings {
    /// `docker` or `podman`, for people.
    pub engine_name: &'static str,
    pub engine: String,
    pub image: String,
    /// The name in the places file; containers carry it as a label.
    pub kind: String,
    /// A directory of this machine that is mounted at its own path, where the work begins.
    pub project: Option<PathBuf>,
    pub mounts: Vec<String>,
    pub user: Option<String>,
    pub workdir: Option<String>,
    pub memory: Option<u64>,
    pub pids: Option<u64>,
    pub cpus: Option<f64>,
    pub network: Option<String>,
    pub runtime: Option<String>,
    /// Lets the server inside build its own sandbox of level `full`.
    pub full_sandbox: bool,
    pub environment: Vec<String>,
    /// Further arguments of the server.
    pub arguments: Vec<String>,
    /// A server that hears nothing for so many seconds ends itself. 0 is never.
    pub lease: u64,
    /// So many containers wait for an owner.
    pub warm: usize,
}

impl DockerSettings {
    pub fn new(engine_name: &'static str, engine: String, image: String, kind: String) -> Self {
        Self {
            engine_name,
            engine,
            image,
            kind,
            project: None,
            mounts: Vec::new(),
            user: None,
            workdir: None,
            memory: None,
            pids: None,
            cpus: None,
            network: None,
            runtime: None,
            full_sandbox: false,
            environment: Vec::new(),
            arguments: Vec::new(),
            lease: 0,
            warm: 0,
        }
    }
}
