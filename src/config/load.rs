//! Merging the layers, and start-up errors that name the setting and the nearest valid name.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::{Table, Value};

use super::options::{CONFIG_FLAG, CONFIG_VARIABLE, Kind, SETTINGS, TOKEN_VARIABLE};
use super::{Config, DEFAULTS, Directories, Log, Transport};

/// Where settings come from besides the embedded defaults.
#[derive(Clone, Debug, Default)]
pub struct Source {
    pub environment: Vec<(OsString, OsString)>,
    /// Flag names without dashes and all values given for each.
    pub flags: Vec<(String, Vec<String>)>,
    pub current_dir: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("failed to read the configuration file {path}: {error}")]
    Unreadable { path: String, error: std::io::Error },
    #[error(
        "the configuration file {path} is inside the project {project}, where an agent could write it; keep it elsewhere"
    )]
    InsideProject { path: String, project: String },
    #[error("failed to parse {path}: {error}")]
    Syntax { path: String, error: toml::de::Error },
    #[error("unknown key `{key}` in {origin}{suggestion}")]
    UnknownKey { key: String, origin: String, suggestion: String },
    #[error("bad value for {origin}: {reason}")]
    BadValue { origin: String, reason: String },
}

/// The shape of the merged layers.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    transport: Transport,
    workdir: String,
    project_dir: String,
    workspace_dir: String,
    allow_dir: OneOrMore,
    deny_dir: OneOrMore,
    toolset: OneOrMore,
    anthropic_compat: bool,
    disable_tools: OneOrMore,
    timeout: u64,
    background_timeout: u64,
    #[serde(deserialize_with = "crate::base::size::size")]
    max_file_size: u64,
    sandbox: crate::sandbox::Settings,
    env: crate::exec::EnvironmentSettings,
    policy: crate::policy::Settings,
    http: super::http::Written,
    log: Log,
    output: crate::exec::OutputSettings,
    tasks: crate::exec::TaskSettings,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn iter(&self) -> impl Iterator<Item = &str> {
        let texts = match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::More(texts) => texts,
        };
        texts.iter().map(String::as_str)
    }

    fn into_vec(self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text],
            Self::More(texts) => texts,
        }
    }
}

pub fn load(source: &Source) -> Result<Config, ConfigError> {
    let mut merged: Table = DEFAULTS.parse().expect("the embedded defaults are valid");
    let file = config_file(source);
    if let Some(path) = &file {
        merge_file(&mut merged, path)?;
    }
    let warnings = merge_environment(&mut merged, source)?;
    merge_flags(&mut merged, source)?;
    let written = check(&merged, "the configuration")?;
    let directories = directories(&written, source)?;
    if let Some(path) = &file {
        refuse_inside_project(path, directories.project_dir())?;
    }
    let files = files(&written, source)?;
    let warnings = warnings.into_iter().chain(useless(&written)).collect();
    let token_file = Some(written.http.token_file.as_str()).filter(|path| !path.is_empty());
    let token_file = token_file.map(|path| expand(source, Path::new(path)));
    let http = written.http.settings(token_file.as_deref());
    let http = http.map_err(|(origin, reason)| ConfigError::BadValue { origin: origin.to_owned(), reason })?;
    let mut toolsets = written.toolset.into_vec();
    if written.anthropic_compat {
        toolsets = vec!["anthropic".to_owned()];
    }
    Ok(Config {
        transport: written.transport,
        tools: crate::tools::Settings::new(toolsets, written.disable_tools.into_vec())
            .map_err(|reason| ConfigError::BadValue { origin: "--toolset or --disable-tools".to_owned(), reason })?,
        exec: crate::exec::Settings {
            timeout: written.timeout,
            background_timeout: written.background_timeout,
            output: written.output,
            tasks: written.tasks,
        },
        files,
        policy: crate::policy::Settings { allowed_commands: allowed_commands(source), ..written.policy },
        sandbox: written.sandbox,
        http,
        env: written.env,
        log: written.log,
        directories,
        cache_dir: user_dir(source, "XDG_CACHE_HOME", ".cache").unwrap_or_else(std::env::temp_dir).join("testudo"),
        file,
        // The key to this server is not for those who are already inside.
        environment: source.environment.iter().filter(|(name, _)| name != TOKEN_VARIABLE).cloned().collect(),
        cwd_roots: cwd_roots(source),
        warnings,
    })
}

fn cwd_roots(source: &Source) -> Vec<String> {
    let written =
        variable(source, "ALLOWED_CWD_ROOTS").map(|roots| roots.to_string_lossy().into_owned()).unwrap_or_default();
    written.split(',').map(str::trim).filter(|root| !root.is_empty()).map(str::to_owned).collect()
}

/// What was said but changes nothing.
fn useless(written: &Written) -> Option<String> {
    let defaults: Table = DEFAULTS.parse().ok()?;
    let listen = defaults.get("http")?.get("listen")?.as_str()?;
    (written.transport == Transport::Stdio && written.http.listen != listen)
        .then(|| "--listen has no effect without --transport http".to_owned())
}

fn variable<'a>(source: &'a Source, name: &str) -> Option<&'a OsString> {
    source.environment.iter().find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value)
}

/// Set to nothing it still means something: nothing is allowed.
fn allowed_commands(source: &Source) -> crate::policy::AllowedCommands {
    let value = source.environment.iter().find(|(key, _)| key == "ALLOWED_COMMANDS").map(|(_, value)| value);
    crate::policy::AllowedCommands::read(value.map(|value| value.to_string_lossy()).as_deref())
}

/// A directory of the XDG specification; none without a home.
fn user_dir(source: &Source, name: &str, below_home: &str) -> Option<PathBuf> {
    variable(source, name)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| variable(source, "HOME").map(|home| Path::new(home).join(below_home)))
}

fn config_file(source: &Source) -> Option<PathBuf> {
    let flag = source.flags.iter().find(|(name, _)| name == CONFIG_FLAG).and_then(|(_, values)| values.last());
    let named = flag.map(PathBuf::from).or_else(|| variable(source, CONFIG_VARIABLE).map(PathBuf::from));
    match named {
        Some(path) => Some(expand(source, &path)),
        None => user_dir(source, "XDG_CONFIG_HOME", ".config")
            .map(|directory| directory.join("testudo/config.toml"))
            .filter(|path| path.exists()),
    }
}

/// `~` and relative paths, as seen from where the server was started.
fn expand(source: &Source, path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), variable(source, "HOME")) {
        (Ok(rest), Some(home)) => Path::new(home).join(rest),
        _ => source.current_dir.join(path),
    }
}

fn merge_file(merged: &mut Table, path: &Path) -> Result<(), ConfigError> {
    let shown = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| ConfigError::Unreadable { path: shown.clone(), error })?;
    let mut table: Table = text.parse().map_err(|error| ConfigError::Syntax { path: shown.clone(), error })?;
    gather_tool_lists(&mut table);
    refuse_unknown(&table, merged, "", &shown)?;
    overlay(merged, table);
    check(merged, &shown).map(drop)
}

/// The lists of commands may stand at the top and be spelled as another agent spells them.
fn gather_tool_lists(table: &mut Table) {
    for (key, spelled) in [("core_tools", "coreTools"), ("exclude_tools", "excludeTools")] {
        let found = [key, spelled].into_iter().filter_map(|name| table.remove(name)).collect::<Vec<_>>();
        let policy = table.entry("policy").or_insert_with(|| Value::Table(Table::new()));
        let Some(policy) = policy.as_table_mut() else { return };
        for value in policy.remove(spelled).into_iter().chain(found) {
            match (policy.get_mut(key), value) {
                (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
                (_, value) => drop(policy.insert(key.to_owned(), value)),
            }
        }
    }
}

/// Every key must be one the defaults know; a table's keys are compared with that table's.
fn refuse_unknown(written: &Table, known: &Table, prefix: &str, origin: &str) -> Result<(), ConfigError> {
    for (key, value) in written {
        match (known.get(key), value) {
            (Some(Value::Table(known)), Value::Table(written)) => {
                refuse_unknown(written, known, &format!("{prefix}{key}."), origin)?;
            }
            (Some(_), _) => {}
            (None, _) => {
                return Err(ConfigError::UnknownKey {
                    key: format!("{prefix}{key}"),
                    origin: origin.to_owned(),
                    suggestion: did_you_mean(key, known.keys().map(String::as_str), prefix),
                });
            }
        }
    }
    Ok(())
}

fn did_you_mean<'a>(written: &str, valid: impl Iterator<Item = &'a str>, prefix: &str) -> String {
    let valid: Vec<&str> = valid.collect();
    match crate::base::spelling::nearest(written, valid.iter().copied()) {
        Some(near) => format!("; did you mean `{prefix}{near}`?"),
        None => format!("; the valid names are {}", valid.join(", ")),
    }
}

fn overlay(base: &mut Table, over: Table) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Table(base)), Value::Table(over)) => overlay(base, over),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

fn merge_environment(merged: &mut Table, source: &Source) -> Result<Vec<String>, ConfigError> {
    let mut warnings = Vec::new();
    for (name, value) in &source.environment {
        let Some(name) = name.to_str().filter(|name| name.starts_with("TESTUDO_") && *name != CONFIG_VARIABLE) else {
            continue;
        };
        let Some(setting) = SETTINGS.iter().find(|setting| setting.variable == name) else {
            // Not an error: other programs may use the prefix too.
            let known = SETTINGS.iter().map(|setting| setting.variable).filter(|name| !name.is_empty());
            warnings.push(format!("the variable {name} is not one of ours{}", did_you_mean(name, known, "")));
            continue;
        };
        let value = value.to_string_lossy();
        if value.is_empty() {
            continue;
        }
        let read = setting.kind.read_variable(&value);
        set(merged, setting.key, read, name)?;
    }
    Ok(warnings)
}

fn merge_flags(merged: &mut Table, source: &Source) -> Result<(), ConfigError> {
    for (name, values) in &source.flags {
        if let Some(setting) = SETTINGS.iter().find(|setting| setting.flag == name) {
            let mut value = setting.kind.read(values);
            if let (Kind::Rules, Ok(Value::Array(rules))) = (setting.kind, &mut value) {
                let written = lookup(merged, setting.key).and_then(Value::as_array).cloned().unwrap_or_default();
                rules.splice(0..0, written);
            }
            set(merged, setting.key, value, &format!("--{name}"))?;
        }
    }
    Ok(())
}

fn lookup<'a>(merged: &'a Table, key: &str) -> Option<&'a Value> {
    let (table, key) = key.split_once('.')?;
    merged.get(table)?.get(key)
}

fn set(merged: &mut Table, key: &str, value: Result<Value, String>, origin: &str) -> Result<(), ConfigError> {
    let value = value.map_err(|reason| ConfigError::BadValue { origin: origin.to_owned(), reason })?;
    let mut layer = Table::new();
    match key.split_once('.') {
        Some((table, key)) => {
            layer.insert(table.to_owned(), Value::Table(Table::from_iter([(key.to_owned(), value)])));
        }
        None => {
            layer.insert(key.to_owned(), value);
        }
    }
    overlay(merged, layer);
    // After every layer, so that the blame falls on the one that is wrong.
    check(merged, origin).map(drop)
}

fn check(merged: &Table, origin: &str) -> Result<Written, ConfigError> {
    merged.clone().try_into().map_err(|error: toml::de::Error| ConfigError::BadValue {
        origin: origin.to_owned(),
        reason: error.to_string().trim_end().replace('\n', " "),
    })
}

fn directories(written: &Written, source: &Source) -> Result<Directories, ConfigError> {
    let existing = |origin: &str, text: &str| -> Result<PathBuf, ConfigError> {
        let path = expand(source, Path::new(text));
        let bad = |reason: String| ConfigError::BadValue { origin: origin.to_owned(), reason };
        let canonical = path.canonicalize().map_err(|error| bad(format!("{}: {error}", path.display())))?;
        let readable = std::fs::read_dir(&canonical).map(drop);
        readable.map_err(|error| bad(format!("{}: {error}", path.display())))?;
        Ok(canonical)
    };
    let (project, workspace) = (written.project_dir.as_str(), written.workspace_dir.as_str());
    let allowed = written.allow_dir.iter();
    Ok(Directories {
        launch_dir: existing("--workdir", &written.workdir)?,
        project_dir: if project.is_empty() { None } else { Some(existing("--project-dir", project)?) },
        workspace_dir: if workspace.is_empty() { None } else { Some(existing("--workspace-dir", workspace)?) },
        allow_dirs: allowed.map(|text| existing("--allow-dir", text)).collect::<Result<_, _>>()?,
        launch_dir_is_explicit: written.workdir != ".",
        home: variable(source, "HOME").and_then(|home| Path::new(home).canonicalize().ok()),
    })
}

fn files(written: &Written, source: &Source) -> Result<crate::files::Settings, ConfigError> {
    let home = variable(source, "HOME").map(PathBuf::from);
    let patterns: Vec<String> = written.deny_dir.iter().map(str::to_owned).collect();
    Ok(crate::files::Settings {
        max_file_size: written.max_file_size,
        read_only: written.sandbox.mode == crate::sandbox::Mode::ReadOnly,
        deny: crate::files::DenyGlobs::new(&patterns, home.as_deref())
            .map_err(|reason| ConfigError::BadValue { origin: "--deny-dir".to_owned(), reason })?,
        home,
    })
}

fn refuse_inside_project(path: &Path, project: &Path) -> Result<(), ConfigError> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if real.starts_with(project) {
        return Err(ConfigError::InsideProject {
            path: path.display().to_string(),
            project: project.display().to_string(),
        });
    }
    Ok(())
}
