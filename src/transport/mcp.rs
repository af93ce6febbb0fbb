//! Translates between the protocol and the server: requests become [`Call`]s, outputs become results. One handler serves
//! both lifecycles, with and without `initialize`.

use std::sync::Arc;
use std::time::SystemTime;

use axum::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelledNotificationParam, CompleteRequestParams,
    CompleteResult, ContentBlock, CustomRequest, CustomResult, ErrorCode, Extensions, Implementation,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, MetaObject,
    PaginatedRequestParams, ProgressNotificationParam, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, ToolAnnotations,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::auth::Principal;
use super::backend::Backend;
use super::call_id;
use super::elicitation;
use super::resources;
use super::roots;
use super::sealed_questions::SealedQuestions;
use crate::base::random;
use crate::records::{BadCallId, CallId};
use crate::server::{
    Asker, Call, CallError, CallResult, Client, ClientId, Known, OpenQuestion, ProgressSink, Server, Stop, ToolEntry,
    ToolError,
};

#[derive(Clone)]
pub struct Handler {
    server: Arc<Server>,
    questions: SealedQuestions,
    /// Tells this start of the server from others.
    instance: Arc<str>,
}

impl Handler {
    pub fn new(server: Arc<Server>) -> Self {
        Self { server, questions: SealedQuestions::default(), instance: random::hex::<16>().into() }
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
        let client = self.client(&context.extensions);
        if !roots::ask_first(&self.server, &client, &context.peer) {
            self.server.expect_session(self.server.workplace(&[]));
        }
    }

    async fn on_roots_list_changed(&self, context: NotificationContext<RoleServer>) {
        roots::ask_again(&self.server, &self.client(&context.extensions), &context.peer);
    }

    async fn list_tools(&self, _: Page, _: RequestContext<RoleServer>) -> Result<ListToolsResult, ErrorData> {
        self.server.follow_configuration().await;
        let all = self.server.tools().iter().map(|entry| tool(entry)).collect();
        self.server.has_greeted();
        Ok(ListToolsResult::with_all_items(all))
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
        let id = call_id::of_call(&context.meta, &context.extensions).map_err(bad_call_id)?;
        if let Some(id) = id.clone().filter(|_| call_id::is_peek(&context.meta)) {
            let known = self.server.peek(client.principal(), id).await;
            return self.known(known);
        }
        // Without protocol sessions, a lost connection fires this. A call that has an id goes on: its client can ask for
        // the result.
        let may_be_lost = context.extensions.get::<Parts>().is_some() && !has_initialize(&context);
        let cancel = if id.is_some() && may_be_lost { CancellationToken::new() } else { context.ct.clone() };
        let call = Call {
            asker: self.asker(&request, &context),
            client,
            tool: request.name.into_owned(),
            arguments: request.arguments.unwrap_or_default(),
            progress: progress(&context),
            cancel,
        };
        if let Some(id) = id {
            let known = Box::pin(self.server.call_once(id, call)).await;
            return self.known(known);
        }
        // On the heap: the SDK moves the future of a request several times.
        match Box::pin(self.server.call(call)).await {
            Ok(Ok(output)) => Ok(result(&output.into()).into()),
            Ok(Err(Stop::Error(error))) => Ok(result(&error.into()).into()),
            Ok(Err(Stop::Ask(question))) => Ok(self.question(*question)),
            Err(error) => Err(no_result(&error)),
        }
    }

    /// A call can also be cancelled by its own id, from another connection than it came on.
    async fn on_cancelled(&self, cancel: CancelledNotificationParam, context: NotificationContext<RoleServer>) {
        let meta = cancel.meta.as_ref().unwrap_or(&context.meta);
        if let Ok(Some(id)) = call_id::in_meta(meta) {
            self.cancel_call(self.client(&context.extensions).principal(), id);
        }
    }
}

impl Handler {
    fn question(&self, question: OpenQuestion) -> CallToolResponse {
        match self.questions.seal(question) {
            Some(question) => question.into(),
            None => {
                result(&ToolError::new("this needs an approval, and the question could not be sealed").into()).into()
            }
        }
    }

    /// The response to a call that has an id.
    fn known(&self, known: Known) -> Result<CallToolResponse, ErrorData> {
        let (outcome, mut response) = match known {
            Known::Finished(finished) => ("finished", result(&finished)),
            Known::Running { since } => ("running", result(&running(since).into())),
            Known::Lost(error) => ("lost", result(&error.into())),
            Known::Unknown(error) => ("unknown", result(&error.into())),
            Known::Asked(question) => return Ok(self.question(*question)),
            Known::NoResult(error) => return Err(no_result(&error)),
        };
        let meta = [(OUTCOME_KEY, outcome), (INSTANCE_KEY, &self.instance)];
        response.meta = Some(MetaObject(meta.into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect()));
        Ok(response.into())
    }
}

impl Backend for Handler {
    fn cancel_call(&self, principal: &str, id: CallId) {
        if self.server.cancel_call(principal, id) {
            tracing::debug!(principal, "a call was cancelled by its id");
        }
    }

    async fn calls_finished(&self) {
        self.server.calls_finished().await;
    }

    fn status(&self) -> Value {
        let (config, found) = (self.server.config(), self.server.enforcement());
        let sessions: usize = self.server.clients().all().iter().map(|client| client.sessions().len()).sum();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "instance": &*self.instance,
            "sandbox": { "mode": config.sandbox.mode.to_string(), "level": found.map(|found| found.level.to_string()) },
            "network": config.network.mode().to_string(),
            "sessions": sessions,
            "commands": self.server.activity().commands().len(),
            "calls": self.server.calls_running(),
        })
    }
}

/// What became of a call that has an id: `finished`, `running`, `lost` or `unknown`.
const OUTCOME_KEY: &str = "testudo/outcome";
/// Changes with every start of the server. A caller that finds an id unknown knows by it whether the server that it asked
/// before is still the same.
const INSTANCE_KEY: &str = "testudo/instance";

/// Whether a request belongs to the lifecycle that begins with `initialize`.
fn has_initialize(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_none_or(|version| version.has_initialize())
}

type Page = Option<PaginatedRequestParams>;

fn no_method(name: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("method not found: {name}"), None)
}

fn no_result(error: &CallError) -> ErrorData {
    ErrorData::invalid_params(error.to_string(), None)
}

#[expect(clippy::needless_pass_by_value, reason = "it is the error of a result")]
fn bad_call_id(error: BadCallId) -> ErrorData {
    ErrorData::invalid_params(error.to_string(), None)
}

fn running(since: SystemTime) -> ToolError {
    let seconds = since.elapsed().unwrap_or_default().as_secs();
    ToolError::new(format!("running: this call began {seconds} s ago and has not finished"))
        .hint("Repeat it with the same id to wait for its result. Nothing is run a second time.")
}

fn result(result: &CallResult) -> CallToolResult {
    let picture = result.picture.iter().map(|picture| ContentBlock::image(&picture.data, &picture.mime));
    let blocks = picture.chain(result.texts.iter().map(ContentBlock::text)).collect();
    if result.is_error { CallToolResult::error(blocks) } else { CallToolResult::success(blocks) }
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
