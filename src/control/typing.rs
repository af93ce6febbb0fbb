//! A person types into a command. What they type goes to the program and nowhere else: it is neither recorded nor logged.

use std::sync::Arc;

use axum::Extension;
use axum::body::Bytes;
use axum::extract::{Path, State as Shared};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::Viewer;
use super::api::{self, problem};
use super::types::InputRequest;
use crate::exec::Typing;
use crate::server::Server;

pub async fn post(
    Shared(server): Shared<Arc<Server>>,
    Extension(viewer): Extension<Viewer>,
    Path(id): Path<String>,
    body: Bytes,
) -> Response {
    // The error of the parser could quote what was typed.
    let Ok(request) = serde_json::from_slice::<InputRequest>(&body) else {
        return problem(StatusCode::BAD_REQUEST, "the body must be {\"text\": …, \"keys\": […]}".to_owned());
    };
    let Some(command) = api::visible_command(&server, &viewer, &id) else { return api::no_command(&id) };
    let Some(input) = &command.input else {
        return problem(StatusCode::CONFLICT, format!("the input of {id} is not open"));
    };
    let typing = match Typing::new(&request.text, &request.keys, &command.output.streams) {
        Ok(typing) => typing,
        Err(error) => return problem(StatusCode::BAD_REQUEST, error.to_string()),
    };
    command.person_types(&viewer.signature("the console"));
    match typing.send_for_person(input, &command.process).await {
        Ok(()) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => problem(StatusCode::CONFLICT, error.to_string()),
    }
}
