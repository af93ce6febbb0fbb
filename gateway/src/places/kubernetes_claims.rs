//! Which pod stands behind a claim. The controller of agent-sandbox makes a new pod where somebody deleted the pod of a
//! sandbox, with the same name and the same token in it. Its server has no record of any call and would run a repeated one
//! again. So the gateway notes at the claim which pod it got, and no other pod is taken for that place.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::Presence;
use super::kubernetes_cluster::{Cluster, ClusterError};
use super::kubernetes_objects as objects;

const SANDBOXES: &str = "/apis/agents.x-k8s.io/v1beta1";
/// The annotation of a claim with the name and the UID of its pod.
const NOTE: &str = "testudo.pod";

pub fn is_claim(object: &Value) -> bool {
    object["spec"]["warmPoolRef"].is_object()
}

fn noted(claim: &Value) -> Option<(&str, &str)> {
    claim["metadata"]["annotations"][NOTE].as_str()?.split_once('/')
}

/// The UID of the pod that a claim got. It is missing while the place is made.
pub fn uid(claim: &Value) -> Option<&str> {
    noted(claim).map(|(_, uid)| uid)
}

/// Notes at the claim at `path`, which is ready, the pod that it got. Returns what is wrong with a claim that has none.
pub async fn note(cluster: &Cluster, namespace: &str, path: &str) -> Result<Result<(), String>, ClusterError> {
    let claim = cluster.find(path).await?.unwrap_or_default();
    let Some(sandbox) = claim["status"]["sandbox"]["name"].as_str() else {
        return Ok(Err(format!("the claim {path} is ready and names no sandbox")));
    };
    let found = cluster.find(&format!("{SANDBOXES}/namespaces/{namespace}/sandboxes/{sandbox}")).await?;
    let name = found.as_ref().and_then(|found| found["metadata"]["annotations"]["agents.x-k8s.io/pod-name"].as_str());
    let name = name.unwrap_or(sandbox);
    let pod = cluster.find(&format!("/api/v1/namespaces/{namespace}/pods/{name}")).await?.unwrap_or_default();
    let Some(uid) = pod["metadata"]["uid"].as_str() else {
        return Ok(Err(format!("the sandbox {sandbox} of the claim {path} has no pod")));
    };
    let change = json!({"metadata": {"annotations": {NOTE: format!("{name}/{uid}")}}});
    cluster.merge(path, &change).await?;
    Ok(Ok(()))
}

/// The pod that a claim got, or how it is gone.
pub async fn pod(cluster: &Cluster, namespace: &str, claim: &Value) -> Result<Result<Value, String>, ClusterError> {
    let Some((name, uid)) = noted(claim) else {
        return Ok(Err("its claim was never finished".to_owned()));
    };
    let found = cluster.find(&format!("/api/v1/namespaces/{namespace}/pods/{name}")).await?;
    let found = found.filter(|pod| pod["metadata"]["uid"] == *uid);
    Ok(found.ok_or_else(|| replaced(name)))
}

/// What the cluster says of a place that is a claim.
pub async fn presence(cluster: &Cluster, namespace: &str, claim: &Value) -> Result<Presence, ClusterError> {
    match objects::presence(claim) {
        Presence::There => {}
        gone => return Ok(gone),
    }
    Ok(match pod(cluster, namespace, claim).await? {
        Ok(pod) => objects::presence(&pod),
        Err(how) => Presence::Gone(how),
    })
}

/// How a claim is gone whose pod is not among the pods that there are.
pub fn gone(claim: &Value, there: &HashSet<String>) -> Option<String> {
    let (name, uid) = noted(claim)?;
    (!there.contains(uid)).then(|| replaced(name))
}

fn replaced(name: &str) -> String {
    format!("its pod {name} was deleted")
}
