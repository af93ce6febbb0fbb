//! The translator: the protocol's requests become [`Call`]s, our outputs become its results. Both lifecycles, with and
//! without `initialize`, arrive at this one handler.

use std::sync::Arc;

use base64::prelude::{BASE64_STANDARD, Engine};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities, ServerConfig, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};

use crate::server::{Call, ProgressSink, Server};
use crate::tools::{self, Entry, Image, ToolOutput};

#[derive(Clone)]
pub struct Handler {
    server: Arc<Server>,
}

impl Handler {
    pub fn new(server: Arc<Server>) -> Self {
        Self { server }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("testudo", env!("CARGO_PKG_VERSION")).with_title("testudo"))
            .with_instructions(self.server.instructions())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.server.tools().iter().map(|entry| tool(entry)).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = Call {
            tool: request.name.into_owned(),
            arguments: request.arguments.unwrap_or_default(),
            progress: progress(&context),
            cancel: context.ct,
        };
        match self.server.call(call).await {
            Ok(result) => Ok(answer(result).into()),
            Err(error) => Err(ErrorData::invalid_params(error.to_string(), None)),
        }
    }
}

fn answer(result: Result<ToolOutput, tools::ToolError>) -> CallToolResult {
    match result {
        Ok(ToolOutput::Text(text)) => CallToolResult::success(vec![ContentBlock::text(text)]),
        Ok(ToolOutput::Image(image)) => CallToolResult::success(picture(image)),
        Err(error) => CallToolResult::error(vec![ContentBlock::text(error.to_string())]),
    }
}

fn picture(image: Image) -> Vec<ContentBlock> {
    let data = (!image.data.is_empty()).then(|| ContentBlock::image(BASE64_STANDARD.encode(image.data), image.mime));
    data.into_iter().chain(image.note.map(ContentBlock::text)).collect()
}

/// Only a client that sent a token wants to hear of progress.
fn progress(context: &RequestContext<RoleServer>) -> Option<ProgressSink> {
    let token = context.meta.get_progress_token()?;
    let peer = context.peer.clone();
    Some(Arc::new(move |count, message| {
        let notification = ProgressNotificationParam::new(token.clone(), count).with_message(message);
        let peer = peer.clone();
        Box::pin(async move {
            // A client that has gone is noticed elsewhere.
            let _ = peer.notify_progress(notification).await;
        })
    }))
}

fn tool(entry: &Entry) -> rmcp::model::Tool {
    let hints = entry.hints;
    rmcp::model::Tool::new(entry.name, entry.description, Arc::new(tools::schema(entry.name).clone())).with_annotations(
        ToolAnnotations::from_raw(
            Some(entry.title.to_owned()),
            Some(hints.read_only),
            Some(hints.destructive),
            Some(hints.idempotent),
            Some(hints.open_world),
        ),
    )
}
