//! What the API says, for both of its sides.

use serde::{Deserialize, Serialize};

/// Everything about one server at one moment.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct State {
    pub server: ServerState,
    pub clients: Vec<ClientState>,
    pub questions: Vec<QuestionState>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ServerState {
    /// Its name in the audit log.
    pub id: String,
    pub pid: u32,
    pub version: String,
    pub transport: String,
    pub project: String,
    pub sandbox: String,
    /// What the sandbox means for commands, in a sentence.
    #[serde(default)]
    pub sandbox_words: String,
    /// Not known before the first command.
    pub level: Option<String>,
    pub policy: Vec<String>,
    /// Why the configuration file as it is now does not count, if that is so.
    #[serde(default)]
    pub configuration_refused: Option<String>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ClientState {
    /// Tells the clients of one server apart.
    pub number: u64,
    /// The name of its token, or `local`.
    pub principal: String,
    /// What it calls itself.
    pub name: Option<String>,
    pub sessions: Vec<SessionState>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct SessionState {
    pub name: String,
    pub cwd: String,
    /// Commands that run, tasks included.
    pub commands: Vec<CommandState>,
    /// Tasks that have ended and were not read yet.
    pub ended: Vec<EndedTask>,
    /// The ids of stored outputs.
    pub outputs: Vec<String>,
    /// The hosts that its commands connected to through the proxy; the one that was used last comes first.
    #[serde(default)]
    pub hosts: Vec<HostState>,
}

/// A host that commands have connected to, or wanted to.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct HostState {
    pub host: String,
    pub port: u16,
    /// How many connections are open, have ended, and were refused.
    pub open: usize,
    pub ended: u64,
    pub refused: u64,
    /// Why the last one was refused or failed.
    pub reason: Option<String>,
    /// Bytes to the host and from it.
    pub sent: u64,
    pub received: u64,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct CommandState {
    pub id: String,
    pub command: String,
    pub cwd: String,
    pub description: Option<String>,
    /// As the session's commands see it.
    pub pid: i32,
    pub milliseconds: u64,
    /// The id of the task that it is.
    pub task: Option<String>,
    pub terminal: bool,
    /// Whether a person can type into it.
    #[serde(default)]
    pub takes_input: bool,
    /// The line that shows how far it has come: the last one that it printed, or the one with the cursor.
    #[serde(default)]
    pub last_line: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct EndedTask {
    pub id: String,
    pub exit_code: i32,
}

/// A question that waits for an answer. `message` shows it completely; nothing in it can be forged.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct QuestionState {
    pub id: String,
    pub principal: String,
    pub client: Option<String>,
    pub session: String,
    pub tool: String,
    pub message: String,
    /// Size and programs, to be shown beside the choices.
    pub beside: String,
    pub choices: Vec<ChoiceState>,
    pub seconds_left: u64,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct ChoiceState {
    pub decision: String,
    pub title: String,
}

/// The body of an answer.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct AnswerRequest {
    pub decision: String,
    /// Who answers, as the others will read it.
    pub by: String,
}

/// A part of a stored output.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct OutputPart {
    pub from: u64,
    /// Where the next part begins.
    pub next: u64,
    pub text: String,
    /// Whether everything that was stored up to now has been read.
    pub end: bool,
}

/// A piece of what a command prints.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct OutputPiece {
    pub stream: String,
    pub text: String,
}

/// What is new in the output of a command.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Tail {
    /// The command has ended, and this is the rest.
    pub over: bool,
    /// How it has ended: see `process_exit` in the audit log.
    pub exit_code: Option<i32>,
    pub ended_by: Option<String>,
    pub milliseconds: u64,
    pub streams: Vec<TailPart>,
    /// For a command in a terminal, if its screen has changed.
    pub screen: Option<ScreenState>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct TailPart {
    pub stream: String,
    /// So many bytes before the text are too old to be shown live.
    pub left_out: u64,
    /// To be sent with the next request.
    pub next: u64,
    pub text: String,
}

/// Some lines of a stream as they were printed, with their escape sequences.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Lines {
    /// The number of the first one. They are counted from 1.
    pub from: u64,
    pub lines: Vec<String>,
    /// How many lines there are by now.
    pub total: u64,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ScreenState {
    pub next: u64,
    /// With colours as escape sequences, and no other sequences.
    pub rows: Vec<String>,
    /// Row and column, if it can be seen.
    pub cursor: Option<(u16, u16)>,
}

/// The body of a request that types: first the text, then the keys, by tmux's names.
#[derive(Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct InputRequest {
    pub text: String,
    pub keys: Vec<String>,
}

/// A draft that the server works on, and what differs in it.
#[derive(Clone, Debug, Serialize)]
pub struct DraftState {
    pub key: String,
    pub project: String,
    pub bytes: u64,
    pub changes: Vec<ChangeState>,
    /// So many further changes are not in the list.
    pub left_out: usize,
    /// Programs outside the sandbox run or trust these.
    pub protected: Vec<ChangeState>,
    pub sums: Vec<SumState>,
}

/// A path at which the draft differs. `key` names it in requests; what is to be read has nothing invisible in it.
#[derive(Clone, Debug, Serialize)]
pub struct ChangeState {
    pub key: String,
    pub path: String,
    /// Where a renamed file was.
    pub from: Option<String>,
    pub from_key: Option<String>,
    pub what: &'static str,
    pub more: String,
    /// The person has changed the original meanwhile.
    pub conflict: bool,
}

/// What git keeps, or what it ignores, as one line.
#[derive(Clone, Debug, Serialize)]
pub struct SumState {
    pub key: String,
    pub kind: &'static str,
    pub path: String,
    pub text: String,
}

#[derive(Clone, Debug, Serialize)]
pub struct DiffText {
    pub text: String,
}

/// The body of a request that applies or discards.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DecisionRequest {
    /// The keys of changes. Without them, everything.
    pub paths: Option<Vec<String>>,
    /// To overwrite what the person has changed meanwhile.
    pub force: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct Decided {
    pub done: usize,
    pub refused: Vec<NotDecided>,
}

#[derive(Clone, Debug, Serialize)]
pub struct NotDecided {
    pub key: String,
    pub path: String,
    pub reason: String,
    pub conflict: bool,
}

/// The body of every answer that is not 2xx.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Problem {
    pub error: String,
}
