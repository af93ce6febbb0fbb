//! Which servers to measure, and how often.

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

pub const HELP: &str = "\
Measures MCP servers over stdio and prints one table of ratios.

Without --server, testudo is measured with its defaults and with --sandbox off.

  --server NAME=COMMAND LINE   measure this server instead; repeat it to compare servers in one run; words are split at
                               blanks
  --tool NAME                  its tool that runs shell text [bash]
  --arguments JSON             what that tool takes; \"{command}\" stands for the text [{\"command\": \"{command}\"}]
  --rounds N                   samples of a short call [300]
  --only WORD                  only measures whose name contains the word (latency, sandbox, start, idle, output, parallel, sessions, drafts,
                               files, network, binary)

--tool and --arguments belong to the --server before them.";

pub struct Options {
    pub servers: Vec<Subject>,
    pub rounds: usize,
    pub only: Option<String>,
}

/// A server under test.
pub struct Subject {
    pub name: String,
    pub words: Vec<String>,
    pub tool: String,
    pub template: Value,
    /// testudo gets the scratch directory as its cache, so that it writes to the same file system as the floor. Another
    /// server may need its own caches.
    pub ours: bool,
}

/// `None` when help was asked for.
pub fn parse(words: impl Iterator<Item = String>) -> anyhow::Result<Option<Options>> {
    let mut options = Options { servers: Vec::new(), rounds: 300, only: None };
    let mut words = words;
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value"));
        match word.as_str() {
            // `cargo bench` adds this flag.
            "--bench" => {}
            "--help" => return Ok(None),
            "--rounds" => options.rounds = value()?.parse().context("--rounds needs a number")?,
            "--only" => options.only = Some(value()?),
            "--server" => options.servers.push(foreign(&value()?)?),
            "--tool" => last(&mut options)?.tool = value()?,
            "--arguments" => {
                last(&mut options)?.template = serde_json::from_str(&value()?).context("--arguments needs JSON")?;
            }
            unknown => bail!("unknown option {unknown}; see --help"),
        }
    }
    ensure!(options.rounds > 0, "--rounds needs at least one");
    if options.servers.is_empty() {
        options.servers = vec![ours("testudo", &[]), ours("testudo, sandbox off", &["--sandbox", "off"])];
    }
    Ok(Some(options))
}

fn ours(name: &str, flags: &[&str]) -> Subject {
    let words = [env!("CARGO_BIN_EXE_testudo")].iter().chain(flags).map(ToString::to_string).collect();
    Subject { name: name.to_owned(), words, tool: "bash".to_owned(), template: template(), ours: true }
}

fn foreign(text: &str) -> anyhow::Result<Subject> {
    let (name, line) = text.split_once('=').context("--server needs NAME=COMMAND LINE")?;
    let words: Vec<String> = line.split_whitespace().map(ToOwned::to_owned).collect();
    ensure!(!words.is_empty(), "--server {name} needs a command line");
    Ok(Subject { name: name.to_owned(), words, tool: "bash".to_owned(), template: template(), ours: false })
}

fn template() -> Value {
    json!({ "command": "{command}" })
}

fn last(options: &mut Options) -> anyhow::Result<&mut Subject> {
    options.servers.last_mut().context("--tool and --arguments come after a --server")
}
