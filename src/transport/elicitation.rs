//! Asking the person at the other end. Up to 2025-11-25 the question is a request of ours that is awaited; in 2026-07-28 it
//! is our answer, and the call comes again with theirs, sealed so that it fits this very action and no other.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    InputRequest, InputRequests, InputRequiredResult, RequestStateCodec,
};
use rmcp::service::RequestContext;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::used_up::UsedUp;
use crate::base::locks::LockExt;
use crate::gate::Decision;
use crate::server::{Asker, GivenAnswer, OpenQuestion};

/// A person may take their time, but not for ever.
const PATIENCE: Duration = Duration::from_mins(5);
const FIELD: &str = "decision";

/// Seals questions and accepts each answer once.
#[derive(Clone)]
pub struct Seals {
    codec: Arc<RequestStateCodec>,
    /// When the key was made; seals count from here.
    begun: Instant,
    used: Arc<Mutex<UsedUp>>,
}

#[derive(Deserialize, Serialize)]
struct Sealed {
    binding: String,
    nonce: String,
    made: Duration,
}

impl Default for Seals {
    fn default() -> Self {
        let key = crate::base::random::hex::<64>();
        let codec = RequestStateCodec::try_new(key).unwrap_or_else(|_| unreachable!("the key is long enough"));
        let used = Arc::new(Mutex::new(UsedUp::new(PATIENCE)));
        Self { codec: Arc::new(codec), begun: Instant::now(), used }
    }
}

impl Seals {
    /// How the client of this request can be asked.
    pub fn asker(&self, request: &CallToolRequestParams, context: &RequestContext<RoleServer>, awaited: bool) -> Asker {
        if context.client_capabilities().is_none_or(|capabilities| capabilities.elicitation.is_none()) {
            return Asker::Nobody;
        }
        if !awaited {
            return Asker::Later(self.answer(request));
        }
        let peer = context.peer.clone();
        Asker::Now(Arc::new(move |message| {
            let peer = peer.clone();
            Box::pin(async move {
                let Some(form) = form(message) else { return Decision::Deny };
                match peer.create_elicitation_with_timeout(form, Some(PATIENCE)).await {
                    Ok(result) => decision(&result),
                    Err(error) => {
                        tracing::warn!(%error, "the question got no answer, which is a no");
                        Decision::Deny
                    }
                }
            })
        }))
    }

    /// The answer to a call whose question the client has to carry.
    pub fn ask(&self, question: OpenQuestion) -> Option<InputRequiredResult> {
        let nonce = crate::base::random::hex::<32>();
        let sealed = Sealed { binding: question.binding, nonce, made: self.begun.elapsed() };
        let state = self.codec.seal_json(&sealed).ok()?;
        let request = InputRequest::Elicitation(ElicitRequest::new(form(question.message)?));
        Some(InputRequiredResult::new(Some(InputRequests::from([(FIELD.to_owned(), request)])), Some(state)))
    }

    fn answer(&self, request: &CallToolRequestParams) -> Option<GivenAnswer> {
        let sealed: Sealed = self.codec.open_json(request.request_state.as_deref()?).ok()?;
        let now = self.begun.elapsed();
        if !self.used.locked().take(sealed.nonce, sealed.made, now) {
            return None;
        }
        let value = request.input_responses.as_ref()?.get(FIELD)?;
        let decision = ElicitResult::deserialize(value).map_or(Decision::Deny, |result| decision(&result));
        Some(GivenAnswer { binding: sealed.binding, decision })
    }
}

fn form(message: String) -> Option<ElicitRequestParams> {
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

/// Only an accepted form with one of the choices is a yes.
fn decision(result: &ElicitResult) -> Decision {
    let choice = result.content.as_ref().and_then(|content| content.get(FIELD)?.as_str());
    match (&result.action, choice) {
        (ElicitationAction::Accept, Some(choice)) => Decision::read(choice),
        _ => Decision::Deny,
    }
}
