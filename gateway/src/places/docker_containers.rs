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

/// The text of a log. Each piece of it has a head of eight bytes: the stream, three zeros and the length.
pub fn without_heads(log: &str) -> String {
    let signs = log.chars().collect::<Vec<_>>();
    let (mut text, mut at) = (String::new(), 0);
    while let Some(sign) = signs.get(at) {
        let is_head = *sign <= '\u{2}' && signs[at + 1..].starts_with(&['\0'; 3]);
        if !is_head && (*sign == '\n' || !sign.is_control()) {
            text.push(*sign);
        }
        at += if is_head { 8 } else { 1 };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_piece_of_a_log_is_no_text() {
        let log = "\u{2}\0\0\0\0\0\0\u{32}exec failed\r\n\u{1}\0\0\0\0\0\0\u{5}more\n";
        assert_eq!(without_heads(log), "exec failed\nmore\n");
        assert_eq!(without_heads("plain"), "plain");
        assert_eq!(without_heads("\u{1}\0\0\0"), "");
    }
}
