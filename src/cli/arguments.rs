//! The command line: subcommands with their own arguments, and the [server options](server_options) that all of them take.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{FromArgMatches, Subcommand};

use super::approve::ApproveArguments;
use super::audit::AuditArguments;
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
                            Examples:\n  testudo explain --deny rm 'ls | xargs rm'\n  testudo explain @safe\n  testudo explain @npm"
    )]
    Explain {
        /// Shell text, as for the bash tool, or the name of a list: `@safe` (commands that only look), `@npm`, `@pypi`,
        /// `@crates`, `@go`, `@debian`, `@github` (hosts)
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
        /// Print what was revoked as JSON
        #[arg(long)]
        json: bool,
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
    /// List what agents changed in the draft of this project: added, changed, deleted, renamed, modes and links
    #[command(after_help = "Examples:\n  testudo changes\n  testudo changes --diff src")]
    Changes {
        /// Show the content of the changes too
        #[arg(long)]
        diff: bool,
        /// Only these files and directories
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// Take changes of the draft over into the project, file by file
    #[command(
        after_help = "A file whose original you have changed meanwhile is left out and shown.\n\nExit code: 0 if all was taken \
                            over, 1 if something was left in the draft.\n\nExamples:\n  testudo apply\n  testudo apply src README.md"
    )]
    Apply {
        /// Overwrite files that have changed meanwhile too
        #[arg(long)]
        force: bool,
        /// Only these files and directories
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// Drop changes of the draft: the project is shown again as it is
    #[command(after_help = "Examples:\n  testudo discard\n  testudo discard src/lib.rs")]
    Discard {
        /// Only these files and directories
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// List the drafts of all projects
    Drafts,
    /// Show the running servers of this user, their clients and sessions, and what runs in them
    Ps {
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show commands and their output as they happen, in all servers of this user
    Watch {
        /// Only the session of this name
        #[arg(value_name = "SESSION")]
        session: Option<String>,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Show the questions that wait for a person, and answer them with one key
    #[command(after_help = "Examples:\n  testudo approve\n  testudo approve --wait\n  testudo approve q3fa29c once")]
    Approve(ApproveArguments),
    /// Open a page in the browser that shows all servers of this user: what runs, what was done, and the questions that wait
    #[command(after_help = "The link that is printed logs in once. The page is there until this command ends.")]
    Console {
        /// Do not open the browser, only print the link
        #[arg(long)]
        no_open: bool,
        /// The port on 127.0.0.1; without it, any that is free
        #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
        port: u16,
    },
    /// Show what agents did, from the audit log, or check that nobody has changed it
    #[command(
        after_help = "Examples:\n  testudo audit --since 2h --failed\n  testudo audit --follow\n  testudo audit verify"
    )]
    Audit(AuditArguments),
    /// Show what this machine can enforce and what is configured, with a fix for each shortcoming
    #[command(after_help = "Exit code: 0 if commands would run and every promise of the sandbox holds, 1 if not.")]
    Doctor {
        /// Print what was found as JSON
        #[arg(long)]
        json: bool,
    },
    /// Register the server with an MCP client, in the client's own configuration file
    #[command(
        after_help = "A file that is changed keeps a backup beside it. Nothing but the entry \"testudo\" is changed.\n\n\
                            Examples:\n  testudo install claude-code\n  testudo install cursor --project --print\n  \
                            testudo install claude-desktop -- --project-dir ~/code/app\n  testudo install codex --uninstall"
    )]
    Install {
        /// The client; `--list` shows their names
        #[arg(value_name = "CLIENT", required_unless_present = "list")]
        client: Option<String>,
        /// Show the clients, which of them are on this machine, and where the server is registered
        #[arg(long, conflicts_with_all = ["project", "print", "uninstall", "options"])]
        list: bool,
        /// Change the configuration of the project in this directory, not that of the person
        #[arg(long)]
        project: bool,
        /// Show the change as a diff, and change nothing
        #[arg(long)]
        print: bool,
        /// Take the entry back
        #[arg(long, conflicts_with = "options")]
        uninstall: bool,
        /// Options that the client starts the server with
        #[arg(last = true, value_name = "SERVER OPTIONS")]
        options: Vec<String>,
    },
    /// Print the script that completes commands and options in a shell
    #[command(after_help = "Example:\n  testudo completions bash > ~/.local/share/bash-completion/completions/testudo")]
    Completions {
        #[arg(value_name = "SHELL")]
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    #[command(after_help = "Example:\n  testudo man | man -l -")]
    Man,
}

impl Command {
    /// Subcommands that start no server and read no configuration of it, so its options mean nothing to them.
    const WITHOUT_SERVER: &[&str] = &["install", "completions", "man"];

    /// Whether it is about servers that run already. They keep their configuration when the file gets a mistake, and people
    /// must be able to see and answer them meanwhile.
    pub fn is_about_running_servers(&self) -> bool {
        matches!(
            self,
            Self::Ps { .. }
                | Self::Watch { .. }
                | Self::Approve(_)
                | Self::Revoke { .. }
                | Self::Console { .. }
                | Self::Audit(_)
        )
    }
}

pub fn parse(words: Vec<OsString>) -> Result<Arguments, clap::Error> {
    let matches = command().try_get_matches_from(words)?;
    let (command, inner) = match matches.subcommand() {
        Some((name, _)) if Command::WITHOUT_SERVER.contains(&name) => {
            refuse_server_options(name, &server_options::given(&matches))?;
            (Command::from_arg_matches(&matches)?, Vec::new())
        }
        Some((_, inner)) => (Command::from_arg_matches(&matches)?, server_options::given(inner)),
        None => (Command::Serve, Vec::new()),
    };
    let flags = server_options::given(&matches).into_iter().chain(inner).collect();
    Ok(Arguments { command, flags })
}

/// Options of the server before `install` would be lost without a word.
fn refuse_server_options(subcommand: &str, given: &[(String, Vec<String>)]) -> Result<(), clap::Error> {
    let Some((flag, _)) = given.first() else { return Ok(()) };
    let place = if subcommand == "install" { "; write the options of the server behind `--`" } else { "" };
    let message = format!("--{flag} has no effect on `testudo {subcommand}`{place}\n");
    Err(clap::Error::raw(clap::error::ErrorKind::ArgumentConflict, message))
}

pub fn command() -> clap::Command {
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
        // Only the subcommand that is called gets its options: a server that a client starts has none, and is to start in a few
        // milliseconds.
        .mut_subcommands(|subcommand| match subcommand.get_name() {
            name if Command::WITHOUT_SERVER.contains(&name) => subcommand,
            "serve" => subcommand.defer(|serve| serve.args(server_options::all())),
            _ => subcommand.defer(with_server_options),
        })
}

/// The subcommand takes the options of the server too. Its help shows its own options alone.
fn with_server_options(subcommand: clap::Command) -> clap::Command {
    let further = "It takes the options of the server too, such as --project-dir and --config: see `testudo --help`.";
    let help = subcommand.get_after_help().map_or(further.to_owned(), |help| format!("{help}\n\n{further}"));
    subcommand.after_help(help).args(server_options::all().into_iter().map(|option| option.hide(true)))
}
