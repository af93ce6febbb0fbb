use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{Change, Client, ENTRY, InstallError, Machine, Shape, change};

/// Whose configuration it is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Scope {
    User,
    Project,
}

/// A client's configuration file, and what is to be done in it.
#[derive(Debug)]
pub struct Registration {
    pub client: &'static Client,
    pub scope: Scope,
    pub file: PathBuf,
    shape: Shape,
}

/// What was found of the server in a client's configuration.
#[derive(Debug)]
pub enum Found {
    Nothing,
    /// The program and its options.
    Entry(String, Vec<String>),
    /// An entry of our name that starts no program, or not by a command that we understand.
    Other,
    Broken(InstallError),
}

impl Registration {
    pub fn new(client: &'static Client, scope: Scope, machine: &Machine) -> Result<Self, InstallError> {
        let candidates: Vec<(PathBuf, Shape)> = match scope {
            Scope::User => {
                client.user.iter().filter_map(|(location, shape)| Some((location.on(machine)?, *shape))).collect()
            }
            Scope::Project => {
                let shape = client.user.first().map_or(Shape::Plain, |(_, shape)| *shape);
                client.project.iter().map(|path| (machine.project.join(path), shape)).collect()
            }
        };
        let exists = |(path, _): &&(PathBuf, Shape)| path.symlink_metadata().is_ok();
        // A client that is installed but not configured yet has the directory only.
        let has_directory =
            |(path, _): &&(PathBuf, Shape)| path.parent().is_some_and(|parent| scope == Scope::User && parent.is_dir());
        let chosen = candidates.iter().find(exists).or_else(|| candidates.iter().find(has_directory));
        match chosen.or(candidates.first()) {
            Some((file, shape)) => Ok(Self { client, scope, file: file.clone(), shape: *shape }),
            None if scope == Scope::Project => Err(InstallError::NoProjectFile { title: client.title }),
            None => Err(InstallError::NoHome),
        }
    }

    pub fn found(&self) -> Found {
        let entry = change::read(&self.file).and_then(|text| match text {
            Some(text) => Ok(self.entry(&self.parse(&text)?).cloned()),
            None => Ok(None),
        });
        match entry {
            Ok(None) => Found::Nothing,
            Ok(Some(entry)) => match self.shape.command(&entry) {
                Some((program, options)) => Found::Entry(program, options),
                None => Found::Other,
            },
            Err(error) => Found::Broken(error),
        }
    }

    /// The change that registers the program with these options.
    pub fn install(&self, program: &str, options: &[String]) -> Result<Change, InstallError> {
        let before = change::read(&self.file)?;
        let after = self.with_entry(before.as_deref().unwrap_or_default(), program, options)?;
        Ok(Change { file: self.file.clone(), scope: self.scope, before, after: Some(after), drops_backup: false })
    }

    /// The change that takes the entry back. If nothing else in the file has changed since the installation, it is again
    /// what it was before, byte for byte.
    pub fn uninstall(&self) -> Result<Change, InstallError> {
        let before = change::read(&self.file)?;
        let unchanged = |before| Change {
            file: self.file.clone(),
            scope: self.scope,
            after: Clone::clone(&before),
            before,
            drops_backup: false,
        };
        let Some(text) = &before else { return Ok(unchanged(None)) };
        let value = self.parse(text)?;
        let Some(entry) = self.entry(&value) else { return Ok(unchanged(before)) };
        let backup = change::read(&change::backup_of(&self.file)).ok().flatten();
        // A backup from before an update of the entry would bring the old entry back.
        let backup = backup.filter(|backup| self.parse(backup).is_ok_and(|value| self.entry(&value).is_none()));
        if let (Some(backup), Some((program, options))) = (backup, self.shape.command(entry))
            && self.with_entry(&backup, &program, &options).is_ok_and(|again| again == *text)
        {
            return Ok(Change { after: Some(backup), drops_backup: true, ..unchanged(before) });
        }
        let format = self.client.format;
        let after = format.remove(text, &[self.client.servers, ENTRY]).map_err(|fault| InstallError::Layout {
            path: self.file.clone(),
            fault,
            entry: ENTRY.to_owned(),
            snippet: "remove it".to_owned(),
        })?;
        // A file that holds nothing but our empty table was made by the installation.
        let is_empty = |value: &Value| match value.as_object() {
            Some(table) => table.iter().all(|(key, inner)| {
                key == self.client.servers
                    && (inner.is_null() || inner.as_object().is_some_and(serde_json::Map::is_empty))
            }),
            None => value.is_null(),
        };
        let keeps_comments = ["#", "//", "/*"].iter().any(|mark| after.contains(mark));
        let nothing_left = format.read(&after).is_ok_and(|value| is_empty(&value)) && !keeps_comments;
        Ok(Change { after: (!nothing_left).then_some(after), ..unchanged(before) })
    }

    fn parse(&self, text: &str) -> Result<Value, InstallError> {
        let fault = |fault| InstallError::Broken { path: self.file.clone(), fault };
        self.client.format.read(text).map_err(fault)
    }

    fn entry<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        value.get(self.client.servers)?.get(ENTRY)
    }

    fn with_entry(&self, text: &str, program: &str, options: &[String]) -> Result<String, InstallError> {
        let value = self.parse(text)?;
        let format = self.client.format;
        let refused = |fault| InstallError::Layout {
            path: self.file.clone(),
            fault,
            entry: format!("{}.{ENTRY}", self.client.servers),
            snippet: self.shape.entry(program, options).to_value().to_string(),
        };
        let servers = self.client.servers;
        let Some(entry) = self.entry(&value) else {
            return format.set(text, &[servers, ENTRY], &self.shape.entry(program, options)).map_err(refused);
        };
        self.refuse_other_kind(entry)?;
        let mut text = text.to_owned();
        for field in self.shape.fields(program, options) {
            let present = field.path.iter().try_fold(entry, |value, key| value.get(key));
            // A list of options that is not there means none.
            let is_same = match present {
                Some(present) => *present == field.item.to_value(),
                None => field.item == super::Item::List(Vec::new()),
            };
            if !field.initial && !is_same {
                let path = [&[servers, ENTRY], field.path].concat();
                text = format.set(&text, &path, &field.item).map_err(refused)?;
            }
        }
        Ok(text)
    }

    /// An entry for a server on the network must not be mixed with one for a program.
    fn refuse_other_kind(&self, entry: &Value) -> Result<(), InstallError> {
        let address = ["url", "httpUrl", "serverUrl", "uri"].into_iter().find(|key| entry.get(key).is_some());
        let kind = match (entry.is_object(), address) {
            (true, None) => return Ok(()),
            (true, Some(key)) => format!("it has {key:?}"),
            (false, _) => "it is not a table".to_owned(),
        };
        Err(InstallError::OtherEntry { path: self.file.clone(), kind })
    }
}

impl Client {
    /// Whether there are signs of the client on this machine.
    pub fn is_here(&self, machine: &Machine) -> bool {
        let home = machine.home();
        let configured = |path: &Path| {
            path.exists() || path.parent().is_some_and(|parent| parent.is_dir() && Some(parent) != home.as_deref())
        };
        self.programs.iter().any(|program| machine.has_program(program))
            || self.user.iter().filter_map(|(location, _)| location.on(machine)).any(|path| configured(&path))
    }
}
