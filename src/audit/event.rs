use serde::Serialize;
use serde_json::{Map, Value};

/// For whom something happened.
#[derive(Clone, Debug, Serialize)]
pub struct Who {
    /// The number of the call, counted by its server.
    pub call: u64,
    /// Tells the clients of one server apart.
    pub connection: u64,
    /// The name of the token, or `local`.
    pub principal: String,
    /// What the client calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    pub session: String,
    pub tool: &'static str,
}

/// What happened. It never holds what a file or an output contains, only how large it was.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A server has started, with this configuration.
    ServerStart {
        version: &'static str,
        pid: u32,
        configuration: Value,
    },
    ServerEnd,
    /// The configuration file was read again. `changed` names the settings, `configuration` is what counts now.
    ConfigurationChanged {
        changed: Vec<String>,
        configuration: Value,
    },
    /// The configuration file has changed and does not count.
    ConfigurationRefused {
        reason: String,
    },
    /// A client has called a tool. Long and secret arguments are replaced by their sizes.
    Call {
        arguments: Map<String, Value>,
    },
    /// The policy has judged an action.
    Verdict {
        action: String,
        verdict: String,
        reason: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
        /// A person has approved the same thing before, so nobody is asked.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        approved_before: bool,
    },
    /// A person is asked about the action.
    Question {
        question: String,
        action: String,
        choices: Vec<&'static str>,
    },
    /// `by` says where the answer came from. An answer that is no decision counts as `deny`.
    Answer {
        question: String,
        decision: &'static str,
        by: String,
    },
    /// The action was refused.
    Refused {
        reason: String,
    },
    ProcessStart {
        process: String,
        pid: i32,
        command: String,
        cwd: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        description: Option<String>,
    },
    /// A command goes on after its call.
    Background {
        process: String,
        task: String,
    },
    ProcessExit {
        process: String,
        /// Not known if the process that watched the command was killed.
        exit_code: Option<i32>,
        /// Why it ended, if it was not by itself: `timeout`, `cancelled`, `lost`.
        #[serde(skip_serializing_if = "Option::is_none")]
        ended_by: Option<&'static str>,
        milliseconds: u64,
        stdout_bytes: u64,
        stderr_bytes: u64,
    },
    /// The sandbox or the scope denied a path, a socket, a host, a system call or more of something.
    Denied {
        what: String,
    },
    /// The client has its answer.
    Result {
        milliseconds: u64,
        bytes: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// So many events could not be written.
    Lost {
        events: u64,
    },
}
