//! A server on another host, reached with the person's own `ssh`. The binary is copied once and known by its hash. The server
//! does not end with the connection: after a cut its calls go on, and the next connection finds their records.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use tokio::net::UnixStream;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::ssh_link::{SshLink, quoted};
use super::ssh_scripts::{CHECK, COPY, DESTROY, LIST, START};
use super::{ByteStream, Launcher, Listed, Order, PlaceError, Presence, Program, State, StateDirectory};
use crate::key::{Key, random_id};

pub struct SshSettings {
    pub host: String,
    /// Where the work begins; the home directory unless it is given.
    pub directory: Option<String>,
    /// The name in the places file.
    pub kind: String,
    /// Further arguments of the server.
    pub arguments: Vec<String>,
    pub lease: u64,
    /// Further options of `ssh`, such as `-F FILE`.
    pub options: Vec<String>,
}

pub struct Ssh {
    settings: SshSettings,
    link: SshLink,
    program: Program,
    key: Key,
    /// The host's directory of places, once it is known.
    places: Mutex<Option<String>>,
    /// One at a time makes the connection again.
    healing: Mutex<()>,
}

const LOOK: Duration = Duration::from_secs(4);

impl Ssh {
    pub fn new(settings: SshSettings, program: Program, key: Key, state: &StateDirectory) -> Result<Self, PlaceError> {
        // Two replicas on one machine have a connection each.
        let unique = random_id().map_err(|error| PlaceError::failed("no random id", error))?;
        let control = state.of(&format!("ssh-{unique}"));
        let link = SshLink::new(settings.host.clone(), control, settings.options.clone());
        Ok(Self { settings, link, program, key, places: Mutex::new(None), healing: Mutex::new(()) })
    }

    fn gateway(&self) -> String {
        self.key.tag("gateway", &self.settings.kind)
    }

    fn hash(&self) -> Result<&str, PlaceError> {
        self.program.hash().map_err(|error| PlaceError::failed("failed to read the program", error))
    }

    async fn run(&self, variables: &[(&str, &str)], script: &str, input: &[u8]) -> Result<String, PlaceError> {
        self.try_run(variables, script, input).await.map_err(|error| PlaceError::failed(&self.name(), error))
    }

    async fn try_run(&self, variables: &[(&str, &str)], script: &str, input: &[u8]) -> io::Result<String> {
        let set = variables.iter().map(|(name, value)| format!("{name}={}", quoted(value))).collect::<Vec<_>>();
        self.link.run(&format!("{}\n{script}", set.join("\n")), input).await
    }

    /// Copies the binary unless it is there, and returns the host's directory of places.
    async fn put_program(&self) -> Result<String, PlaceError> {
        let hash = self.hash()?;
        let found = self.run(&[("HASH", hash)], CHECK, b"").await?;
        let mut lines = found.lines();
        let home = lines.next().unwrap_or_default().to_owned();
        if lines.next() == Some("copy") {
            tracing::info!("copying testudo to {}", self.settings.host);
            let program = std::fs::read(&self.program.path);
            let program = program.map_err(|error| PlaceError::failed("failed to read the program", error))?;
            self.run(&[("HASH", hash)], COPY, &program).await?;
        }
        Ok(format!("{home}/.cache/testudo/places"))
    }

    /// The near end of the forwarded socket. Each replica has its own.
    fn near_end(&self, id: &str) -> PathBuf {
        let mut path = self.link.control().as_os_str().to_owned();
        path.push(format!("-{}", id.rsplit('.').next().unwrap_or(id)));
        path.into()
    }

    /// The socket of a place on its host.
    async fn far_end(&self, id: &str) -> io::Result<String> {
        let known = self.places.lock().await.clone();
        let places = match known {
            Some(places) => places,
            // Another replica made the place.
            None => format!("{}/.cache/testudo/places", self.try_run(&[], r#"cd "$HOME" && pwd"#, b"").await?.trim()),
        };
        *self.places.lock().await = Some(places.clone());
        Ok(format!("{places}/{id}/socket"))
    }

    async fn forward(&self, id: &str) -> io::Result<()> {
        self.link.forward(&self.near_end(id), &self.far_end(id).await?).await
    }

    fn listed(&self, line: &str) -> Option<Listed> {
        let mut words = line.split(' ');
        let mut word = || words.next();
        let (id, state, created) = (word()?.to_owned(), word()?, word()?.parse().ok()?);
        let (owner, slot) = (word()?.to_owned(), word()?.to_owned());
        let state = match state {
            "running" => State::Running,
            _ => State::Ended { how: format!("its server on {} has ended", self.settings.host) },
        };
        Some(Listed { id, owner: Some(owner), slot, created, state })
    }
}

#[async_trait]
impl Launcher for Ssh {
    fn name(&self) -> String {
        match &self.settings.directory {
            Some(directory) => format!("ssh:{}:{directory}", self.settings.host),
            None => format!("ssh:{}", self.settings.host),
        }
    }

    async fn make(&self, order: &Order) -> Result<String, PlaceError> {
        *self.places.lock().await = Some(self.put_program().await?);
        // The slot is the directory's name: the host makes it for one replica only.
        let id = format!("{}.{}-{}", self.gateway(), order.owner, order.slot);
        let mut arguments = self.settings.arguments.clone();
        if self.settings.lease > 0 {
            arguments.extend(["--lease".to_owned(), self.settings.lease.to_string()]);
        }
        let arguments = arguments.iter().map(|argument| quoted(argument)).collect::<Vec<_>>().join(" ");
        let variables = [
            ("ID", id.as_str()),
            ("HASH", self.hash()?),
            ("OWNER", &order.owner),
            ("SLOT", &order.slot),
            ("DIRECTORY", self.settings.directory.as_deref().unwrap_or(".")),
        ];
        let token = format!("gateway {}\n", self.token(&id));
        let script = format!("set -- {arguments}; {START}");
        let started = self.run(&variables, &script, token.as_bytes()).await;
        started.map_err(|error| if error.to_string().contains("File exists") { PlaceError::Taken } else { error })?;
        self.forward(&id).await.map_err(|error| PlaceError::failed(&self.name(), error))?;
        Ok(id)
    }

    /// Over the forwarded socket. If nobody listens there, the connection was lost and is made again.
    async fn reach(&self, id: &str) -> io::Result<Box<dyn ByteStream>> {
        let near = self.near_end(id);
        if let Ok(stream) = UnixStream::connect(&near).await {
            return Ok(Box::new(stream));
        }
        let _one = self.healing.lock().await;
        if let Ok(stream) = UnixStream::connect(&near).await {
            return Ok(Box::new(stream));
        }
        self.forward(id).await?;
        Ok(Box::new(UnixStream::connect(&near).await?))
    }

    fn token(&self, id: &str) -> String {
        self.key.token_of_place(id)
    }

    async fn presence(&self, id: &str) -> Presence {
        let places = match timeout(LOOK, self.list()).await {
            Ok(Ok(places)) => places,
            Ok(Err(error)) => return Presence::Unknown(error.to_string()),
            Err(_) => return Presence::Unknown(format!("{} does not answer", self.settings.host)),
        };
        match places.into_iter().find(|place| place.id == id) {
            Some(Listed { state: State::Ended { how }, .. }) => Presence::Gone(how),
            Some(_) => Presence::There,
            None => Presence::Gone(format!("{} has no such place any more", self.settings.host)),
        }
    }

    async fn destroy(&self, id: &str) -> Result<(), PlaceError> {
        self.run(&[("ID", id)], DESTROY, b"").await?;
        let near = self.near_end(id);
        // Otherwise ssh would listen for every place that there ever was, until it has no descriptors left.
        if near.exists()
            && let Ok(far) = self.far_end(id).await
        {
            self.link.end_forward(&near, &far).await;
        }
        let _ = std::fs::remove_file(near);
        Ok(())
    }

    async fn list(&self) -> Result<Vec<Listed>, PlaceError> {
        let found = self.run(&[("GATEWAY", &self.gateway())], LIST, b"").await?;
        Ok(found.lines().filter_map(|line| self.listed(line)).collect())
    }

    fn lease(&self) -> u64 {
        self.settings.lease
    }

    /// In the state directory of the host's user.
    fn shares_records(&self) -> bool {
        true
    }
}
