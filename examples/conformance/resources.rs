//! The suite's resources.

use rmcp::model::{ErrorData, ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use crate::tools::PNG;

pub fn all() -> Vec<Resource> {
    ["test://static-text", "test://static-binary", "test://watched-resource"]
        .map(|uri| Resource::new(uri, uri).with_description("a fixture of the conformance suite"))
        .to_vec()
}

pub fn templates() -> Vec<ResourceTemplate> {
    vec![ResourceTemplate::new("test://template/{id}/data", "template")]
}

pub fn read(uri: &str) -> Result<ReadResourceResponse, ErrorData> {
    let text = |mime_type: &str, text: String| ResourceContents::TextResourceContents {
        uri: uri.to_owned(),
        mime_type: Some(mime_type.to_owned()),
        text,
        meta: None,
    };
    let contents = match uri {
        "test://static-text" => text("text/plain", "This is the content of the static text resource.".to_owned()),
        "test://watched-resource" => text("text/plain", "Watched.".to_owned()),
        "test://static-binary" => ResourceContents::BlobResourceContents {
            uri: uri.to_owned(),
            mime_type: Some("image/png".to_owned()),
            blob: PNG.to_owned(),
            meta: None,
        },
        _ => {
            let id = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
            let not_found = || ErrorData::resource_not_found("Resource not found", Some(json!({"uri": uri})));
            let id = id.ok_or_else(not_found)?;
            let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
            text("application/json", data.to_string())
        }
    };
    Ok(ReadResourceResult::new(vec![contents]).into())
}
