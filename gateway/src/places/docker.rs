//! Containers of Docker or Podman on this machine. The static binary and a private directory are mounted into any image, so
//! the image needs nothing, and the server's socket and token lie in that directory. Nothing is run with `exec`.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use async_trait::async_trait;
use hyper::StatusCode;
use serde_json::{Value, json};
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep, timeout};

use super::docker_containers::{WARM, container_name, listed, state, without_heads};
use super::docker_engine::{Engine, EngineError, encoded};
use super::docker_settings::DockerSettings;
use super::{ByteStream, Launcher, Listed, Order, PlaceError, Presence, Program, State, StateDirectory, now};
use crate::key::{Key, random_id};

pub struct Docker {
    settings: DockerSettings,
    engine: Engine,
    program: Program,
    key: Key,
    state: StateDirectory,
}

/// Inside the container.
const PROGRAM: &str = "/.testudo/testudo";
const DIRECTORY: &str = "/.testudo/run";
const START: Duration = Duration::from_mins(1);
/// An engine that does not say in this time whether a container is there does not answer.
const LOOK: Duration = Duration::from_secs(2);
/// A directory without a container is left over from a gateway that died, unless its container is being made now.
const LEFT_OVER: u64 = 120;

impl Docker {
    pub fn new(
        settings: DockerSettings,
        program: Program,
        key: Key,
        state: StateDirectory,
    ) -> Result<Self, PlaceError> {
        let engine = Engine::parse(&settings.engine).map_err(PlaceError::Failed)?;
        Ok(Self { settings, engine, program, key, state })
    }

    async fn create(&self, owner: &str, slot: &str) -> Result<String, PlaceError> {
        let id = random_id().map_err(|error| PlaceError::failed("no random id", error))?;
        let image = self.image().await?;
        let user = self.user(image["Config"]["User"].as_str().unwrap_or_default())?;
        let directory = self.state.make(&id, &self.token(&id), user);
        let directory =
            directory.map_err(|error| PlaceError::failed("failed to make the directory of a place", error))?;
        let body = self.container(&id, owner, &directory.display().to_string(), user, &image["Config"]);
        let made = self.create_container(owner, slot, &body).await;
        let started = match made {
            Ok(container) => match self.start(&id, &container).await {
                Ok(()) => return Ok(id),
                Err(error) => {
                    let _ = self.engine.delete(&format!("/containers/{container}?force=1&v=1")).await;
                    Err(error)
                }
            },
            Err(error) => Err(error),
        };
        self.state.remove(&id);
        started
    }

    async fn create_container(&self, owner: &str, slot: &str, body: &Value) -> Result<String, PlaceError> {
        let path = format!("/containers/create?name={}", encoded(&container_name(owner, slot)));
        let made = self.engine.post(&path, Some(body)).await.map_err(|error| match error {
            error if error.is(StatusCode::CONFLICT) => PlaceError::Taken,
            error => self.failed("to create a container", &error),
        })?;
        Ok(made["Id"].as_str().unwrap_or_default().to_owned())
    }

    /// What the engine knows of the image, which is fetched if it is not there.
    async fn image(&self) -> Result<Value, PlaceError> {
        let path = format!("/images/{}/json", self.settings.image);
        match self.engine.get(&path).await {
            Err(error) if error.is(StatusCode::NOT_FOUND) => {
                tracing::info!("fetching the image {}", self.settings.image);
                self.engine.pull(&self.settings.image).await.map_err(|error| self.not_fetched(&error))?;
                self.engine.get(&path).await.map_err(|error| self.failed("to find the image", &error))
            }
            found => found.map_err(|error| self.failed("to find the image", &error)),
        }
    }

    fn not_fetched(&self, error: &EngineError) -> PlaceError {
        let (engine, image) = (self.settings.engine_name, &self.settings.image);
        let failed = self.failed("to fetch the image", error);
        PlaceError::Failed(format!(
            "{failed}. This machine does not have the image: correct its name, or see what `{engine} pull {image}` says"
        ))
    }

    fn container(&self, id: &str, owner: &str, directory: &str, user: (u32, u32), image: &Value) -> Value {
        let settings = &self.settings;
        let mut binds =
            vec![format!("{}:{PROGRAM}:ro", self.program.path.display()), format!("{directory}:{DIRECTORY}")];
        binds.extend(settings.project.as_ref().map(|project| format!("{0}:{0}", project.display())));
        binds.extend(settings.mounts.iter().cloned());
        let from_image = image["WorkingDir"].as_str().filter(|path| !["", "/"].contains(path));
        let workdir = settings.project.as_ref().map(|project| project.display().to_string());
        let workdir = workdir.or_else(|| settings.workdir.clone());
        let workdir = workdir.unwrap_or_else(|| from_image.unwrap_or("/work").to_owned());
        let mut command = vec![PROGRAM.to_owned(), "--transport".to_owned(), "http".to_owned()];
        command.extend(["--listen".to_owned(), format!("unix:{DIRECTORY}/socket")]);
        command.extend(["--token-file".to_owned(), format!("{DIRECTORY}/token")]);
        if settings.lease > 0 {
            command.extend(["--lease".to_owned(), settings.lease.to_string()]);
        }
        command.extend(settings.arguments.iter().cloned());
        // The image's user may have no home that can be written, and calls are not run without their record.
        let mut environment = vec![format!("XDG_STATE_HOME={DIRECTORY}")];
        environment.extend(settings.environment.iter().cloned());
        let security: &[&str] =
            if settings.full_sandbox { &["seccomp=unconfined", "systempaths=unconfined"] } else { &[] };
        let mut body = json!({
            "Image": settings.image,
            "Entrypoint": command,
            "Cmd": [],
            "User": format!("{}:{}", user.0, user.1),
            "WorkingDir": workdir,
            "Env": environment,
            "Labels": {
                "testudo.gateway": self.gateway(),
                "testudo.kind": settings.kind,
                "testudo.place": id,
                "testudo.owner": owner,
            },
            "HostConfig": {
                "Binds": binds,
                "SecurityOpt": security,
                "Memory": settings.memory.unwrap_or(0),
                "PidsLimit": settings.pids,
                "NetworkMode": settings.network.as_deref().unwrap_or(""),
                "Runtime": settings.runtime.as_deref().unwrap_or(""),
            },
        });
        if let Some(cpus) = settings.cpus {
            #[expect(clippy::cast_possible_truncation, reason = "a count of processors is small")]
            let nano = (cpus * 1e9) as i64;
            body["HostConfig"]["NanoCpus"] = json!(nano);
        }
        body
    }

    /// Who runs the server. Files in a mounted project belong to the person outside too. A gateway of root lets the image
    /// decide, unless the project has an owner.
    fn user(&self, of_image: &str) -> Result<(u32, u32), PlaceError> {
        if let Some(user) = &self.settings.user {
            return parse_user(user).ok_or_else(|| PlaceError::Failed(format!("user = {user:?} has to be UID:GID")));
        }
        let own = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let project = self.settings.project.as_ref().and_then(|project| std::fs::metadata(project).ok());
        match project {
            _ if own.0 != 0 => Ok(own),
            Some(project) => Ok((project.uid(), project.gid())),
            None if of_image.is_empty() => Ok((0, 0)),
            None => parse_user(of_image).ok_or_else(|| {
                PlaceError::Failed(format!(
                    "{} runs as the user {of_image:?}, whose number only the image knows; set user = \"UID:GID\"",
                    self.name()
                ))
            }),
        }
    }

    /// Returns when the server inside answers.
    async fn start(&self, id: &str, container: &str) -> Result<(), PlaceError> {
        let path = format!("/containers/{container}/start");
        let started = self.engine.post(&path, None).await;
        started.map_err(|error| {
            PlaceError::Failed(format!("{}{}", self.failed("to start the container", &error), self.program_fault()))
        })?;
        let (socket, begin) = (self.state.socket(id), Instant::now());
        let mut looked = begin;
        while UnixStream::connect(&socket).await.is_err() {
            if looked.elapsed() > Duration::from_millis(500) {
                looked = Instant::now();
                let found = self.engine.get(&format!("/containers/{container}/json")).await;
                let has_ended = found.is_ok_and(|found| found["State"]["Running"] == json!(false));
                if has_ended || begin.elapsed() > START {
                    let how = if has_ended { "ended at once" } else { "does not answer" };
                    let log = self.log(container).await;
                    return Err(PlaceError::Failed(format!(
                        "the server in the container {how} ({}): {log}{}",
                        self.name(),
                        self.program_fault()
                    )));
                }
            }
            sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    /// Why no container can run the program, if that is so.
    fn program_fault(&self) -> String {
        if self.program.is_static().unwrap_or(true) {
            return String::new();
        }
        let path = self.program.path.display();
        format!(". {path} is not static, and images lack its libraries; name the release with --testudo PATH")
    }

    /// The last words of a container.
    async fn log(&self, container: &str) -> String {
        let path = format!("/containers/{container}/logs?stdout=1&stderr=1&tail=20");
        let log = self.engine.get(&path).await.ok();
        let text = log.as_ref().and_then(Value::as_str).unwrap_or_default();
        without_heads(text).trim().to_owned()
    }

    fn failed(&self, what: &str, error: &EngineError) -> PlaceError {
        PlaceError::Failed(format!("failed {what} ({}): {error}", self.name()))
    }

    fn gateway(&self) -> String {
        self.key.tag("gateway", "")
    }

    async fn containers(&self, label: &str) -> Result<Vec<Value>, EngineError> {
        self.with_labels(&[format!("testudo.gateway={}", self.gateway()), label.to_owned()]).await
    }

    async fn with_labels(&self, labels: &[String]) -> Result<Vec<Value>, EngineError> {
        let filters = json!({ "label": labels }).to_string();
        let found = self.engine.get(&format!("/containers/json?all=1&filters={}", encoded(&filters))).await?;
        Ok(found.as_array().cloned().unwrap_or_default())
    }

    /// The container of a place, also if a person gave it another name.
    async fn find(&self, id: &str) -> Result<Option<Value>, EngineError> {
        Ok(self.containers(&format!("testudo.place={id}")).await?.pop())
    }

    async fn own(&self) -> Result<Vec<(String, Listed)>, PlaceError> {
        let own = self.containers(&format!("testudo.kind={}", self.settings.kind)).await;
        let own = own.map_err(|error| self.failed("to list containers", &error))?;
        Ok(own.iter().filter_map(listed).collect())
    }

    /// Gives a waiting container to an owner. Docker finds a container by its old name before it takes the lock under which it
    /// renames, so of two who rename it at once both can succeed. The state directory says who was first.
    async fn claim(&self, order: &Order) -> Result<Option<String>, PlaceError> {
        if self.settings.warm == 0 {
            return Ok(None);
        }
        let waiting = self.own().await?;
        let waiting = waiting.into_iter().filter(|(_, one)| one.owner.is_none() && one.state == State::Running);
        for (_, one) in waiting {
            if !self.state.take(&one.id) {
                continue;
            }
            let name = encoded(&container_name(&order.owner, &order.slot));
            // By its name, not by its id: a container that another replica has taken has another name now.
            let old = container_name(WARM, &one.slot);
            match self.engine.post(&format!("/containers/{}/rename?name={name}", encoded(&old)), None).await {
                Ok(_) => return Ok(Some(one.id)),
                Err(error) if error.is(StatusCode::NOT_FOUND) => {}
                Err(error) if error.is(StatusCode::CONFLICT) => return Err(PlaceError::Taken),
                Err(error) => return Err(self.failed("to take a waiting container", &error)),
            }
        }
        Ok(None)
    }
}

#[async_trait]
impl Launcher for Docker {
    fn name(&self) -> String {
        format!("{}:{}", self.settings.engine_name, self.settings.image)
    }

    async fn make(&self, order: &Order) -> Result<String, PlaceError> {
        match self.claim(order).await? {
            Some(id) => Ok(id),
            None => self.create(&order.owner, &order.slot).await,
        }
    }

    async fn reach(&self, id: &str) -> io::Result<Box<dyn ByteStream>> {
        Ok(Box::new(UnixStream::connect(self.state.socket(id)).await?))
    }

    fn token(&self, id: &str) -> String {
        self.key.token_of_place(id)
    }

    async fn presence(&self, id: &str) -> Presence {
        let found = match timeout(LOOK, self.find(id)).await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => return Presence::Unknown(error.to_string()),
            Err(_) => return Presence::Unknown(format!("the engine at {} does not answer", self.engine.address())),
        };
        let Some(container) = found else {
            return Presence::Gone("the engine has no such container any more".to_owned());
        };
        match state(&container) {
            State::Ended { how } => Presence::Gone(how),
            _ if container["State"] == json!("paused") => Presence::Frozen("its container is paused".to_owned()),
            _ => Presence::There,
        }
    }

    async fn destroy(&self, id: &str) -> Result<(), PlaceError> {
        let found = self.find(id).await.map_err(|error| self.failed("to find the container", &error))?;
        if let Some(container) = found.as_ref().and_then(|found| found["Id"].as_str()) {
            match self.engine.delete(&format!("/containers/{container}?force=1&v=1")).await {
                // Another replica removes it, or has removed it.
                Err(error) if !error.is(StatusCode::NOT_FOUND) && !error.is(StatusCode::CONFLICT) => {
                    return Err(self.failed("to remove the container", &error));
                }
                _ => {}
            }
        }
        self.state.remove(id);
        Ok(())
    }

    async fn list(&self) -> Result<Vec<Listed>, PlaceError> {
        Ok(self.own().await?.into_iter().map(|(_, listed)| listed).collect())
    }

    /// Their keys are gone, so they are known by their label alone. A server without a gateway ends itself.
    async fn clear_left_over(&self) -> Result<(), PlaceError> {
        let found = self.with_labels(&[format!("testudo.kind={}", self.settings.kind)]).await;
        let found = found.map_err(|error| self.failed("to list containers", &error))?;
        for (container, one) in found.iter().filter_map(listed) {
            let age = now().saturating_sub(one.created);
            let is_left_over = match one.state {
                State::Running => false,
                // Its gateway may be at work on it.
                State::Unstarted => age > LEFT_OVER,
                // Its gateway may just tell its client how it ended.
                State::Ended { .. } => age > self.settings.lease,
            };
            if is_left_over {
                let removed = self.engine.delete(&format!("/containers/{container}?v=1")).await;
                removed.map_err(|error| self.failed("to remove the container", &error))?;
                self.state.remove(&one.id);
            }
        }
        Ok(())
    }

    fn lease(&self) -> u64 {
        self.settings.lease
    }

    async fn prepare(&self) -> Result<(), PlaceError> {
        let own = self.own().await?;
        for (id, age) in self.state.all() {
            if age > LEFT_OVER && !own.iter().any(|(_, listed)| listed.id == id) {
                self.state.remove(&id);
            }
        }
        let waiting = own.iter().filter(|(_, one)| one.owner.is_none() && one.state == State::Running).count();
        for _ in waiting..self.settings.warm {
            let slot = random_id().map_err(|error| PlaceError::failed("no random id", error))?;
            self.create(WARM, &slot).await?;
        }
        Ok(())
    }
}

/// `UID` or `UID:GID`.
fn parse_user(text: &str) -> Option<(u32, u32)> {
    let (user, group) = text.split_once(':').unwrap_or((text, text));
    Some((user.parse().ok()?, group.parse().ok()?))
}
