//! The one resource: the guide for agents.

use rmcp::ErrorData;
use rmcp::model::{ListResourcesResult, ReadResourceResult, Resource, ResourceContents};
use serde_json::json;

use crate::server::Server;
use crate::tools;

const GUIDE: &str = "testudo://guide";
const MARKDOWN: &str = "text/markdown";

pub fn list() -> ListResourcesResult {
    let guide = Resource::new(GUIDE, "guide").with_title("How to work with testudo").with_mime_type(MARKDOWN);
    ListResourcesResult::with_all_items(vec![
        guide.with_description("How the tools behave: sessions, long work, long output, what to do about a refusal."),
    ])
}

pub fn read(server: &Server, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    if uri != GUIDE {
        let message = format!("resource not found: {uri}; the only one is {GUIDE}");
        return Err(ErrorData::resource_not_found(message, Some(json!({ "uri": uri }))));
    }
    let limits = &server.config().exec;
    let text = tools::guide(&server.tools(), limits.timeout, limits.answer_within);
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, GUIDE).with_mime_type(MARKDOWN)]))
}
