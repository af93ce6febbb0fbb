//! The routes of the API.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, RawQuery, State as Shared};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use serde::Serialize;

use super::drafts::{self, Desk};
use super::types::{
    AnswerRequest, ChoiceState, ClientState, CommandState, EndedTask, HostState, OutputPart, Problem, QuestionState,
    ServerState, SessionState, State,
};
use super::{Viewer, events, lines, output_events, tail, typing};
use crate::base::worker_threads;
use crate::exec::Streams;
use crate::server::{
    Client, CommandOutput, Connections, Question, RunningCommand, SeenHost, Server, Session, TooLate, sandbox_in_words,
};

/// The most bytes of one part of a stored output.
const LARGEST_PART: usize = 1 << 20;

type TheServer = Shared<Arc<Server>>;
type TheViewer = Extension<Viewer>;

/// Every request must carry a [`Viewer`].
pub fn router(server: Arc<Server>) -> Router {
    Router::new()
        .route("/v1/state", get(async |server: TheServer, viewer: TheViewer| json(&state(&server, &viewer))))
        .route("/v1/questions", get(async |server: TheServer, viewer: TheViewer| json(&questions(&server, &viewer))))
        .route("/v1/questions/{id}", post(answer))
        .route("/v1/events", get(events::stream))
        .route("/v1/commands/{id}/output", get(output_events::stream))
        .route("/v1/commands/{id}/tail", get(tail::get))
        .route("/v1/commands/{id}/lines/{stream}", get(lines::get))
        .route("/v1/commands/{id}/input", post(typing::post))
        .route("/v1/commands/{id}/stop", post(stop))
        .route("/v1/clients/{client}/outputs/{id}", get(output))
        .route("/v1/approvals", get(approvals))
        .route("/v1/approvals/{id}/revoke", post(revoke))
        .with_state(server.clone())
        .nest("/v1/drafts", drafts::router(Desk::Server(server)))
}

pub fn json(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
        Err(error) => problem(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

pub fn problem(status: StatusCode, error: String) -> Response {
    let body = serde_json::to_vec(&Problem { error }).unwrap_or_default();
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

async fn answer(
    Shared(server): TheServer,
    Extension(viewer): TheViewer,
    Path(id): Path<String>,
    body: Bytes,
) -> Response {
    let request: AnswerRequest = match serde_json::from_slice(&body) {
        Ok(request) => request,
        Err(error) => return problem(StatusCode::BAD_REQUEST, error.to_string()),
    };
    if !server.questions().get(&id).is_some_and(|question| viewer.sees(&question.who.principal)) {
        return problem(StatusCode::NOT_FOUND, TooLate::Unknown(id).to_string());
    }
    match server.questions().choose(&id, &request.decision, &viewer.signature(&request.by)) {
        Ok(_) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => {
            let status = match error {
                TooLate::Unknown(_) => StatusCode::NOT_FOUND,
                TooLate::NotOffered(..) => StatusCode::BAD_REQUEST,
                TooLate::Answered { .. } => StatusCode::CONFLICT,
            };
            problem(status, error.to_string())
        }
    }
}

/// Ends a command with everything that descends from it: TERM first, KILL after the grace period.
async fn stop(Shared(server): TheServer, Extension(viewer): TheViewer, Path(id): Path<String>) -> Response {
    let Some(command) = visible_command(&server, &viewer, &id) else { return no_command(&id) };
    tokio::spawn(async move { command.process.terminate().await });
    StatusCode::ACCEPTED.into_response()
}

async fn output(
    Shared(server): TheServer,
    Extension(viewer): TheViewer,
    Path((client, id)): Path<(u64, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let mut clients = server.clients().all().into_iter().filter(|known| viewer.sees(known.principal()));
    let client = clients.find(|known| known.number() == client);
    let stored = client.and_then(|client| client.sessions().iter().find_map(|session| session.output(&id)));
    let Some(stored) = stored else { return problem(StatusCode::NOT_FOUND, format!("there is no output {id}")) };
    let from = number(query.as_deref(), "from").unwrap_or(0);
    let most = number(query.as_deref(), "max").and_then(|most| usize::try_from(most).ok());
    let read = worker_threads::run(move || {
        let mut bytes = vec![0; most.unwrap_or(LARGEST_PART).clamp(1, LARGEST_PART)];
        let count = stored.recording.get().spill.read_at(from, &mut bytes)?;
        bytes.truncate(count);
        Ok::<_, std::io::Error>(bytes)
    });
    match read.await {
        Ok(Ok(bytes)) => {
            let next = from + bytes.len() as u64;
            json(&OutputPart { from, next, text: String::from_utf8_lossy(&bytes).into_owned(), end: bytes.is_empty() })
        }
        Ok(Err(error)) => problem(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
        Err(error) => problem(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

async fn approvals(Shared(server): TheServer, Extension(viewer): TheViewer) -> Response {
    let given = server.approvals_given();
    json(&given.iter().filter(|approval| viewer.sees_approval(approval)).collect::<Vec<_>>())
}

async fn revoke(Shared(server): TheServer, Extension(viewer): TheViewer, Path(id): Path<String>) -> Response {
    match server.revoke(|approval| approval.id == id && viewer.sees_approval(approval)) {
        Ok(revoked) if revoked.is_empty() => problem(StatusCode::NOT_FOUND, format!("there is no approval {id}")),
        Ok(revoked) => json(&revoked),
        Err(error) => problem(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
    }
}

/// A command that runs, if this viewer may know of it.
pub fn visible_command(server: &Server, viewer: &Viewer, id: &str) -> Option<Arc<RunningCommand>> {
    server.activity().command(id).filter(|command| viewer.sees(&command.who.principal))
}

/// What a command prints or has printed, if this viewer may know of it.
pub fn visible_output(server: &Server, viewer: &Viewer, id: &str) -> Option<Arc<CommandOutput>> {
    server.activity().output(id).filter(|printed| viewer.sees(&printed.who.principal))
}

pub fn no_command(id: &str) -> Response {
    problem(StatusCode::NOT_FOUND, format!("no command {id} runs"))
}

/// A number in the query of a request.
pub fn number(query: Option<&str>, name: &str) -> Option<u64> {
    let pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.into_iter().find(|(key, _)| *key == name)?.1.parse().ok()
}

pub fn state(server: &Server, viewer: &Viewer) -> State {
    let config = server.config();
    let commands = server.activity().commands();
    let mut clients = server.clients().all();
    clients.retain(|client| viewer.sees(client.principal()));
    clients.sort_by_key(|client| client.number());
    let found = server.enforcement();
    State {
        server: ServerState {
            id: server.audit().server().to_owned(),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            transport: format!("{:?}", config.transport).to_ascii_lowercase(),
            project: server.workplace(&[]).project_dir.display().to_string(),
            sandbox: config.sandbox.mode.to_string(),
            sandbox_words: sandbox_in_words(&config, found.as_deref().map(Into::into)),
            level: found.as_ref().map(|found| found.level.to_string()),
            policy: server.gate().policy().lines(),
            configuration_refused: server.configuration_refused(),
        },
        clients: clients.iter().map(|client| client_state(client, &commands)).collect(),
        questions: questions(server, viewer),
    }
}

fn client_state(client: &Client, commands: &[Arc<RunningCommand>]) -> ClientState {
    let own: Vec<&Arc<RunningCommand>> =
        commands.iter().filter(|command| command.who.connection == client.number()).collect();
    let session = |(name, session): &(String, Arc<Session>)| {
        let name = if name.is_empty() { "default" } else { name };
        let running = own.iter().filter(|command| command.who.session == name);
        let ended = session.tasks().ended().into_iter().map(|(id, exit_code)| EndedTask { id, exit_code });
        SessionState {
            name: name.to_owned(),
            cwd: session.state().cwd.display().to_string(),
            commands: running.map(|command| command_state(command)).collect(),
            ended: ended.collect(),
            outputs: session.output_ids(),
            hosts: session.hosts().map(|hosts| host_states(hosts.connections())).unwrap_or_default(),
        }
    };
    ClientState {
        number: client.number(),
        principal: client.principal().to_owned(),
        name: client.name(),
        sessions: client.named_sessions().iter().map(session).collect(),
    }
}

fn host_states(connections: &Connections) -> Vec<HostState> {
    let state = |seen| {
        let SeenHost { host, port, open, ended, refused, reason, sent, received } = seen;
        HostState { host, port, open, ended, refused, reason, sent, received }
    };
    connections.hosts().into_iter().map(state).collect()
}

fn command_state(command: &RunningCommand) -> CommandState {
    CommandState {
        id: command.id.clone(),
        command: command.command.clone(),
        cwd: command.cwd.display().to_string(),
        description: command.description.clone(),
        pid: command.process.pid,
        milliseconds: command.output.elapsed(),
        task: command.task(),
        terminal: matches!(command.output.streams, Streams::Terminal { .. }),
        takes_input: command.input.is_some(),
        last_line: last_line(&command.output.streams),
    }
}

fn last_line(streams: &Streams) -> String {
    const LONGEST: usize = 200;
    streams.last_line().chars().take(LONGEST).collect()
}

pub fn questions(server: &Server, viewer: &Viewer) -> Vec<QuestionState> {
    let pending = server.questions().pending();
    pending
        .iter()
        .filter(|question| viewer.sees(&question.who.principal))
        .map(|question| question_state(question))
        .collect()
}

fn question_state(question: &Question) -> QuestionState {
    let choices = question.form.choices.iter();
    QuestionState {
        id: question.id.clone(),
        principal: question.who.principal.clone(),
        client: question.who.client.clone(),
        session: question.who.session.clone(),
        tool: question.who.tool.clone().into_owned(),
        message: question.form.message.clone(),
        beside: question.form.beside.clone(),
        choices: choices
            .map(|choice| ChoiceState { decision: choice.decision.name().to_owned(), title: choice.title.clone() })
            .collect(),
        seconds_left: question.time_left().as_secs(),
    }
}
