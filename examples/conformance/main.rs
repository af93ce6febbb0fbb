//! A server with the tools, prompts and resources that the official conformance suite expects. Connections, limits,
//! sessions and both lifecycles are those of testudo's own transport. For tests only.
//!
//! `cargo run --example conformance -- 127.0.0.1:8932`

#![expect(deprecated, reason = "logging, sampling and roots are leaving the protocol; the suite still asks for them")]
#![expect(clippy::unnecessary_wraps, reason = "every branch answers in the same shape")]

mod input_required;
mod prompts;
mod resources;
mod tools;

use std::sync::{Arc, Mutex};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, ErrorData, GetPromptRequestParams,
    GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, LoggingLevel, LoggingMessageNotificationParam, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, SetLevelRequestParams, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use testudo::config::{self, Source};
use testudo::records::CallId;
use testudo::transport::backend::Backend;
use testudo::transport::http::Http;
use testudo::transport::signals::Signals;
use tokio::sync::broadcast;

type Context = RequestContext<RoleServer>;
type Page = Option<PaginatedRequestParams>;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let listen = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let flag = |name: &str, value: &str| (name.to_owned(), vec![value.to_owned()]);
    let source = Source {
        environment: Vec::new(),
        flags: vec![
            flag("transport", "http"),
            flag("listen", &listen),
            flag("no-auth", "true"),
            flag("network", "off"),
        ],
        current_dir: std::env::current_dir().ok(),
    };
    let http = Http::bind(config::load(&source)?.http).await?;
    #[expect(clippy::print_stderr, reason = "the script that started it reads the address")]
    {
        eprintln!("conformance fixtures on http://{}/mcp", http.address());
    }
    let changes = broadcast::channel(16).0;
    let fixtures = Fixtures { changes, log_level: Arc::default() };
    http.serve(Arc::default(), Signals::listen()?, fixtures).await?;
    Ok(())
}

#[derive(Clone, Copy)]
enum Change {
    Tools,
    Prompts,
}

#[derive(Clone)]
struct Fixtures {
    changes: broadcast::Sender<Change>,
    /// Set by a client of the lifecycle with sessions.
    log_level: Arc<Mutex<Option<LoggingLevel>>>,
}

impl Fixtures {
    async fn log(&self, context: &Context, text: &str) {
        let wanted = if is_modern(context) {
            context.meta.log_level()
        } else {
            Some(self.log_level.lock().unwrap().unwrap_or(LoggingLevel::Info))
        };
        if wanted.is_some_and(|wanted| LoggingLevel::Info as u8 >= wanted as u8) {
            let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, text.into());
            let _ = context.peer.notify_logging_message(message).await;
        }
    }
}

impl Backend for Fixtures {
    fn cancel_call(&self, _: &str, _: CallId) {}

    async fn calls_finished(&self) {}

    fn status(&self) -> serde_json::Value {
        serde_json::Value::Null
    }
}

fn is_modern(context: &Context) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}

impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_completions()
            .enable_logging()
            .build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("conformance", "1"))
    }

    async fn list_tools(&self, _: Page, _: Context) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::all().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(&self, call: CallToolRequestParams, context: Context) -> Result<CallToolResponse, ErrorData> {
        tools::call(self, call, context).await
    }

    async fn set_level(&self, level: SetLevelRequestParams, _: Context) -> Result<(), ErrorData> {
        *self.log_level.lock().unwrap() = Some(level.level);
        Ok(())
    }

    async fn complete(&self, _: CompleteRequestParams, _: Context) -> Result<CompleteResult, ErrorData> {
        Ok(CompleteResult::default())
    }

    async fn list_prompts(&self, _: Page, _: Context) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::all()))
    }

    async fn get_prompt(&self, prompt: GetPromptRequestParams, _: Context) -> Result<GetPromptResponse, ErrorData> {
        prompts::get(&prompt)
    }

    async fn list_resources(&self, _: Page, _: Context) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::all()))
    }

    async fn list_resource_templates(&self, _: Page, _: Context) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        resource: ReadResourceRequestParams,
        _: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read(&resource.uri)
    }

    async fn subscribe(&self, _: SubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.changes.subscribe();
        loop {
            let change = tokio::select! {
                () = context.cancelled() => return Ok(()),
                change = changes.recv() => change,
            };
            // The sink returns an error for a change that this listener did not subscribe to. Nothing is sent then.
            let _ = match change {
                Ok(Change::Tools) => context.sink().notify_tool_list_changed().await,
                Ok(Change::Prompts) => context.sink().notify_prompt_list_changed().await,
                Err(_) => return Ok(()),
            };
        }
    }
}
