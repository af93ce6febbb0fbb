//! Talks to the API server of a cluster: the one of the person's kubeconfig, or the one that this pod runs in.

use std::collections::HashSet;
use std::fmt;
use std::io;

use hyper::{Method, Request};
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client};
use serde_json::Value;
use tokio::sync::OnceCell;

use super::ByteStream;

/// The client is made when it is first needed: a cluster that is away must not keep a gateway of several kinds from starting.
#[derive(Default)]
pub struct Cluster(OnceCell<Client>);

#[derive(Debug)]
pub enum ClusterError {
    /// The API server refuses the request.
    Refused {
        code: u16,
        message: String,
    },
    Unreachable(String),
}

impl ClusterError {
    pub fn is(&self, status: u16) -> bool {
        matches!(self, Self::Refused { code, .. } if *code == status)
    }
}

impl fmt::Display for ClusterError {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Refused { code, message } => write!(out, "{message} ({code})"),
            Self::Unreachable(why) => write!(out, "the cluster does not answer: {why}"),
        }
    }
}

impl From<kube::Error> for ClusterError {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => Self::Refused { code: status.code, message: status.message },
            error => Self::Unreachable(chain(&error)),
        }
    }
}

/// An error of this client says what happened in its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.dedup_by(|later, earlier| earlier.contains(later.as_str()));
    texts.join(": ")
}

impl Cluster {
    async fn client(&self) -> Result<&Client, ClusterError> {
        self.0.get_or_try_init(Client::try_default).await.map_err(Into::into)
    }

    /// The namespace of the current context, or the one that this pod is in.
    pub async fn usual_namespace(&self) -> Result<String, ClusterError> {
        Ok(self.client().await?.default_namespace().to_owned())
    }

    async fn request(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, ClusterError> {
        // The only change that we make to an object is a part of it.
        let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let request = Request::builder().method(method).uri(path).header("content-type", kind).body(body);
        let request = request.map_err(|error| ClusterError::Unreachable(error.to_string()))?;
        Ok(self.client().await?.request(request).await?)
    }

    pub async fn get(&self, path: &str) -> Result<Value, ClusterError> {
        self.request(Method::GET, path, None).await
    }

    /// The UIDs of all objects of a kind. The cluster leaves the rest of them out.
    pub async fn uids(&self, path: &str) -> Result<HashSet<String>, ClusterError> {
        let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
        let request = Request::builder().uri(path).header("accept", accept).body(Vec::new());
        let request = request.map_err(|error| ClusterError::Unreachable(error.to_string()))?;
        let list: Value = self.client().await?.request(request).await?;
        let items = list["items"].as_array().into_iter().flatten();
        Ok(items.filter_map(|item| item["metadata"]["uid"].as_str().map(str::to_owned)).collect())
    }

    /// `None` where there is no such object, or no such kind of object in this cluster.
    pub async fn find(&self, path: &str) -> Result<Option<Value>, ClusterError> {
        match self.get(path).await {
            Err(error) if error.is(404) => Ok(None),
            found => found.map(Some),
        }
    }

    pub async fn create(&self, path: &str, object: &Value) -> Result<Value, ClusterError> {
        self.request(Method::POST, path, Some(object)).await
    }

    /// Changes what `part` names of the object at `path`.
    pub async fn merge(&self, path: &str, part: &Value) -> Result<Value, ClusterError> {
        self.request(Method::PATCH, path, Some(part)).await
    }

    /// To delete what is gone is a success.
    pub async fn delete(&self, path: &str) -> Result<(), ClusterError> {
        match self.request(Method::DELETE, path, None).await {
            Err(error) if !error.is(404) => Err(error),
            _ => Ok(()),
        }
    }

    /// A byte stream to a port of a pod, through the API server and the node.
    pub async fn port_forward(&self, namespace: &str, pod: &str, port: u16) -> io::Result<Box<dyn ByteStream>> {
        let client = self.client().await.map_err(|error| io::Error::other(error.to_string()))?;
        let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
        let forwarded = pods.portforward(pod, &[port]).await;
        let mut forwarded = forwarded.map_err(|error| io::Error::other(ClusterError::from(error).to_string()))?;
        let stream = forwarded.take_stream(port).ok_or_else(|| io::Error::other("the port was not forwarded"))?;
        Ok(Box::new(stream))
    }
}
