//! What a person types. Doc comments are the help.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::places::Kind;

/// Serves testudo's tools over MCP and runs the work in a place: a container, another host, or a server behind a URL.
///
/// Without a subcommand it talks to one client on stdin and stdout, makes one place for it and ends the place with it.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Option<Command>,

    #[command(flatten)]
    pub one: OnePlace,

    /// Say on stderr what happens.
    #[arg(long, global = true)]
    pub verbose: bool,
}

#[derive(Subcommand)]
pub enum Command {
    /// Serve many clients over HTTP, each session in a place of its own.
    Serve(ServeOptions),
    /// Make a place, run a command in it, and say what was found.
    Doctor(DoctorOptions),
    /// Copy the testudo beside this program into a directory. An init container of a pod does this.
    Put { directory: PathBuf },
}

#[derive(Args, Clone, Debug)]
pub struct OnePlace {
    // Not a doc comment: rustdoc takes the brackets for links.
    #[arg(
        long,
        help = "docker:IMAGE, podman:IMAGE, ssh:HOST[:DIR], kubernetes:[NAMESPACE/]TEMPLATE, or the URL of a server"
    )]
    pub place: Option<Kind>,

    /// The testudo that is put into the place; it has to be static. Default: beside this program, or on the PATH.
    #[arg(long)]
    pub testudo: Option<PathBuf>,

    /// Mounted into a container at its own path. Default: the working directory, unless that is / or the home.
    #[arg(long)]
    pub project: Option<PathBuf>,

    /// Mount nothing into a container.
    #[arg(long, conflicts_with = "project")]
    pub no_project: bool,

    /// The image with testudo-gateway and testudo in it, from which testudo is copied into a pod.
    #[arg(long)]
    pub program_image: Option<String>,

    /// The token of a server behind a URL or in a warm pool. Other users can read it in the list of processes; they cannot read the variable
    /// TESTUDO_PLACE_TOKEN.
    #[arg(long)]
    pub token: Option<String>,

    /// Let testudo build its own sandbox inside a container: the engine's system call filter and its masks over /proc are
    /// taken away for it.
    #[arg(long)]
    pub full_sandbox: bool,

    /// The network of a container, as the engine calls it.
    #[arg(long)]
    pub network: Option<String>,

    /// An option for ssh, such as -FFILE.
    #[arg(long, allow_hyphen_values = true)]
    pub ssh_option: Vec<String>,

    /// A place that hears nothing from us for so many seconds ends itself.
    #[arg(long, default_value_t = 600)]
    pub lease: u64,

    /// So many seconds a call waits for a place that is cut off, before its client hears of it.
    #[arg(long, default_value_t = 60)]
    pub patience: u64,

    /// Arguments of the testudo in the place.
    #[arg(last = true)]
    pub arguments: Vec<String>,
}

#[derive(Args)]
pub struct ServeOptions {
    /// The file that names the places, the owners and the limits (docs/gateway.md).
    #[arg(long)]
    pub places: PathBuf,

    /// Instead of the address in the file; port 0 is any.
    #[arg(long)]
    pub listen: Option<String>,
}

#[derive(Args)]
pub struct DoctorOptions {
    #[command(flatten)]
    pub one: OnePlace,
}
