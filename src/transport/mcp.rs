//! Translates between the protocol and the server: requests become [`Call`]s, outputs become results. One handler serves
//! both lifecycles, with and without `initialize`.

use std::sync::Arc;

use axum::http::request::Parts;
use base64::prelude::{BASE64_STANDARD, Engine};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult, ContentBlock,
    CustomRequest, CustomResult, ErrorCode, Extensions, Implementation, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, MetaObject, PaginatedRequestParams, ProgressNotificationParam,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, ToolAnnotations,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::auth::Principal;
use super::elicitation;
use super::resources;
use super::roots;
use super::sealed_questions::SealedQuestions;
use crate::server::{Asker, Call, Client, ClientId, ProgressSink, Server, Stop, ToolEntry, ToolError, ToolOutput};

#[derive(Clone)]
pub struct Handler {
    server: Arc<Server>,
    questions: SealedQuestions,
}

impl Handler {
    pub fn new(server: Arc<Server>) -> Self {
        Self { server, questions: SealedQuestions::default() }
    }

    /// The client that sent a message. [`super::own_sessions`] has attached it to a message of a protocol session. Without
    /// a session, an HTTP request belongs to its principal. A message that is no HTTP request came over stdio.
    fn client(&self, extensions: &Extensions) -> Arc<Client> {
        let clients = self.server.clients();
        if let Some(client) = extensions.get::<Arc<Client>>() {
            return client.clone();
        }
        let Some(parts) = extensions.get::<Parts>() else { return clients.local() };
        let principal = parts.extensions.get::<Principal>().map_or("", |principal| &principal.0);
        clients.get_or_add(ClientId::Principal(principal.to_owned()), principal)
    }

    /// How the person at this client can be asked about the call.
    fn asker(&self, request: &CallToolRequestParams, context: &RequestContext<RoleServer>) -> Asker {
        if !elicitation::is_supported(context) {
            Asker::Nobody
        } else if has_initialize(context) {
            elicitation::ask_now(&context.peer)
        } else {
            Asker::Later(self.questions.open(request))
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_resources().build())
            .with_server_info(Implementation::new("testudo", env!("CARGO_PKG_VERSION")).with_title("testudo"))
            .with_instructions(self.server.instructions())
    }

    // This server has no prompts or completions. The SDK would respond with empty lists instead of an error,
    // and a client would believe that the feature exists.

    async fn list_prompts(&self, _: Page, _: RequestContext<RoleServer>) -> Result<ListPromptsResult, ErrorData> {
        Err(no_method("prompts/list"))
    }

    async fn list_resources(&self, _: Page, _: RequestContext<RoleServer>) -> Result<ListResourcesResult, ErrorData> {
        Ok(resources::list())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(&self.server, &request.uri).map(Into::into)
    }

    async fn list_resource_templates(
        &self,
        _: Page,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::default())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(no_method("completion/complete"))
    }

    /// The SDK calls this for an unknown method, and for a known one whose parameters do not parse.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method.as_str();
        let is_known = match method {
            "tools/call" | "tools/list" | "resources/list" | "resources/read" | "resources/templates/list" => true,
            "initialize" | "ping" => has_initialize(&context),
            "server/discover" => !has_initialize(&context),
            _ => false,
        };
        let malformed = || ErrorData::invalid_params(format!("malformed parameters for {method}"), None);
        Err(if is_known { malformed() } else { no_method(method) })
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        roots::ask_first(&self.server, &self.client(&context.extensions), &context.peer);
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        roots::ask_again(&self.server, &self.client(&context.extensions), &context.peer);
    }

    async fn list_tools(&self, _: Page, _: RequestContext<RoleServer>) -> Result<ListToolsResult, ErrorData> {
        self.server.follow_configuration().await;
        Ok(ListToolsResult::with_all_items(self.server.tools().iter().map(|entry| tool(entry)).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let client = self.client(&context.extensions);
        if has_initialize(&context) {
            // The SDK may handle the first call before the notification that the client is ready.
            roots::ask_first(&self.server, &client, &context.peer);
        }
        client.introduce(|| {
            let info = context.client_info()?;
            Some(format!("{} {}", info.name, info.version))
        });
        let call = Call {
            asker: self.asker(&request, &context),
            client,
            tool: request.name.into_owned(),
            arguments: request.arguments.unwrap_or_default(),
            progress: progress(&context),
            cancel: context.ct,
        };
        match self.server.call(call).await {
            Ok(Ok(output)) => Ok(success(output).into()),
            Ok(Err(Stop::Error(error))) => Ok(failure(&error).into()),
            Ok(Err(Stop::Ask(question))) => Ok(match self.questions.seal(*question) {
                Some(question) => question.into(),
                None => failure(&ToolError::new("this needs an approval, and the question could not be sealed")).into(),
            }),
            Err(error) => Err(ErrorData::invalid_params(error.to_string(), None)),
        }
    }
}

/// Whether a request belongs to the lifecycle that begins with `initialize`.
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

/// Claude Code cuts a result above its own limit, unless the tool says how long a result may be. This is more than two full
/// streams with their last lines.
const LONGEST_RESULT_KEY: &str = "anthropic/maxResultSizeChars";
const LONGEST_RESULT: u32 = 200_000;

/// Claude Code shows the model only the names of a server's tools and has it search for the rest, unless a tool says that
/// it is always needed. A model that does not see `bash` uses the client's own, outside the sandbox.
const ALWAYS_LOAD_KEY: &str = "anthropic/alwaysLoad";

/// Only a client that sent a progress token gets progress.
fn progress(context: &RequestContext<RoleServer>) -> Option<ProgressSink> {
    let token = context.meta.get_progress_token()?;
    let peer = context.peer.clone();
    Some(Arc::new(move |count, message| {
        let notification = ProgressNotificationParam::new(token.clone(), count).with_message(message);
        let peer = peer.clone();
        Box::pin(async move {
            // A client that has gone is noticed where its messages are read.
            let _ = peer.notify_progress(notification).await;
        })
    }))
}

fn tool(entry: &ToolEntry) -> rmcp::model::Tool {
    let hints = entry.hints;
    let tool = rmcp::model::Tool::new(entry.name, entry.description, Arc::new((entry.schema)().clone()));
    let mut meta = MetaObject(std::iter::once((ALWAYS_LOAD_KEY.to_owned(), true.into())).collect());
    if entry.result_may_be_long {
        meta.0.insert(LONGEST_RESULT_KEY.to_owned(), LONGEST_RESULT.into());
    }
    tool.with_meta(meta).with_annotations(ToolAnnotations::from_raw(
        Some(entry.title.to_owned()),
        Some(hints.read_only),
        Some(hints.destructive),
        Some(hints.idempotent),
        Some(hints.open_world),
    ))
}
