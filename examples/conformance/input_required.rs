//! Tools that ask a question in the lifecycle of 2026-07-28: the question is a result, and the client repeats the call
//! with the answer.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use rmcp::model::{
    CallToolRequestParams, CreateMessageRequest, CreateMessageRequestParams, ElicitRequest, ElicitRequestParams,
    ErrorData, InputRequest, InputRequests, InputRequiredResult, ListRootsRequest, SamplingMessage,
};
use serde_json::{Value, json};

use crate::Context;
use crate::tools::{Answer, text};

pub const NAMES: &[&str] = &[
    "test_streaming_elicitation",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_capabilities",
];

pub fn call(call: &CallToolRequestParams, context: &Context) -> Answer {
    let answers = call.input_responses.clone().unwrap_or_default();
    let state = call.request_state.as_deref();
    match &*call.name {
        "test_streaming_elicitation" | "test_input_required_result_elicitation" => {
            let name =
                answers.get("user_name").and_then(|answer| answer.pointer("/content/name")).and_then(Value::as_str);
            match name {
                Some(name) => text(format!("Hello, {name}!")),
                None => ask(vec![("user_name", form("What is your name?", "name", "string"))], None),
            }
        }
        "test_input_required_result_sampling" => match answers.get("capital_question") {
            Some(answer) => text(answer.pointer("/content/text").and_then(Value::as_str).unwrap_or("?")),
            None => ask(vec![("capital_question", sample("What is the capital of France?"))], None),
        },
        "test_input_required_result_list_roots" => match answers.get("client_roots") {
            Some(answer) => text(answer.to_string()),
            None => ask(vec![("client_roots", roots())], None),
        },
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => match state {
            Some(state) => opened(state).and_then(|_| text("state-ok")),
            None => ask(vec![("confirm", form("Please confirm", "ok", "boolean"))], Some(1)),
        },
        "test_input_required_result_multiple_inputs" => {
            if ["user_name", "greeting", "client_roots"].iter().all(|key| answers.contains_key(*key)) {
                return opened(state.unwrap_or_default()).and_then(|_| text("all inputs received"));
            }
            let name = form("What is your name?", "name", "string");
            ask(
                vec![("user_name", name), ("greeting", sample("Generate a greeting")), ("client_roots", roots())],
                Some(1),
            )
        }
        "test_input_required_result_multi_round" => match state.map(opened).transpose()? {
            None => ask(vec![("step1", form("Step 1: What is your name?", "name", "string"))], Some(1)),
            Some(1) => ask(vec![("step2", form("Step 2: What is your favorite color?", "color", "string"))], Some(2)),
            Some(_) => text("complete"),
        },
        _ => {
            let capabilities = context.client_capabilities().unwrap_or_default();
            let elicitation = capabilities.elicitation.map(|_| ("elicitation", form("Name?", "name", "string")));
            let sampling = capabilities.sampling.map(|_| ("sampling", sample("hi")));
            let questions: Vec<_> = elicitation.into_iter().chain(sampling).collect();
            if questions.is_empty() || !answers.is_empty() { text("done") } else { ask(questions, None) }
        }
    }
}

pub fn form(message: &str, key: &str, kind: &str) -> InputRequest {
    let schema = json!({"type": "object", "properties": {key: {"type": kind}}, "required": [key]});
    InputRequest::Elicitation(ElicitRequest::new(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message.to_owned(),
        requested_schema: serde_json::from_value(schema).expect("a schema of the protocol"),
    }))
}

pub fn questions(questions: Vec<(&str, InputRequest)>) -> InputRequests {
    questions.into_iter().map(|(key, question)| (key.to_owned(), question)).collect()
}

fn sample(prompt: &str) -> InputRequest {
    let params = CreateMessageRequestParams::new(vec![SamplingMessage::user_text(prompt)], 100);
    InputRequest::CreateMessage(CreateMessageRequest::new(params))
}

fn roots() -> InputRequest {
    InputRequest::ListRoots(ListRootsRequest::default())
}

fn ask(asked: Vec<(&str, InputRequest)>, step: Option<u32>) -> Answer {
    Ok(InputRequiredResult::new(Some(questions(asked)), step.map(sealed)).into())
}

/// The steps that were asked about, by the random name that the client sends back. A client cannot guess a name, so it
/// cannot forge a step.
static STEPS: LazyLock<Mutex<HashMap<String, u32>>> = LazyLock::new(Mutex::default);

fn sealed(step: u32) -> String {
    let name = testudo::base::random::hex::<32>();
    STEPS.lock().unwrap().insert(name.clone(), step);
    name
}

fn opened(state: &str) -> Result<u32, ErrorData> {
    let step = STEPS.lock().unwrap().get(state).copied();
    step.ok_or_else(|| ErrorData::invalid_params("requestState rejected", None))
}
