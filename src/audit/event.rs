use std::borrow::Cow;

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
    pub tool: Cow<'static, str>,
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
    /// A person has decided about changes in a draft, on the console. `decision` is `applied` or `discarded`.
    Draft {
        project: String,
        decision: &'static str,
        changes: usize,
        by: String,
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
    /// A person types into the terminal or the stdin of a command. What they type is not recorded, nor how much it is.
    Typed {
        process: String,
        by: String,
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
        /// Of what is stored. Missing if nothing was printed, or if it comes later, as a `digest`.
        #[serde(skip_serializing_if = "Option::is_none")]
        stdout_sha256: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        stderr_sha256: Option<String>,
    },
    /// The digests of a long output, a moment after the exit.
    Digest {
        process: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        stdout_sha256: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        stderr_sha256: Option<String>,
    },
    /// The sandbox or the scope denied a path, a socket, a host, a system call or more of something.
    Denied {
        what: String,
    },
    /// A command has asked for a connection to another host. Recorded when it is refused or has ended.
    Connection {
        host: String,
        port: u16,
        verdict: &'static str,
        /// Why it was refused, or why it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Bytes to the host, and from it.
        sent: u64,
        received: u64,
        milliseconds: u64,
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
