//! The suite's tools.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ClientResult, ContentBlock,
    CreateMessageRequest, CreateMessageRequestParams, ElicitRequest, ElicitRequestParams, ErrorData, JsonObject,
    ProgressNotificationParam, ResourceContents, SamplingMessage, ServerRequest, Tool,
};
use serde_json::{Value, json};

use crate::{Change, Context, Fixtures, input_required};

pub const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

pub type Answer = Result<CallToolResponse, ErrorData>;

const NAMES: &[&str] = &[
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_error_handling",
    "test_tool_with_logging",
    "test_logging_tool",
    "test_tool_with_progress",
    "test_sampling",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "json_schema_2020_12_tool",
    "test_custom_header",
    "test_missing_capability",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
];

pub fn all() -> Vec<Tool> {
    let names = NAMES.iter().chain(input_required::NAMES);
    names.map(|name| Tool::new(*name, "a fixture of the conformance suite", Arc::new(schema(name)))).collect()
}

fn schema(name: &str) -> JsonObject {
    let schema = match name {
        "json_schema_2020_12_tool" => json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "$defs": {"address": {"$anchor": "addressDef", "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
            "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
                "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                "phone": {"type": "string"}, "email": {"type": "string"}},
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
            "then": {"required": ["phone"]},
            "else": {"required": ["email"]},
            "additionalProperties": false,
        }),
        "test_custom_header" => json!({"type": "object", "required": ["region"],
            "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}),
        _ => json!({"type": "object", "properties": {}}),
    };
    schema.as_object().cloned().unwrap_or_default()
}

pub async fn call(fixtures: &Fixtures, call: CallToolRequestParams, context: Context) -> Answer {
    match &*call.name {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => blocks(vec![ContentBlock::image(PNG, "image/png")]),
        "test_audio_content" => blocks(vec![ContentBlock::audio(WAV, "audio/wav")]),
        "test_embedded_resource" => {
            blocks(vec![resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")])
        }
        "test_multiple_content_types" => blocks(vec![
            ContentBlock::text("Multiple content types test:"),
            ContentBlock::image(PNG, "image/png"),
            resource("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#),
        ]),
        "test_error_handling" => {
            let message = ContentBlock::text("This tool intentionally returns an error for testing");
            Ok(CallToolResult::error(vec![message]).into())
        }
        "test_tool_with_logging" | "test_logging_tool" => {
            for message in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
                fixtures.log(&context, message).await;
                pause().await;
            }
            text("done")
        }
        "test_tool_with_progress" => progress(&context).await,
        "test_sampling" => sample(&context, &argument(&call, "prompt")).await,
        "test_elicitation" | "test_elicitation_sep1034_defaults" | "test_elicitation_sep1330_enums" => {
            elicit(&context, form(&call)).await
        }
        "json_schema_2020_12_tool" | "test_custom_header" => text("ok"),
        "test_missing_capability" => {
            if context.client_capabilities().is_some_and(|capabilities| capabilities.sampling.is_some()) {
                return text("ok");
            }
            let needed = ClientCapabilities::builder().enable_sampling().build();
            Err(ErrorData::missing_required_client_capability(needed))
        }
        "test_trigger_tool_change" => announce(fixtures, Change::Tools),
        "test_trigger_prompt_change" => announce(fixtures, Change::Prompts),
        name if input_required::NAMES.contains(&name) => input_required::call(&call, &context),
        name => Err(ErrorData::invalid_params(format!("unknown tool {name}"), None)),
    }
}

pub fn text(text: impl Into<String>) -> Answer {
    blocks(vec![ContentBlock::text(text)])
}

fn blocks(blocks: Vec<ContentBlock>) -> Answer {
    Ok(CallToolResult::success(blocks).into())
}

pub fn resource(uri: &str, mime_type: &str, text: &str) -> ContentBlock {
    ContentBlock::resource(ResourceContents::TextResourceContents {
        uri: uri.to_owned(),
        mime_type: Some(mime_type.to_owned()),
        text: text.to_owned(),
        meta: None,
    })
}

fn argument(call: &CallToolRequestParams, name: &str) -> String {
    let value = call.arguments.as_ref().and_then(|arguments| arguments.get(name));
    value.and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn announce(fixtures: &Fixtures, change: Change) -> Answer {
    // Sending fails while no client listens.
    let _ = fixtures.changes.send(change);
    text("changed")
}

async fn pause() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}

async fn progress(context: &Context) -> Answer {
    for progress in [0.0, 50.0, 100.0] {
        if let Some(token) = context.meta.get_progress_token() {
            let note = ProgressNotificationParam::new(token, progress).with_total(100.0);
            let _ = context.peer.notify_progress(note).await;
        }
        pause().await;
    }
    text("done")
}

async fn sample(context: &Context, prompt: &str) -> Answer {
    let request =
        CreateMessageRequest::new(CreateMessageRequestParams::new(vec![SamplingMessage::user_text(prompt)], 100));
    match context.peer.send_request(ServerRequest::CreateMessageRequest(request)).await {
        Ok(ClientResult::CreateMessageResult(result)) => text(format!("LLM response: {:?}", result.message.content)),
        other => Err(ErrorData::internal_error(format!("{other:?}"), None)),
    }
}

async fn elicit(context: &Context, form: ElicitRequestParams) -> Answer {
    match context.peer.send_request(ServerRequest::ElicitRequest(ElicitRequest::new(form))).await {
        Ok(ClientResult::ElicitResult(result)) => {
            let action = json!(result.action);
            let content = result.content.unwrap_or_default();
            text(format!("Elicitation completed: action={}, content={content}", action.as_str().unwrap_or_default()))
        }
        other => Err(ErrorData::internal_error(format!("{other:?}"), None)),
    }
}

fn form(call: &CallToolRequestParams) -> ElicitRequestParams {
    let (message, properties, required) = match &*call.name {
        "test_elicitation" => (
            argument(call, "message"),
            json!({"username": {"type": "string", "description": "User's response"},
                "email": {"type": "string", "description": "User's email address"}}),
            json!(["username", "email"]),
        ),
        "test_elicitation_sep1034_defaults" => (
            "Defaults".to_owned(),
            json!({"name": {"type": "string", "default": "John Doe"},
                "age": {"type": "integer", "default": 30},
                "score": {"type": "number", "default": 95.5},
                "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
                "verified": {"type": "boolean", "default": true}}),
            json!([]),
        ),
        _ => ("Enums".to_owned(), enums(), json!([])),
    };
    let schema = json!({"type": "object", "properties": properties, "required": required});
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema: serde_json::from_value(schema).expect("a schema of the protocol"),
    }
}

fn enums() -> Value {
    let titled = |titles: [&str; 3]| -> Vec<Value> {
        let values = ["value1", "value2", "value3"].into_iter().zip(titles);
        values.map(|(value, title)| json!({"const": value, "title": title})).collect()
    };
    json!({
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {"type": "string", "oneOf": titled(["First Option", "Second Option", "Third Option"])},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled(["First Choice", "Second Choice", "Third Choice"])}},
    })
}
