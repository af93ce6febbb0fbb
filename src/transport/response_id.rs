use rmcp::model::{JsonRpcMessage, RequestId, ServerJsonRpcMessage};

/// The id of the request that a message responds to, with a result or an error.
pub fn response_id(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    }
}
