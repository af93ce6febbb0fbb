//! Questions in the lifecycle of 2026-07-28, in which the server cannot send requests. The result of the call is the
//! question, and the client repeats the call with the person's answer. The question travels through the client, so it is
//! sealed: an answer counts once, for a limited time, and for the action that was asked about.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rmcp::model::{
    CallToolRequestParams, ElicitRequest, ElicitResult, InputRequest, InputRequests, InputRequiredResult,
    RequestStateCodec,
};
use serde::{Deserialize, Serialize};

use super::elicitation::{FIELD, answer, request};
use super::used_nonces::UsedNonces;
use crate::base::{locks::LockExt, random};
use crate::gate::Answer;
use crate::server::{GivenAnswer, OpenQuestion, PATIENCE};

/// Holds the key of this process. A seal of another process does not open.
#[derive(Clone)]
pub struct SealedQuestions {
    codec: Arc<RequestStateCodec>,
    /// When the key was made. Seals hold their time relative to it.
    begun: Instant,
    used: Arc<Mutex<UsedNonces>>,
}

/// The content of a seal.
#[derive(Deserialize, Serialize)]
struct Seal {
    binding: String,
    nonce: String,
    made: Duration,
}

impl Default for SealedQuestions {
    fn default() -> Self {
        let codec =
            RequestStateCodec::try_new(random::hex::<64>()).unwrap_or_else(|_| unreachable!("the key is long enough"));
        let used = Arc::new(Mutex::new(UsedNonces::new(PATIENCE)));
        Self { codec: Arc::new(codec), begun: Instant::now(), used }
    }
}

impl SealedQuestions {
    /// The result of a call that needs the person's decision.
    pub fn seal(&self, question: OpenQuestion) -> Option<InputRequiredResult> {
        let seal = Seal { binding: question.binding, nonce: random::hex::<32>(), made: self.begun.elapsed() };
        let state = self.codec.seal_json(&seal).ok()?;
        let input = InputRequest::Elicitation(ElicitRequest::new(request(question.form, true)?));
        Some(InputRequiredResult::new(Some(InputRequests::from([(FIELD.to_owned(), input)])), Some(state)))
    }

    /// The answer that a repeated call carries. The seal is used up even if the answer is malformed.
    pub fn open(&self, repeated: &CallToolRequestParams) -> Option<GivenAnswer> {
        let seal: Seal = self.codec.open_json(repeated.request_state.as_deref()?).ok()?;
        let now = self.begun.elapsed();
        if !self.used.locked().take(seal.nonce, seal.made, now) {
            return None;
        }
        let value = repeated.input_responses.as_ref()?.get(FIELD)?;
        let after = now.saturating_sub(seal.made);
        let answer = ElicitResult::deserialize(value).map_or(Answer::Unreadable, |result| answer(&result, after));
        Some(GivenAnswer { binding: seal.binding, answer })
    }
}
