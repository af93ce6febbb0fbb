//! The command line: subcommands with their own arguments, and the [server options](server_options) that all of them take.

use std::ffi::OsString;

use clap::{FromArgMatches, Subcommand};

use super::server_options;

pub struct Arguments {
    pub command: Command,
    /// The server options that were given, before and after the subcommand.
    pub flags: Vec<(String, Vec<String>)>,
}

// The doc comments of the variants are the help texts.
#[derive(Subcommand)]
pub enum Command {
    /// Serve MCP; this is the default
    Serve,
    /// Make one call on a new server and print the result
    #[command(after_help = "Examples:\n  testudo call bash command='ls -l' timeout=5000\n  \
                            testudo call bash '{\"command\": \"cat\", \"stdin\": \"hello\"}'")]
    Call {
        /// The name of the tool, as in tools/list
        #[arg(value_name = "TOOL")]
        tool: String,
        /// The arguments of the tool: key=value pairs, or one JSON object
        #[arg(value_name = "KEY=VALUE|JSON")]
        words: Vec<String>,
    },
    /// Judge a command line without running it, and show the verdict, the rule and the commands found in it
    #[command(
        after_help = "Exit code: 0 if the command would run, 1 if the person would be asked, 2 if it is denied.\n\n\
                            Examples:\n  testudo explain --deny rm 'ls | xargs rm'\n  testudo explain @safe"
    )]
    Explain {
        /// Shell text, as for the bash tool, or `@safe` for the list of commands that only look
        #[arg(value_name = "COMMAND", allow_hyphen_values = true)]
        text: String,
        /// Print the judgement as JSON
        #[arg(long)]
        json: bool,
    },
    /// Take back approvals that were given in running servers or for good; `testudo doctor` lists them
    #[command(after_help = "Examples:\n  testudo revoke 3fa29c\n  testudo revoke all")]
    Revoke {
        /// The id of an approval, or `all`
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
    },
    /// List what commands wrote into the private home of each project, or empty it
    #[command(
        after_help = "Examples:\n  testudo home --list\n  testudo home --reset         the home of the project in this directory\n  \
                            testudo home --reset --all"
    )]
    Home {
        /// List the private homes, their sizes and what is in them; this is the default
        #[arg(long, conflicts_with = "reset")]
        list: bool,
        /// Empty the private home of this project
        #[arg(long)]
        reset: bool,
        /// With --reset: of all projects
        #[arg(long, requires = "reset")]
        all: bool,
    },
    /// Show what this machine can enforce and what is configured, with a fix for each shortcoming
    Doctor,
}

pub fn parse(words: Vec<OsString>) -> Result<Arguments, clap::Error> {
    let matches = command().try_get_matches_from(words)?;
    let (command, inner) = match matches.subcommand() {
        Some((_, inner)) => (Command::from_arg_matches(&matches)?, server_options::given(inner)),
        None => (Command::Serve, Vec::new()),
    };
    let flags = server_options::given(&matches).into_iter().chain(inner).collect();
    Ok(Arguments { command, flags })
}

fn command() -> clap::Command {
    let command = clap::Command::new("testudo")
        .version(env!("CARGO_PKG_VERSION"))
        .about("A shielded shell for AI agents: an MCP server that never hangs and loses nothing")
        .after_help(
            "Without a subcommand, testudo serves MCP on stdin and stdout. An MCP client starts it this way.\n\
             Try it by hand:  testudo call bash command='echo hello'",
        );
    Command::augment_subcommands(command)
        .subcommand_required(false)
        .arg_required_else_help(false)
        .args(server_options::all())
        .mut_subcommands(|subcommand| subcommand.args(server_options::all()))
}
