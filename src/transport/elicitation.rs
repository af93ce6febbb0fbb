//! The form in which a person is asked about an action, and how the filled-in form is read.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use rmcp::service::{Peer, RequestContext};
use serde_json::json;

use crate::gate::Decision;
use crate::server::Asker;

/// How long a person may take to decide.
pub const PATIENCE: Duration = Duration::from_mins(5);
/// The name of the form's only field.
pub const FIELD: &str = "decision";

pub fn is_supported(context: &RequestContext<RoleServer>) -> bool {
    context.client_capabilities().is_some_and(|capabilities| capabilities.elicitation.is_some())
}

/// Asks by a request of ours while the call waits, as protocol versions up to 2025-11-25 do.
pub fn ask_now(peer: &Peer<RoleServer>) -> Asker {
    let peer = peer.clone();
    Asker::Now(Arc::new(move |message| {
        let peer = peer.clone();
        Box::pin(async move {
            let Some(form) = form(message) else { return Decision::Deny };
            match peer.create_elicitation_with_timeout(form, Some(PATIENCE)).await {
                Ok(result) => decision(&result),
                Err(error) => {
                    tracing::warn!(%error, "the person did not answer a question, so it counts as denied");
                    Decision::Deny
                }
            }
        })
    }))
}

pub fn form(message: String) -> Option<ElicitRequestParams> {
    let schema = json!({
        "type": "object",
        "properties": { FIELD: {
            "type": "string",
            "title": "Decision",
            "description": "once; session: this exact command; program: these programs for this session; deny",
            "enum": Decision::ALL.map(Decision::name),
        } },
        "required": [FIELD],
    });
    let requested_schema: ElicitationSchema = serde_json::from_value(schema).ok()?;
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// Anything but an accepted form with a valid choice is a denial.
pub fn decision(result: &ElicitResult) -> Decision {
    let choice = result.content.as_ref().and_then(|content| content.get(FIELD)?.as_str());
    match (&result.action, choice) {
        (ElicitationAction::Accept, Some(choice)) => Decision::read(choice),
        _ => Decision::Deny,
    }
}
