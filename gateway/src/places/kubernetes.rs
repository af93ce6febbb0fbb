//! Pods of a Kubernetes cluster. The cluster schedules them, and its labels say which are ours.
//!
//! `kubernetes:NAME` is a SandboxWarmPool (kubernetes-sigs/agent-sandbox), of which each place claims one pod that is ready,
//! or otherwise a PodTemplate, from which each place gets a pod of its own. Commands never run through the cluster's `exec`:
//! it was seen to report success with half of the output. The server in the pod has the record of every call.

use std::collections::HashSet;
use std::io;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio::time::{Instant, sleep, timeout};

use super::kubernetes_claims as claims;
use super::kubernetes_cluster::{Cluster, ClusterError};
use super::kubernetes_objects::{self as objects, Inside, Labels, PORT};
use super::{ByteStream, Launcher, Listed, Order, PlaceError, Presence, State, now};
use crate::key::{Key, random_id};

pub struct KubernetesSettings {
    /// `[NAMESPACE/]NAME` of a SandboxWarmPool or a PodTemplate.
    pub template: String,
    /// The name in the places file.
    pub kind: String,
    /// The image with `testudo-gateway` and `testudo`, from which an init container copies the program. Warm pools need none.
    pub program_image: Option<String>,
    /// The token of all servers in a warm pool. Without it each pod from a PodTemplate gets a token of its own.
    pub pool_token: Option<String>,
    pub reach: Reach,
    pub environment: Vec<(String, String)>,
    pub arguments: Vec<String>,
    pub lease: u64,
    /// A claim ends after so many seconds.
    pub lifetime: u64,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reach {
    /// Straight to the address of the pod: one hop, from inside the cluster.
    Address,
    /// Through the API server, from anywhere.
    PortForward,
}

impl Reach {
    /// A gateway in the cluster can reach its pods.
    pub fn usual() -> Self {
        if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() { Self::Address } else { Self::PortForward }
    }
}

pub struct Kubernetes {
    settings: KubernetesSettings,
    key: Key,
    cluster: Cluster,
    namespace: OnceCell<String>,
}

const START: Duration = Duration::from_mins(2);
const CONNECT: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_secs(4);
const NOT_THERE: &str = "the cluster has no such pod or claim any more";
const EXTENSIONS: &str = "/apis/extensions.agents.x-k8s.io/v1beta1";

impl Kubernetes {
    pub fn new(settings: KubernetesSettings, key: Key) -> Self {
        Self { settings, key, cluster: Cluster::default(), namespace: OnceCell::new() }
    }

    /// The name of the pool or template, without its namespace.
    fn template(&self) -> &str {
        self.settings.template.rsplit_once('/').map_or(self.settings.template.as_str(), |(_, name)| name)
    }

    async fn namespace(&self) -> Result<&str, ClusterError> {
        let find = async || match self.settings.template.split_once('/') {
            Some((namespace, _)) => Ok(namespace.to_owned()),
            None => self.cluster.usual_namespace().await,
        };
        Ok(self.namespace.get_or_try_init(find).await?)
    }

    async fn pods(&self) -> Result<String, ClusterError> {
        Ok(format!("/api/v1/namespaces/{}/pods", self.namespace().await?))
    }

    async fn claims(&self) -> Result<String, ClusterError> {
        Ok(format!("{EXTENSIONS}/namespaces/{}/sandboxclaims", self.namespace().await?))
    }

    fn failed(&self, what: &str, error: &ClusterError) -> PlaceError {
        PlaceError::Failed(format!("failed {what} ({}): {error}", self.name()))
    }

    /// Pods and claims with a label, each with the path at which it is. A cluster without agent-sandbox has no claims.
    async fn with_label(&self, label: &str) -> Result<Vec<(String, Value)>, ClusterError> {
        let selector = format!("testudo.gateway%3D{},{label}", self.key.tag("gateway", ""));
        let mut found = Vec::new();
        for kind in [self.claims().await?, self.pods().await?] {
            let list = self.cluster.find(&format!("{kind}?labelSelector={selector}")).await?;
            let items = list.as_ref().and_then(|list| list["items"].as_array()).into_iter().flatten();
            found.extend(
                items.filter_map(|item| Some((format!("{kind}/{}", item["metadata"]["name"].as_str()?), item.clone()))),
            );
        }
        Ok(found)
    }

    async fn place(&self, id: &str) -> Result<Option<(String, Value)>, ClusterError> {
        Ok(self.with_label(&format!("testudo.place%3D{id}")).await?.into_iter().next())
    }

    /// The path and the body with which a place is made.
    async fn order(&self, labels: &Labels) -> Result<(String, Value), PlaceError> {
        let failed = |error: ClusterError| self.failed("to look for the template", &error);
        let (namespace, name) = (self.namespace().await.map_err(failed)?, self.template());
        let pool = format!("{EXTENSIONS}/namespaces/{namespace}/sandboxwarmpools/{name}");
        if self.cluster.find(&pool).await.map_err(failed)?.is_some() {
            if self.settings.pool_token.is_none() {
                let missing =
                    "the servers of a SandboxWarmPool have a token in common, which place_token_file has to name";
                return Err(PlaceError::Failed(missing.to_owned()));
            }
            return Ok((self.claims().await.map_err(failed)?, objects::claim(name, labels, self.settings.lifetime)));
        }
        let template =
            self.cluster.find(&format!("/api/v1/namespaces/{namespace}/podtemplates/{name}")).await.map_err(failed)?;
        let Some(template) = template else {
            let missing =
                format!("the namespace {namespace} has neither a SandboxWarmPool nor a PodTemplate named {name}");
            return Err(PlaceError::Failed(missing));
        };
        let Some(program_image) = &self.settings.program_image else {
            let missing =
                "a pod from a PodTemplate needs program_image, the image from which testudo is copied into it";
            return Err(PlaceError::Failed(missing.to_owned()));
        };
        let inside = Inside {
            token: &self.token(&labels.place),
            lease: self.settings.lease,
            arguments: &self.settings.arguments,
            environment: &self.settings.environment,
            program_image,
        };
        let pod = objects::pod(&template["template"], labels, &inside).map_err(PlaceError::Failed)?;
        Ok((self.pods().await.map_err(failed)?, pod))
    }

    /// Returns when the server in the pod answers the cluster's own probe.
    async fn wait(&self, path: &str) -> Result<(), PlaceError> {
        let begin = Instant::now();
        loop {
            let found = self.cluster.find(path).await.map_err(|error| self.failed("to look at the pod", &error))?;
            let Some(object) = found else {
                return Err(PlaceError::Failed(format!("{path} was deleted before it was ready")));
            };
            if let Presence::Gone(how) = objects::presence(&object) {
                return Err(PlaceError::Failed(how));
            }
            if objects::is_ready(&object) {
                return Ok(());
            }
            if let Some(why) = objects::stuck(&object) {
                return Err(PlaceError::failed("the pod cannot start", why));
            }
            if begin.elapsed() > START {
                let why = objects::progress(&object);
                return Err(PlaceError::Failed(format!("{path} is not ready after {} s: {why}", START.as_secs())));
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Notes which pod a claim got, before any call.
    async fn note(&self, path: &str) -> Result<(), PlaceError> {
        let failed = |error: ClusterError| self.failed("to note the pod of a claim", &error);
        let namespace = self.namespace().await.map_err(failed)?;
        claims::note(&self.cluster, namespace, path).await.map_err(failed)?.map_err(PlaceError::Failed)
    }

    /// The pod of a place, or how it is gone.
    async fn pod(&self, id: &str) -> Result<Result<Value, String>, ClusterError> {
        let Some((_, object)) = self.place(id).await? else { return Ok(Err(NOT_THERE.to_owned())) };
        if !claims::is_claim(&object) {
            return Ok(Ok(object));
        }
        claims::pod(&self.cluster, self.namespace().await?, &object).await
    }

    async fn look(&self, id: &str) -> Result<Presence, ClusterError> {
        let Some((_, object)) = self.place(id).await? else { return Ok(Presence::Gone(NOT_THERE.to_owned())) };
        if !claims::is_claim(&object) {
            return Ok(objects::presence(&object));
        }
        claims::presence(&self.cluster, self.namespace().await?, &object).await
    }
}

#[async_trait]
impl Launcher for Kubernetes {
    fn name(&self) -> String {
        format!("kubernetes:{}", self.settings.template)
    }

    async fn make(&self, order: &Order) -> Result<String, PlaceError> {
        let id = random_id().map_err(|error| PlaceError::failed("no random id", error))?;
        let labels = Labels {
            gateway: self.key.tag("gateway", ""),
            kind: self.settings.kind.clone(),
            place: id.clone(),
            owner: order.owner.clone(),
            slot: order.slot.clone(),
            created: now(),
        };
        let (path, object) = self.order(&labels).await?;
        self.cluster.create(&path, &object).await.map_err(|error| match error {
            error if error.is(409) => PlaceError::Taken,
            error => self.failed("to make a place", &error),
        })?;
        let path = format!("{path}/{}", labels.name());
        let mut made = self.wait(&path).await;
        if made.is_ok() && claims::is_claim(&object) {
            made = self.note(&path).await;
        }
        if let Err(error) = made {
            if let Err(left) = self.cluster.delete(&path).await {
                tracing::warn!("{path} is left over: {left}");
            }
            return Err(error);
        }
        Ok(id)
    }

    async fn reach(&self, id: &str) -> io::Result<Box<dyn ByteStream>> {
        let other = |error: ClusterError| io::Error::other(error.to_string());
        let pod = self.pod(id).await.map_err(other)?.map_err(io::Error::other)?;
        if self.settings.reach == Reach::PortForward {
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            return self.cluster.port_forward(self.namespace().await.map_err(other)?, name, PORT).await;
        }
        let address = objects::address(&pod).map_err(io::Error::other)?;
        let stream = timeout(CONNECT, TcpStream::connect((address, PORT))).await??;
        super::prepare_tcp(&stream)?;
        Ok(Box::new(stream))
    }

    fn token(&self, id: &str) -> String {
        self.settings.pool_token.clone().unwrap_or_else(|| self.key.token_of_place(id))
    }

    fn lease(&self) -> u64 {
        self.settings.lease
    }

    async fn presence(&self, id: &str) -> Presence {
        match timeout(LOOK, self.look(id)).await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => Presence::Unknown(error.to_string()),
            Err(_) => Presence::Unknown("the cluster does not answer".to_owned()),
        }
    }

    async fn destroy(&self, id: &str) -> Result<(), PlaceError> {
        let found = self.place(id).await.map_err(|error| self.failed("to find the place", &error))?;
        let Some((path, _)) = found else { return Ok(()) };
        self.cluster.delete(&path).await.map_err(|error| self.failed("to delete the place", &error))
    }

    async fn list(&self) -> Result<Vec<Listed>, PlaceError> {
        let failed = |error: ClusterError| self.failed("to list places", &error);
        let all = self.with_label(&format!("testudo.kind%3D{}", self.settings.kind)).await.map_err(failed)?;
        let has_claims = all.iter().any(|(_, object)| claims::uid(object).is_some());
        let there = if has_claims {
            self.cluster.uids(&self.pods().await.map_err(failed)?).await.map_err(failed)?
        } else {
            HashSet::new()
        };
        let listed = all.iter().filter_map(|(_, object)| {
            let mut listed = objects::listed(object)?;
            if listed.state == State::Running && claims::is_claim(object) {
                listed.state = match claims::uid(object) {
                    // Its maker has not noted the pod yet, or died.
                    None => State::Unstarted,
                    Some(_) => claims::gone(object, &there).map_or(State::Running, |how| State::Ended { how }),
                };
            }
            Some(listed)
        });
        Ok(listed.collect())
    }
}
