//! The translator: the protocol's requests become [`Call`]s, our outputs become its results. Both lifecycles, with and
//! without `initialize`, arrive at this one handler.

use std::sync::Arc;

use axum::http::request::Parts;
use base64::prelude::{BASE64_STANDARD, Engine};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult, ContentBlock,
    CustomRequest, CustomResult, ErrorCode, Extensions, Implementation, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ServerCapabilities,
    ServerConfig, ToolAnnotations,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::auth::Principal;
use super::elicitation::Seals;
use super::endpoint::SESSION_HEADER;
use super::roots;
use crate::server::{Call, Client, ClientId, ProgressSink, Server};
use crate::server::{Stop, ToolEntry, ToolError, ToolOutput};

#[derive(Clone)]
pub struct Handler {
    server: Arc<Server>,
    seals: Seals,
}

impl Handler {
    pub fn new(server: Arc<Server>) -> Self {
        Self { server, seals: Seals::default() }
    }

    /// Who asks. Over HTTP the request says it: by its protocol session, or by its token where there are none.
    fn client(&self, extensions: &Extensions, has_initialize: bool) -> Arc<Client> {
        let clients = self.server.clients();
        let Some(parts) = extensions.get::<Parts>() else { return clients.local() };
        let principal = parts.extensions.get::<Principal>().map_or("", |principal| &principal.0);
        let session = parts.headers.get(SESSION_HEADER).filter(|_| has_initialize).and_then(|id| id.to_str().ok());
        session
            .and_then(|id| clients.get(&ClientId::ProtocolSession(id.to_owned())))
            .filter(|client| client.principal() == principal)
            .unwrap_or_else(|| clients.get_or_add(ClientId::Principal(principal.to_owned()), principal))
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("testudo", env!("CARGO_PKG_VERSION")).with_title("testudo"))
            .with_instructions(self.server.instructions())
    }

    // What is not declared is not there. The SDK would answer with empty lists, and a client would believe it.

    async fn list_prompts(&self, _: Page, _: RequestContext<RoleServer>) -> Result<ListPromptsResult, ErrorData> {
        Err(no_method("prompts/list"))
    }

    async fn list_resources(&self, _: Page, _: RequestContext<RoleServer>) -> Result<ListResourcesResult, ErrorData> {
        Err(no_method("resources/list"))
    }

    async fn list_resource_templates(
        &self,
        _: Page,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(no_method("resources/templates/list"))
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(no_method("completion/complete"))
    }

    /// Where a request ends up whose method is unknown, and one whose parameters do not fit its method.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method.as_str();
        let is_known = match method {
            "tools/call" | "tools/list" => true,
            "initialize" | "ping" => has_initialize(&context),
            "server/discover" => !has_initialize(&context),
            _ => false,
        };
        let malformed = || ErrorData::invalid_params(format!("malformed parameters for {method}"), None);
        Err(if is_known { malformed() } else { no_method(method) })
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        roots::ask_first(&self.server, &self.client(&context.extensions, true), &context.peer);
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        roots::ask_again(&self.server, &self.client(&context.extensions, true), &context.peer);
    }

    async fn list_tools(&self, _: Page, _: RequestContext<RoleServer>) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.server.tools().iter().map(|entry| tool(entry)).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let client = self.client(&context.extensions, has_initialize(&context));
        if has_initialize(&context) {
            // The first call may overtake the notification that the client is ready.
            roots::ask_first(&self.server, &client, &context.peer);
        }
        let call = Call {
            asker: self.seals.asker(&request, &context, has_initialize(&context)),
            client,
            tool: request.name.into_owned(),
            arguments: request.arguments.unwrap_or_default(),
            progress: progress(&context),
            cancel: context.ct,
        };
        match self.server.call(call).await {
            Ok(Ok(output)) => Ok(success(output).into()),
            Ok(Err(Stop::Error(error))) => Ok(failure(&error).into()),
            Ok(Err(Stop::Ask(question))) => Ok(match self.seals.ask(*question) {
                Some(question) => question.into(),
                None => failure(&ToolError::new("this needs an approval, and the question could not be sealed")).into(),
            }),
            Err(error) => Err(ErrorData::invalid_params(error.to_string(), None)),
        }
    }
}

/// Which of the two lifecycles a request belongs to: the one that begins with `initialize`, or the one without.
fn has_initialize(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_none_or(|version| version.has_initialize())
}

type Page = Option<PaginatedRequestParams>;

fn no_method(name: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("method not found: {name}"), None)
}

fn success(output: ToolOutput) -> CallToolResult {
    let (image, texts) = output.into_blocks();
    let image = image.filter(|image| !image.data.is_empty());
    let image = image.map(|image| ContentBlock::image(BASE64_STANDARD.encode(image.data), image.mime));
    CallToolResult::success(image.into_iter().chain(texts.into_iter().map(ContentBlock::text)).collect())
}

fn failure(error: &ToolError) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(error.to_string())])
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

fn tool(entry: &ToolEntry) -> rmcp::model::Tool {
    let hints = entry.hints;
    rmcp::model::Tool::new(entry.name, entry.description, Arc::new((entry.schema)().clone())).with_annotations(
        ToolAnnotations::from_raw(
            Some(entry.title.to_owned()),
            Some(hints.read_only),
            Some(hints.destructive),
            Some(hints.idempotent),
            Some(hints.open_world),
        ),
    )
}
