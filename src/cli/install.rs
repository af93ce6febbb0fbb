//! `testudo install`: registers the server with a client, or shows where it is registered.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};

use super::arguments::{self, Command};
use super::output::print;
use crate::base::{lexical, search_path, spelling};
use crate::config::{self, Source};
use crate::install::{CLIENTS, Client, Found, Machine, Platform, Registration, Scope, named};

/// What the person asked for.
pub struct Order {
    /// None for the list of clients.
    pub client: Option<String>,
    pub project: bool,
    pub print: bool,
    pub uninstall: bool,
    pub options: Vec<String>,
}

pub fn run(order: &Order) -> anyhow::Result<ExitCode> {
    let machine = machine()?;
    let Some(written) = &order.client else {
        print(&list(&machine))?;
        return Ok(ExitCode::SUCCESS);
    };
    let Some(client) = named(written) else { bail!(unknown(written)) };
    let scope = if order.project { Scope::Project } else { Scope::User };
    let registration = Registration::new(client, scope, &machine)?;
    let change = if order.uninstall {
        registration.uninstall()?
    } else {
        check(&order.options, &machine)?;
        // A project's own configuration is read in the project, so its paths may be relative.
        let options = match scope {
            Scope::User => absolute(&order.options, &machine.project),
            Scope::Project => order.options.clone(),
        };
        registration.install(&program(&machine)?, &options)?
    };
    let file = change.file.display().to_string();
    if change.is_none() {
        let state = if order.uninstall { "is not registered" } else { "is already registered" };
        print(&format!("testudo {state} with {} in {file}; nothing to change", client.title))?;
    } else if order.print {
        print(&change.diff())?;
    } else {
        let backup = change.write()?;
        let done = if order.uninstall { "taken back from" } else { "registered with" };
        let mut text = format!("testudo is {done} {}: {file}\n", client.title);
        if let Some(backup) = backup {
            text.push_str(&format!("  backup  {}\n", backup.display()));
        }
        if !order.uninstall {
            text.extend(notes(client, &order.options).iter().map(|note| format!("  note    {note}\n")));
            let project = if order.project { " --project" } else { "" };
            text.push_str(&format!("  undo    testudo install {}{project} --uninstall\n", client.name));
        }
        print(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// One line per registration, for `doctor`.
pub fn registrations() -> Vec<String> {
    let Ok(machine) = machine() else { return Vec::new() };
    let found = registered(&machine).into_iter().filter(|(_, _, state)| !matches!(state, Found::Nothing));
    found.map(|(client, file, state)| format!("{} in {}: {}", client.title, file.display(), in_words(&state))).collect()
}

/// What is wrong with the registrations, and what to do about it: for `doctor`.
pub fn shortcomings() -> Vec<String> {
    let Ok(machine) = machine() else { return Vec::new() };
    let found = registered(&machine);
    if found.iter().all(|(_, _, state)| matches!(state, Found::Nothing)) {
        return vec!["no client starts testudo: testudo install --list shows those on this machine".to_owned()];
    }
    let advice = |(client, file, state): &(&Client, PathBuf, Found)| {
        let (title, name, file) = (client.title, client.name, file.display());
        match state {
            Found::Entry(program, _) if is_gone(program) => {
                Some(format!("{title} starts {program}, which is not there ({file}): run testudo install {name}"))
            }
            Found::Other => Some(format!(
                "{title} has an entry \"testudo\" that starts no program ({file}): remove it, then run testudo install {name}"
            )),
            Found::Broken(error) => Some(format!("{title}'s configuration cannot be read: correct it ({error})")),
            Found::Entry(..) | Found::Nothing => None,
        }
    };
    found.iter().filter_map(advice).collect()
}

fn is_gone(program: &str) -> bool {
    Path::new(program).is_absolute() && !Path::new(program).exists()
}

fn machine() -> anyhow::Result<Machine> {
    Ok(Machine {
        platform: Platform::HERE,
        environment: std::env::vars_os().collect(),
        project: std::env::current_dir().context("failed to find the current directory")?,
    })
}

fn unknown(written: &str) -> String {
    let names = CLIENTS.iter().map(|client| client.name);
    match spelling::nearest(written, names.clone()) {
        Some(near) => format!("there is no client {written:?}; did you mean {near}?"),
        None => format!("there is no client {written:?}; the clients are {}", names.collect::<Vec<_>>().join(", ")),
    }
}

/// The options must be ones that the server starts with. The client would only say that it failed.
fn check(options: &[String], machine: &Machine) -> anyhow::Result<()> {
    let words = ["testudo".to_owned()].into_iter().chain(options.iter().cloned()).map(Into::into).collect();
    let parsed = arguments::parse(words).map_err(|error| {
        let text = error.to_string();
        let reason = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        anyhow::anyhow!("the server would not start with these options: {reason}")
    })?;
    if !matches!(parsed.command, Command::Serve) {
        bail!("only options of the server may stand behind `--`, no subcommand");
    }
    // What this shell has set will not be there when the client starts the server.
    let environment = machine.environment.iter().filter(|(name, _)| !name.to_string_lossy().starts_with("TESTUDO_"));
    let source = Source {
        environment: environment.cloned().collect(),
        flags: parsed.flags,
        current_dir: Some(machine.project.clone()),
    };
    let config = config::load(&source).context("the server would not start with these options")?;
    Ok(config.tools.check(&crate::tools::names())?)
}

/// The options of the server whose value is a path.
const PATH_FLAGS: [&str; 6] =
    ["--workdir", "--project-dir", "--workspace-dir", "--allow-dir", "--config", "--token-file"];

/// The options with absolute paths: a client starts the server in a directory that nobody knows now.
fn absolute(options: &[String], directory: &Path) -> Vec<String> {
    let path = |path: &str| {
        let from_home = path.starts_with('~');
        if from_home { path.to_owned() } else { lexical::normal(&directory.join(path)).display().to_string() }
    };
    let mut after_flag = false;
    let word = |word: &String| {
        let is_value = std::mem::replace(&mut after_flag, PATH_FLAGS.contains(&word.as_str()));
        match word.split_once('=') {
            _ if is_value => path(word),
            Some((flag, value)) if PATH_FLAGS.contains(&flag) => format!("{flag}={}", path(value)),
            _ => word.clone(),
        }
    };
    options.iter().map(word).collect()
}

/// The path that clients start. A link in the search path, which stays when the version behind it changes, is preferred
/// to the file that it leads to.
fn program(machine: &Machine) -> anyhow::Result<String> {
    let own = std::env::current_exe().context("failed to find this program's own path")?;
    let by_name = search_path::program(&machine.environment, "testudo");
    let is_own = |path: &PathBuf| path.canonicalize().ok() == own.canonicalize().ok();
    let path = by_name.filter(is_own).unwrap_or(own);
    match path.to_str() {
        Some(text) if path.exists() => Ok(text.to_owned()),
        Some(text) => bail!("the program {text} is no longer there; start the new one and try again"),
        None => bail!("the path of this program is not UTF-8: {}", path.display()),
    }
}

fn notes(client: &Client, options: &[String]) -> Vec<String> {
    let named =
        |option: &String| ["--project-dir", "--allow-dir", "--workdir"].iter().any(|flag| option.starts_with(flag));
    let project = (!client.knows_project && !options.iter().any(named)).then(|| {
        format!(
            "{} does not say which project is open, so file tools have none; name one: testudo install {} -- \
             --project-dir DIR",
            client.title, client.name
        )
    });
    project.into_iter().chain(client.note.map(str::to_owned)).collect()
}

/// Every configuration file that may hold a registration, and what it holds.
fn registered(machine: &Machine) -> Vec<(&'static Client, PathBuf, Found)> {
    let scopes = |client: &'static Client| {
        [Scope::User, Scope::Project]
            .into_iter()
            .filter_map(move |scope| Registration::new(client, scope, machine).ok())
    };
    let all = CLIENTS.iter().flat_map(scopes);
    let mut rows: Vec<(&'static Client, PathBuf, Found)> = Vec::new();
    for registration in all {
        let state = registration.found();
        let is_shown = registration.scope == Scope::User || !matches!(state, Found::Nothing);
        // In the home directory, the file of the project is the file of the person.
        if is_shown && !rows.iter().any(|(_, file, _)| *file == registration.file) {
            rows.push((registration.client, registration.file, state));
        }
    }
    rows
}

fn list(machine: &Machine) -> String {
    let mut text = format!("{:<16}{:<12}{}\n", "client", "on this", "registered");
    text.push_str(&format!("{:<16}{:<12}{}\n", "", "machine", ""));
    for (client, file, state) in registered(machine) {
        let here = if client.is_here(machine) { "yes" } else { "no" };
        let state = match state {
            Found::Nothing => "no".to_owned(),
            state => format!("{} ({})", in_words(&state), file.display()),
        };
        text.push_str(&format!("{:<16}{here:<12}{state}\n", client.name));
    }
    text
}

fn in_words(state: &Found) -> String {
    match state {
        Found::Nothing => "not registered".to_owned(),
        Found::Entry(program, options) => {
            let words: Vec<&str> = [program.as_str()].into_iter().chain(options.iter().map(String::as_str)).collect();
            let fault = if is_gone(program) { "; the program is not there, run testudo install again" } else { "" };
            format!("yes: {}{fault}", words.join(" "))
        }
        Found::Other => "an entry \"testudo\" that starts no program".to_owned(),
        Found::Broken(error) => format!("unknown: {error}"),
    }
}
