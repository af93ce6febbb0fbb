//! What the engine's list says of containers: whose they are, and how they are.

use serde_json::Value;

use super::{Listed, State};

/// The owner in the name of a container that waits for one.
pub const WARM: &str = "warm";

pub fn container_name(owner: &str, slot: &str) -> String {
    format!("testudo.{owner}.{slot}")
}

pub fn state(container: &Value) -> State {
    match container["State"].as_str().unwrap_or_default() {
        "created" => State::Unstarted,
        "exited" | "dead" | "removing" | "stopped" => {
            let status = container["Status"].as_str().unwrap_or_default();
            State::Ended { how: format!("its container {} has ended ({status})", name(container)) }
        }
        _ => State::Running,
    }
}

fn name(container: &Value) -> &str {
    container["Names"][0].as_str().unwrap_or_default().trim_start_matches('/')
}

pub fn listed(container: &Value) -> Option<(String, Listed)> {
    let (owner, slot) = name(container).strip_prefix("testudo.")?.split_once('.')?;
    let listed = Listed {
        id: container["Labels"]["testudo.place"].as_str()?.to_owned(),
        owner: (owner != WARM).then(|| owner.to_owned()),
        slot: slot.to_owned(),
        created: container["Created"].as_u64()?,
        state: state(container),
    };
    Some((container["Id"].as_str()?.to_owned(), listed))
}
