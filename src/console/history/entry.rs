use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

/// One call from its beginning to its end, or something that happened to a server.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Entry {
    /// Counts up; unique while the console runs.
    pub id: u64,
    /// In milliseconds since 1970.
    pub from: i64,
    /// Not known while it goes on, or if its server was killed.
    pub to: Option<i64>,
    pub server: Arc<str>,
    pub principal: Option<Arc<str>>,
    pub client: Option<Arc<str>>,
    pub session: Arc<str>,
    pub tool: Arc<str>,
    /// The command, the path, or the task.
    pub what: String,
    pub program: Arc<str>,
    pub cwd: Option<String>,
    pub description: Option<String>,
    pub verdict: Option<Arc<str>>,
    pub rule: Option<String>,
    pub reason: Option<String>,
    /// What a person decided, and where.
    pub answer: Option<String>,
    pub exit_code: Option<i64>,
    /// What ended it, if not itself.
    pub ended_by: Option<Arc<str>>,
    pub task: Option<String>,
    pub error: Option<String>,
    /// What the sandbox or the scope denied.
    pub denied: Vec<String>,
    /// Where it connected to through the proxy, or wanted to.
    pub connections: Vec<String>,
    pub typed: bool,
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
    pub outcome: Outcome,
}

#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It goes on, or nobody knows its end.
    #[default]
    Open,
    Ok,
    Failed,
    Denied,
}

/// The most characters of a text that is kept.
const LONGEST: usize = 2000;
const MOST_DENIED: usize = 8;
const MOST_CONNECTIONS: usize = 20;

impl Entry {
    /// Takes in one event of the call.
    pub fn add(&mut self, event: &Value, at: i64) {
        let text = |name: &str| event[name].as_str().map(cut);
        match event["event"].as_str().unwrap_or_default() {
            "call" => self.called(&event["arguments"]),
            "verdict" => {
                self.verdict = text("verdict").map(Into::into);
                (self.rule, self.reason) = (text("rule"), text("reason"));
                if event["verdict"] == "deny" {
                    self.outcome = Outcome::Denied;
                }
                if event["approved_before"] == true {
                    self.answer = Some("approved before".to_owned());
                }
            }
            "answer" => {
                let (decision, by) = (text("decision").unwrap_or_default(), text("by").unwrap_or_default());
                self.answer = Some(format!("{decision}, by {by}"));
            }
            "refused" => {
                self.outcome = Outcome::Denied;
                self.error = text("reason");
            }
            "process_start" => {
                self.what = text("command").unwrap_or_default();
                self.program = program(&self.what).into();
                (self.cwd, self.description) = (text("cwd"), text("description").or(self.description.take()));
            }
            "background" => self.task = text("task"),
            "typed" => self.typed = true,
            "denied" if self.denied.len() < MOST_DENIED => self.denied.extend(text("what")),
            "connection" if self.connections.len() < MOST_CONNECTIONS => self.connections.push(connection(event)),
            "process_exit" => {
                self.exit_code = event["exit_code"].as_i64();
                self.ended_by = text("ended_by").map(Into::into);
                self.stdout_bytes = event["stdout_bytes"].as_u64().unwrap_or_default();
                self.stderr_bytes = event["stderr_bytes"].as_u64().unwrap_or_default();
                self.end(at, self.exit_code != Some(0) || self.ended_by.is_some());
            }
            "result" => {
                self.error = self.error.take().or_else(|| text("error"));
                // A task goes on after its call.
                if self.task.is_none() || self.exit_code.is_some() {
                    self.end(at, self.error.is_some());
                }
            }
            _ => {}
        }
    }

    fn called(&mut self, arguments: &Value) {
        let text = |name: &str| arguments[name].as_str().map(cut);
        let command = text("command");
        self.program = command.as_deref().map_or_else(|| self.tool.clone(), |command| program(command).into());
        let what = command.or_else(|| text("path")).or_else(|| text("task_id")).or_else(|| text("pattern"));
        self.what =
            what.unwrap_or_else(|| if arguments.is_object() { cut(&arguments.to_string()) } else { String::new() });
        self.description = text("description");
    }

    fn end(&mut self, at: i64, failed: bool) {
        self.to = Some(at);
        self.outcome = self.outcome.max(if failed { Outcome::Failed } else { Outcome::Ok });
    }
}

fn connection(event: &Value) -> String {
    let (host, number) =
        (cut(event["host"].as_str().unwrap_or_default()), |name: &str| event[name].as_u64().unwrap_or_default());
    let reason = event["reason"].as_str().map(|reason| format!(": {}", cut(reason))).unwrap_or_default();
    let port = number("port");
    if event["verdict"] == "deny" {
        return format!("{host}:{port} refused{reason}");
    }
    format!("{host}:{port}, {} bytes sent, {} received{reason}", number("sent"), number("received"))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The name of the first program of a command line, as a person would group commands by it.
fn program(command: &str) -> &str {
    let is_assignment = |word: &&str| {
        word.split_once('=').is_some_and(|(name, _)| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
    };
    let word = command.split_whitespace().find(|word| !is_assignment(word)).unwrap_or_default();
    let word = word.trim_matches(['(', '{', '!', ';', '"', '\'']);
    let name = word.rsplit('/').next().unwrap_or(word);
    name.char_indices().nth(40).map_or(name, |(end, _)| &name[..end])
}

#[cfg(test)]
mod tests {
    use super::program;

    #[test]
    fn programs_are_named_as_people_would() {
        for (command, want) in
            [("ls -l", "ls"), ("A=1 B=x /usr/bin/make all", "make"), ("(cd x; ls)", "cd"), ("", ""), ("x=y", "")]
        {
            assert_eq!(program(command), want, "{command}");
        }
    }
}
