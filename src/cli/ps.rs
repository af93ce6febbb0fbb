//! `testudo ps`: the servers of this user, their clients and sessions, and what runs in them.

use serde_json::json;

use super::audit_text::{duration, row};
use super::output::print;
use crate::config::Config;
use crate::control::servers;
use crate::control::types::{ClientState, SessionState, State};

pub async fn run(config: &Config, as_json: bool) -> anyhow::Result<()> {
    let found = servers::all(&config.control_dirs).await;
    let states: Vec<State> = found.into_iter().map(|(_, state)| state).collect();
    if as_json {
        print(&serde_json::to_string_pretty(&json!({ "servers": states }))?)?;
        return Ok(());
    }
    if states.is_empty() {
        print("no server of this user is running")?;
        return Ok(());
    }
    print(&states.iter().map(server).collect::<Vec<_>>().join("\n"))?;
    Ok(())
}

fn server(state: &State) -> String {
    let server = &state.server;
    let level = server.level.as_ref().map(|level| format!(", level {level}")).unwrap_or_default();
    let mut text = format!(
        "server {}  {}  {}  sandbox {}{level}\n",
        server.pid,
        server.transport,
        row(&server.project),
        server.sandbox
    );
    if let Some(reason) = &server.configuration_refused {
        text.push_str(&format!("  keeps its former configuration: {}\n", row(reason)));
    }
    for question in &state.questions {
        text.push_str(&format!(
            "  waits for an answer: {} ({} s left; testudo approve)\n",
            question.id, question.seconds_left
        ));
    }
    state.clients.iter().for_each(|found| client(found, &mut text));
    text
}

fn client(client: &ClientState, text: &mut String) {
    let name = client.name.as_ref().map(|name| format!(" ({})", row(name))).unwrap_or_default();
    text.push_str(&format!("  client {}{name}\n", row(&client.principal)));
    client.sessions.iter().for_each(|found| session(found, text));
}

fn session(session: &SessionState, text: &mut String) {
    text.push_str(&format!("    session {}  in {}\n", row(&session.name), row(&session.cwd)));
    for command in &session.commands {
        let task = command.task.as_ref().map(|task| format!("  task {task}")).unwrap_or_default();
        let time = duration(command.milliseconds);
        text.push_str(&format!("      {}{task}  {time}  $ {}\n", command.id, row(&command.command)));
    }
    for task in &session.ended {
        text.push_str(&format!("      task {}  ended with exit code {}, not read yet\n", task.id, task.exit_code));
    }
}
