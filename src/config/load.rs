use std::path::{Path, PathBuf};

use super::layers::Layers;
use super::options::{SETTINGS, TOKEN_VARIABLE};
use super::written::Written;
use super::{Config, ConfigError, Directories, FileStamp, Listen, Source, Transport};
use crate::base::{private_directory, random};
use crate::{files, network, policy, sandbox};

const COMMANDS_WOULD_GET_IN: &str = "the network is on for commands, so a command could connect to this server and give itself permission; let clients show \
     a token (leave --no-auth out, or give --token-file), or keep commands off the network with --network off or hosts";
const COMMANDS_REACH_SOCKET: &str = "commands can reach this socket, because it is in a directory that they work in or in a temporary one; put it elsewhere, \
     such as below $XDG_RUNTIME_DIR, or let clients show a token";
const CANNOT_HOLD: &str = "nothing keeps commands from other hosts with --sandbox off; use another mode of the sandbox";

/// Merges the layers and resolves what they say. See the module for the order.
pub fn load(source: &Source) -> Result<Config, ConfigError> {
    load_from(source, source.config_file())
}

/// For programs that only look at running servers, if the file has a mistake. Where servers are found is not in the file.
pub fn load_without_file(source: &Source) -> Result<Config, ConfigError> {
    load_from(source, None)
}

fn load_from(source: &Source, file: Option<PathBuf>) -> Result<Config, ConfigError> {
    // Before it is read: a change in between is noticed afterwards.
    let file_stamp = file.as_deref().and_then(FileStamp::of);
    let mut layers = Layers::defaults();
    if let Some(path) = &file {
        layers.add_file(path)?;
    }
    let mut warnings = layers.add_environment(&source.environment)?;
    layers.add_flags(&source.flags)?;
    let Written { tables, directories: named, tools, exec, files } = layers.read("the configuration")?;

    let directories = Directories { roots_stay_within: tables.transport == Transport::Http, ..named.resolve(source)? };
    if let Some(path) = &file {
        let project = (!directories.has_no_project()).then(|| directories.project_dir());
        refuse_inside(path, project.as_slice())?;
    }
    let mut http = tables.http;
    http.expand_paths(source);
    warnings.extend(http.read_token_file(source).map_err(|reason| ConfigError::bad_value("--token-file", reason))?);
    // With the sandbox off a command has all the rights of the server anyway.
    let (sandboxed, network) = (tables.sandbox.mode != sandbox::Mode::Off, tables.network.mode());
    if network == network::Mode::Hosts && !sandboxed {
        return Err(ConfigError::bad_value("--network hosts", CANNOT_HOLD));
    }
    for host in tables.policy.rule.iter().flat_map(|rule| &rule.grants).filter_map(|grant| grant.strip_prefix("host:"))
    {
        let read: Result<network::HostPattern, _> = host.parse();
        read.map_err(|error| ConfigError::bad_value("the grants of a rule", error.to_string()))?;
    }
    if network != network::Mode::Hosts && tables.network.names_hosts() {
        warnings.push(format!("--allow-host and --deny-host have no effect with --network {network}"));
    }
    if tables.transport == Transport::Http && http.no_auth && sandboxed {
        match &http.listen {
            Listen::Tcp(_) if network == network::Mode::On => {
                return Err(ConfigError::bad_value("--no-auth", COMMANDS_WOULD_GET_IN));
            }
            Listen::Unix(path) if is_within_reach(path, &directories) => {
                return Err(ConfigError::bad_value("--no-auth", COMMANDS_REACH_SOCKET));
            }
            Listen::Tcp(_) | Listen::Unix(_) => {}
        }
    }
    if tables.transport != Transport::Http {
        warnings.extend(without_effect(source));
    }
    let state_dir = source.user_dir("XDG_STATE_HOME", ".local/state").map(|path| path.join("testudo"));
    let state_dir = state_dir.unwrap_or_else(state_without_home);
    let runtime_dir = source.variable("XDG_RUNTIME_DIR").map(Path::new).filter(|path| path.is_absolute());
    let runtime_dir = runtime_dir.map(|path| path.join("testudo"));
    let deny = files::DenyGlobs::new(&named.deny_dir, source.home());
    Ok(Config {
        transport: tables.transport,
        draft: tables.draft,
        tools,
        exec,
        files: files::Settings {
            read_only: tables.sandbox.mode == sandbox::Mode::ReadOnly,
            deny: deny.map_err(|reason| ConfigError::bad_value("--deny-dir", reason))?,
            home: source.home().map(Path::to_owned),
            ..files
        },
        policy: policy::Settings { allowed_commands: allowed_commands(source), ..tables.policy },
        sandbox: tables.sandbox,
        network: tables.network,
        env: tables.env,
        http,
        log: tables.log,
        audit: tables.audit,
        directories,
        cache_dir: source.user_dir("XDG_CACHE_HOME", ".cache").unwrap_or_else(std::env::temp_dir).join("testudo"),
        control_dirs: runtime_dir.into_iter().chain([state_dir.join("run")]).collect(),
        state_dir,
        file,
        file_place: source.config_path().map(|(path, _)| path),
        file_stamp,
        written: layers.into_table(),
        // A command that knew the token could call the server as its client.
        environment: source.environment.iter().filter(|(name, _)| name != TOKEN_VARIABLE).cloned().collect(),
        cwd_roots: cwd_roots(source),
        program: std::env::current_exe().ok(),
        warnings,
    })
}

/// For a server that runs with `former`: from the same source, once its file has changed. A file that is gone is refused:
/// some editors remove a file before they write it again, and a policy must not be lost meanwhile.
pub fn load_again(source: &Source, former: &Config) -> Result<Config, ConfigError> {
    match &former.file {
        Some(path) if source.config_file().is_none() => Err(ConfigError::Gone { path: path.display().to_string() }),
        _ => load(source),
    }
}

/// Whether the sandbox lets commands connect to a socket at this path: it keeps them from all others.
fn is_within_reach(socket: &Path, directories: &Directories) -> bool {
    let named =
        [Some(directories.project_dir()), Some(directories.launch_dir.clone()), directories.workspace_dir.clone()];
    let temporary = [PathBuf::from("/tmp")];
    let all = named.into_iter().flatten().chain(directories.allow_dirs.iter().cloned()).chain(temporary);
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let place = socket.parent().map(real).unwrap_or_default();
    all.into_iter().any(|directory| place.starts_with(real(&directory)))
}

/// An agent can write the project. A configuration file in it would let the agent widen its own rights.
pub fn refuse_inside(path: &Path, directories: &[PathBuf]) -> Result<(), ConfigError> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    // The link to a file decides as well as the file.
    let link = path.parent().and_then(|parent| parent.canonicalize().ok()).zip(path.file_name());
    let link = link.map_or_else(|| path.to_owned(), |(parent, name)| parent.join(name));
    let inside = directories.iter().find(|directory| real.starts_with(directory) || link.starts_with(directory));
    inside.map_or(Ok(()), |project| {
        let (path, project) = (path.display().to_string(), project.display().to_string());
        Err(ConfigError::InsideProject { path, project })
    })
}

/// Warnings for options of HTTP that were given to a server on stdio. The file is not warned about: it may well hold
/// settings for another start.
fn without_effect(source: &Source) -> impl Iterator<Item = String> {
    let http = SETTINGS.iter().filter(|setting| setting.key.starts_with("http."));
    let given = http.filter(|setting| source.gives(setting.flag, setting.variable));
    given.map(|setting| format!("--{} has no effect without --transport http", setting.flag))
}

/// An empty `ALLOWED_COMMANDS` differs from one that is not set: it allows nothing.
fn allowed_commands(source: &Source) -> policy::AllowedCommands {
    let value = source.environment.iter().find(|(key, _)| key == "ALLOWED_COMMANDS").map(|(_, value)| value);
    policy::AllowedCommands::read(value.map(|value| value.to_string_lossy()).as_deref())
}

fn cwd_roots(source: &Source) -> Vec<String> {
    let written = source.variable("ALLOWED_CWD_ROOTS").unwrap_or_default().to_string_lossy();
    written.split(',').map(str::trim).filter(|root| !root.is_empty()).map(str::to_owned).collect()
}
/// A user without a home keeps things among everybody's temporary files. Nobody else may have made that directory: they could
/// put approvals into it. If somebody has, nothing is kept beyond this process.
fn state_without_home() -> PathBuf {
    let (shared, user) = (std::env::temp_dir(), rustix::process::geteuid().as_raw());
    let own = shared.join(format!("testudo-state-{user}"));
    match private_directory::make(&own) {
        Ok(()) => own,
        Err(_) => shared.join(format!("testudo-state-{user}-{}", random::hex::<16>())),
    }
}
