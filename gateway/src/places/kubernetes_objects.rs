//! The objects of a cluster that stand for places, as plain JSON: what we create, and what we read of what the cluster made
//! of it. Nothing here talks to the cluster.

use std::net::IpAddr;

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::{Listed, Presence, State};

/// Where the server in a pod listens.
pub const PORT: u16 = 8731;
/// Where an init container puts the program.
const DIRECTORY: &str = "/.testudo";
/// For the records of calls. Every user may write a volume of a pod, so the server trusts none of them with its state.
const STATE: &str = "/tmp/.testudo-state";
const VOLUME: &str = "testudo-program";

pub struct Labels {
    pub gateway: String,
    pub kind: String,
    pub place: String,
    pub owner: String,
    pub slot: String,
    pub created: u64,
}

impl Labels {
    fn json(&self) -> Value {
        json!({
            "testudo.gateway": self.gateway,
            "testudo.kind": self.kind,
            "testudo.place": self.place,
            "testudo.owner": self.owner,
            "testudo.slot": self.slot,
            "testudo.created": self.created.to_string(),
        })
    }

    /// The cluster refuses a second object with the same name, so that replicas agree who makes it.
    pub fn name(&self) -> String {
        format!("testudo-{}-{}", self.owner, self.slot)
    }
}

/// How the server in a pod is started.
pub struct Inside<'a> {
    pub token: &'a str,
    pub lease: u64,
    pub arguments: &'a [String],
    pub environment: &'a [(String, String)],
    /// The image with `testudo-gateway`, which copies `testudo` into the pod.
    pub program_image: &'a str,
}

/// A pod from the `template` of a PodTemplate. Its first container becomes the place; the image needs nothing in it.
pub fn pod(template: &Value, labels: &Labels, inside: &Inside) -> Result<Value, String> {
    let mut spec = template["spec"].clone();
    if !spec["containers"][0].is_object() {
        return Err("the template has no container".to_owned());
    }
    // A container that is started anew has lost everything; a place is never silently replaced.
    spec["restartPolicy"] = json!("Never");
    spec["enableServiceLinks"] = json!(false);
    if spec["automountServiceAccountToken"].is_null() {
        spec["automountServiceAccountToken"] = json!(false);
    }
    push(&mut spec["volumes"], json!({"name": VOLUME, "emptyDir": {}}));
    let pull_policy = spec["containers"][0]["imagePullPolicy"].as_str().unwrap_or("IfNotPresent").to_owned();
    let mount = json!({"name": VOLUME, "mountPath": DIRECTORY});
    push(
        &mut spec["initContainers"],
        json!({
            "name": VOLUME,
            "image": inside.program_image,
            "imagePullPolicy": pull_policy,
            "command": ["/testudo-gateway", "put", DIRECTORY],
            "volumeMounts": [mount],
        }),
    );
    let container = &mut spec["containers"][0];
    container["command"] = json!([format!("{DIRECTORY}/testudo")]);
    let listen = format!("0.0.0.0:{PORT}");
    let mut arguments: Vec<String> = ["--transport", "http", "--listen", &listen].map(str::to_owned).to_vec();
    if inside.lease > 0 {
        arguments.extend(["--lease".to_owned(), inside.lease.to_string()]);
    }
    arguments.extend(inside.arguments.iter().cloned());
    container["args"] = json!(arguments);
    push(&mut container["env"], json!({"name": "TESTUDO_TOKEN", "value": inside.token}));
    let own = [("XDG_STATE_HOME".to_owned(), STATE.to_owned())];
    for (name, value) in own.iter().chain(inside.environment) {
        if !container["env"].as_array().is_some_and(|given| given.iter().any(|one| one["name"] == **name)) {
            push(&mut container["env"], json!({"name": name, "value": value}));
        }
    }
    let mut read_only = mount;
    read_only["readOnly"] = json!(true);
    push(&mut container["volumeMounts"], read_only);
    container["readinessProbe"] = json!({"httpGet": {"path": "/health", "port": PORT}, "periodSeconds": 1});
    let mut metadata = template["metadata"].clone();
    if !metadata.is_object() {
        metadata = json!({});
    }
    metadata["name"] = json!(labels.name());
    merge(&mut metadata["labels"], labels.json());
    Ok(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}))
}

/// A claim on a pod that the cluster keeps ready. After its time the cluster ends the pod, even if no gateway is left, and
/// keeps the claim, from which a client hears why its place is gone.
pub fn claim(pool: &str, labels: &Labels, lifetime: u64) -> Value {
    let end =
        Timestamp::from_second(i64::try_from(labels.created + lifetime).unwrap_or(i64::MAX)).unwrap_or(Timestamp::MAX);
    json!({
        "apiVersion": "extensions.agents.x-k8s.io/v1beta1",
        "kind": "SandboxClaim",
        "metadata": {"name": labels.name(), "labels": labels.json()},
        "spec": {"warmPoolRef": {"name": pool}, "lifecycle": {"shutdownTime": end.to_string(), "shutdownPolicy": "Retain"}},
    })
}

fn push(list: &mut Value, item: Value) {
    match list.as_array_mut() {
        Some(list) => list.push(item),
        None => *list = json!([item]),
    }
}

fn merge(object: &mut Value, more: Value) {
    match (object.as_object_mut(), more) {
        (Some(object), Value::Object(more)) => object.extend(more),
        (_, more) => *object = more,
    }
}

pub fn listed(object: &Value) -> Option<Listed> {
    let label = |name: &str| object["metadata"]["labels"][name].as_str().map(str::to_owned);
    let state = match presence(object) {
        Presence::Gone(how) => State::Ended { how },
        _ if is_ready(object) => State::Running,
        _ => State::Unstarted,
    };
    Some(Listed {
        id: label("testudo.place")?,
        owner: Some(label("testudo.owner")?),
        slot: label("testudo.slot")?,
        created: label("testudo.created")?.parse().ok()?,
        state,
    })
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == *kind)
}

/// A pod and a claim say it in the same words.
pub fn is_ready(object: &Value) -> bool {
    condition(object, "Ready").is_some_and(|condition| condition["status"] == "True")
}

pub fn presence(object: &Value) -> Presence {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    if !object["metadata"]["deletionTimestamp"].is_null() {
        return Presence::Gone(format!("the cluster is deleting {name}"));
    }
    let status = &object["status"];
    if let Some(phase) = status["phase"].as_str().filter(|phase| ["Failed", "Succeeded"].contains(phase)) {
        let why = status["message"].as_str().or(status["reason"].as_str()).map(str::to_owned);
        let why = why.or_else(|| terminated(status)).unwrap_or_else(|| phase.to_lowercase());
        return Presence::Gone(format!("its pod {name} has ended ({why})"));
    }
    if let Some(finished) = condition(object, "Finished").filter(|condition| condition["status"] == "True") {
        return Presence::Gone(format!("the sandbox of its claim {name} has ended ({})", text(&finished["reason"])));
    }
    if let Some(ready) = condition(object, "Ready")
        && ["ClaimExpired", "SandboxExpired"].iter().any(|reason| ready["reason"] == **reason)
    {
        return Presence::Gone(format!("its claim {name} has expired"));
    }
    Presence::There
}

fn terminated(status: &Value) -> Option<String> {
    let state = &status["containerStatuses"][0]["state"]["terminated"];
    Some(format!("exit code {}, {}", state["exitCode"].as_i64()?, text(&state["reason"])))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("no reason given")
}

/// Why a pod or a claim will not become ready however long we wait. Kubernetes itself would try again for ever.
pub fn stuck(object: &Value) -> Option<String> {
    let status = &object["status"];
    let containers = ["initContainerStatuses", "containerStatuses"].map(|kind| status[kind].as_array());
    for container in containers.into_iter().flatten().flatten() {
        let waiting = &container["state"]["waiting"];
        let reason = waiting["reason"].as_str().unwrap_or_default();
        let is_final = ["ErrImageNeverPull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError"];
        if is_final.contains(&reason) || reason == "CreateContainerError" {
            return Some(format!("{reason}: {}", text(&waiting["message"])));
        }
    }
    None
}

/// What the cluster says about an object that is not ready yet.
pub fn progress(object: &Value) -> String {
    let conditions = object["status"]["conditions"].as_array();
    let unmet = conditions.into_iter().flatten().filter(|condition| condition["status"] != "True");
    let texts = unmet.filter_map(|condition| condition["message"].as_str().or(condition["reason"].as_str()));
    let texts: Vec<&str> = texts.collect();
    if texts.is_empty() { "the cluster says nothing about it".to_owned() } else { texts.join("; ") }
}

/// The address of a pod. One that leads back to the gateway's own machine is refused: a cluster that
/// reports it is misled.
pub fn address(pod: &Value) -> Result<IpAddr, String> {
    let found = pod["status"]["podIP"].as_str();
    let found = found.ok_or_else(|| "the pod has no address yet".to_owned())?;
    let address: IpAddr = found.parse().map_err(|_| format!("{found} is no address"))?;
    let is_link_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    if address.is_loopback() || address.is_unspecified() || is_link_local {
        return Err(format!("the cluster reports {address} as the address of a pod, which no pod has"));
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> Labels {
        Labels {
            gateway: "g".into(),
            kind: "python".into(),
            place: "p1".into(),
            owner: "aa".into(),
            slot: "bb".into(),
            created: 7,
        }
    }

    #[test]
    fn a_pod_keeps_what_its_template_says() {
        let template = json!({
            "metadata": {"labels": {"team": "x"}},
            "spec": {"runtimeClassName": "gvisor", "containers": [{
                "name": "work", "image": "python:3.13", "env": [{"name": "A", "value": "b"}],
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            }]},
        });
        let inside = Inside { token: "t", lease: 60, arguments: &[], environment: &[], program_image: "gw:1" };
        let pod = pod(&template, &labels(), &inside).unwrap();
        assert_eq!(pod["metadata"]["name"], "testudo-aa-bb");
        assert_eq!(pod["metadata"]["labels"]["team"], "x");
        assert_eq!(pod["metadata"]["labels"]["testudo.place"], "p1");
        let spec = &pod["spec"];
        assert_eq!(spec["runtimeClassName"], "gvisor");
        assert_eq!(spec["restartPolicy"], "Never");
        assert_eq!(spec["automountServiceAccountToken"], false);
        let container = &spec["containers"][0];
        assert_eq!(container["image"], "python:3.13");
        assert_eq!(container["env"][0], json!({"name": "A", "value": "b"}));
        assert!(container["env"].as_array().unwrap().iter().any(|one| one["name"] == "XDG_STATE_HOME"));
        assert_eq!(container["volumeMounts"].as_array().unwrap().len(), 2);
        assert_eq!(container["args"].as_array().unwrap()[4..], [json!("--lease"), json!("60")]);
        assert!(super::pod(&json!({"spec": {}}), &labels(), &inside).is_err());
    }

    #[test]
    fn what_the_cluster_reports_is_read() {
        let object = |status: Value| json!({"metadata": {"name": "n", "labels": labels().json()}, "status": status});
        let state = |status: Value| listed(&object(status)).unwrap().state;
        assert_eq!(state(json!({"phase": "Pending"})), State::Unstarted);
        let ready = json!([{"type": "Ready", "status": "True"}]);
        assert_eq!(state(json!({"phase": "Running", "conditions": ready})), State::Running);
        assert!(
            matches!(state(json!({"phase": "Failed", "reason": "Evicted"})), State::Ended { how } if how.contains("Evicted"))
        );
        let finished = json!([{"type": "Finished", "status": "True", "reason": "PodFailed"}]);
        assert!(matches!(state(json!({"conditions": finished})), State::Ended { how } if how.contains("PodFailed")));
        let never =
            json!({"initContainerStatuses": [{"state": {"waiting": {"reason": "ErrImageNeverPull", "message": "m"}}}]});
        assert_eq!(stuck(&object(never)), Some("ErrImageNeverPull: m".to_owned()));
    }

    #[test]
    fn a_claim_ends_by_itself() {
        let claim = claim("pool", &labels(), 3600);
        assert_eq!(claim["spec"]["lifecycle"]["shutdownTime"], "1970-01-01T01:00:07Z");
        assert_eq!(claim["spec"]["warmPoolRef"]["name"], "pool");
    }

    #[test]
    fn no_address_leads_back_to_the_gateway() {
        let address = |text: &str| address(&json!({"status": {"podIP": text}}));
        assert!(address("10.1.2.3").is_ok());
        for wrong in ["127.0.0.1", "::1", "169.254.169.254", "0.0.0.0", "fe80::1", "here"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
