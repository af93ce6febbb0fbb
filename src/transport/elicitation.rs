//! The form in which a person is asked about an action, and how the filled-in form is read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::model::{
    ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    ProtocolVersion, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext};
use serde_json::json;
use tokio::sync::watch;

use crate::gate::{Answer, Decision, Form};
use crate::server::{Asker, PATIENCE, Settled};

/// The name of the form's only field.
pub const FIELD: &str = "decision";

pub fn is_supported(context: &RequestContext<RoleServer>) -> bool {
    context.client_capabilities().is_some_and(|capabilities| capabilities.elicitation.is_some())
}

/// Asks by a request of ours while the call waits, as protocol versions up to 2025-11-25 do.
pub fn ask_now(peer: &Peer<RoleServer>) -> Asker {
    let peer = peer.clone();
    Asker::Now(Arc::new(move |form, settled| {
        let peer = peer.clone();
        Box::pin(async move {
            let version = peer.peer_info().map(|info| info.protocol_version.clone());
            let titled = version.is_some_and(|version| version >= ProtocolVersion::V_2025_11_25);
            let Some(request) = request(form, titled) else { return Answer::Missing };
            ask(&peer, request, settled).await
        })
    }))
}

/// Sends the question and waits. If somebody else answers first, the client is told by whom, and takes the form away.
async fn ask(
    peer: &Peer<RoleServer>,
    question: ElicitRequestParams,
    mut settled: watch::Receiver<Option<Settled>>,
) -> Answer {
    let asked = Instant::now();
    let (question, options) =
        (ServerRequest::ElicitRequest(ElicitRequest::new(question)), PeerRequestOptions::no_options());
    let Ok(mut request) = peer.send_cancellable_request(question, options).await else { return Answer::Missing };
    let by = tokio::select! {
        response = &mut request.rx => return match response {
            Ok(Ok(ClientResult::ElicitResult(result))) => answer(&result, asked.elapsed()),
            response => {
                tracing::warn!(?response, "the client has not shown a question to its person");
                Answer::Missing
            }
        },
        by = answered_by(&mut settled) => by,
        () = tokio::time::sleep(PATIENCE) => "the time is up".to_owned(),
    };
    let _ = request.cancel(Some(by)).await;
    Answer::Missing
}

async fn answered_by(settled: &mut watch::Receiver<Option<Settled>>) -> String {
    let first = settled.wait_for(Option::is_some).await.ok().and_then(|first| first.clone());
    first.map_or_else(|| "the question was withdrawn".to_owned(), |first| format!("answered by {}", first.by))
}

/// The form as the protocol has it. Clients of 2025-11-25 and later show choices with titles.
pub fn request(form: Form, titled: bool) -> Option<ElicitRequestParams> {
    let Form { message, beside, choices } = form;
    let names: Vec<&str> = choices.iter().map(|choice| choice.decision.name()).collect();
    let mut field = json!({ "type": "string", "title": "Decision", "description": beside });
    if titled {
        let titles = choices.iter().map(|choice| json!({ "const": choice.decision.name(), "title": choice.title }));
        field["oneOf"] = titles.collect();
    } else {
        let meanings: Vec<String> =
            choices.iter().map(|choice| format!("{}: {}", choice.decision.name(), choice.title)).collect();
        field["enum"] = json!(names);
        field["description"] = json!(format!("{beside}. {}", meanings.join("; ")));
    }
    let schema = json!({ "type": "object", "properties": { FIELD: field }, "required": [FIELD] });
    let requested_schema: ElicitationSchema = serde_json::from_value(schema).ok()?;
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// What the client sent back, so long after it was asked.
pub fn answer(result: &ElicitResult, after: Duration) -> Answer {
    let choice = result.content.as_ref().and_then(|content| content.get(FIELD)?.as_str());
    match &result.action {
        ElicitationAction::Accept => choice.and_then(Decision::read).map_or(Answer::Unreadable, Answer::Chosen),
        ElicitationAction::Decline => Answer::Dismissed { how: "decline", after },
        ElicitationAction::Cancel => Answer::Dismissed { how: "cancel", after },
        _ => Answer::Unreadable,
    }
}
