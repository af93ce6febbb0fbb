//! The resource `testudo://guide`, which tells agents how to work with the tools.

use serde_json::{Value, json};

use crate::support::{HttpServer, World};

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The tools that a section of the guide is about, and those that the server offers.
fn tools(guide: &str, listed: &Value) -> (Vec<String>, Vec<String>) {
    let offered = listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned());
    let headings = guide.lines().filter(|line| line.starts_with("## "));
    let mut named: Vec<String> = headings.flat_map(words).map(str::to_owned).collect();
    named.sort();
    named.dedup();
    let mut offered: Vec<String> = offered.collect();
    offered.sort();
    (named, offered)
}

#[test]
fn the_guide_is_listed_and_is_about_the_tools_that_are_offered() {
    for toolset in ["standard", "anthropic", "terminal", "gemini", "all"] {
        let world = World::new();
        let mut server = world.server(&["--toolset", toolset, "--timeout", "77"]);
        let listed = server.request("resources/list", json!({}));
        assert_eq!(listed["resources"][0]["uri"], "testudo://guide", "{listed}");
        assert_eq!(listed["resources"].as_array().unwrap().len(), 1, "{listed}");
        let read = server.request("resources/read", json!({"uri": "testudo://guide"}));
        assert_eq!(read["contents"][0]["mimeType"], "text/markdown");
        let guide = read["contents"][0]["text"].as_str().unwrap();
        let (named, offered) = tools(guide, &server.request("tools/list", json!({})));
        assert_eq!(named, offered, "{toolset}");
        assert_eq!(guide.contains("ended after 77 s"), offered.contains(&"bash".to_owned()), "{guide}");
        assert_eq!(server.request("resources/templates/list", json!({}))["resourceTemplates"], json!([]));
    }
}

#[test]
fn both_lifecycles_have_the_guide_over_http() {
    let world = World::new();
    let server = HttpServer::with_token(&world);
    for (mut client, code) in [(server.client("tok"), -32002), (server.modern_client("tok"), -32602)] {
        let read = client.begin("resources/read", json!({"uri": "testudo://guide"})).reply().answer();
        assert!(read["result"]["contents"][0]["text"].as_str().unwrap().contains("# How to work"), "{read}");
        let missing = client.begin("resources/read", json!({"uri": "testudo://other"})).reply().answer();
        assert_eq!(missing["error"]["code"], code, "{missing}");
        assert_eq!(missing["error"]["data"]["uri"], "testudo://other", "{missing}");
    }
}

/// By the tokenizer of GPT-4o and its successors. Claude's is not public and counts somewhat more.
#[test]
fn the_standard_tools_take_at_most_2500_tokens() {
    let world = World::new();
    let listed = world.server(&[]).request("tools/list", json!({}));
    for tokenizer in [tiktoken_rs::o200k_base_singleton(), tiktoken_rs::cl100k_base_singleton()] {
        let tokens = tokenizer.encode_ordinary(&listed.to_string()).len();
        assert!(tokens <= 2_500, "{tokens} tokens");
    }
}
