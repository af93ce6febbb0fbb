//! Which servers to measure, and how often.

use anyhow::{Context, bail, ensure};

use crate::peers;
use crate::subject::{Subject, template};

pub const HELP: &str = "\
Measures MCP servers over stdio and prints one table of ratios.

Without --server, testudo is measured with its defaults and with --sandbox off.

  --peers                      also measure the servers that people use instead, installed below target/peers
  --docs                       write the figures and plots into docs/performance.md and README.md; what was not measured
                               stays as it is there
  --binary FILE                the testudo to measure [the one that cargo built with the benchmark]
  --testudo NAME=FILE          measure this testudo instead; repeat it to compare two in one run
  --server NAME=COMMAND LINE   measure this server instead; repeat it to compare servers in one run; words are split at
                               blanks
  --tool NAME                  its tool that runs shell text [bash]
  --arguments JSON             what that tool takes; \"{command}\" stands for the text [{\"command\": \"{command}\"}]
  --rounds N                   samples of a short call [100]
  --only WORD                  only measures whose name contains the word (latency, sandbox, network, start, idle, output,
                               beside, parallel, files, sessions, calls, drafts, binary, growth, facts)
  --skip WORD                  not these measures; repeat it for several

--tool and --arguments belong to the --server before them.";

pub struct Options {
    pub servers: Vec<Subject>,
    pub rounds: usize,
    pub only: Option<String>,
    pub skip: Vec<String>,
    /// Whether to write the results into the documentation.
    pub docs: bool,
}

impl Options {
    pub fn wants(&self, measure: &str) -> bool {
        self.only.as_deref().is_none_or(|only| measure.contains(only)) && !self.skip.iter().any(|skip| measure == skip)
    }

    /// Which measures a run takes that does not take all of them.
    pub fn part(&self) -> Option<String> {
        let without = (!self.skip.is_empty()).then(|| format!("without `{}`", self.skip.join("`, `")));
        let only = self.only.as_ref().map(|only| format!("`{only}` alone"));
        only.or(without)
    }

    /// The servers that run shell text.
    pub fn shells(&self) -> Vec<&Subject> {
        self.servers.iter().filter(|subject| subject.shell).collect()
    }

    /// Every testudo with its defaults: several if they are compared with each other.
    pub fn testudos(&self) -> Vec<&Subject> {
        self.servers.iter().filter(|subject| subject.ours && subject.words.len() == 1).collect()
    }

    /// testudo with its defaults.
    pub fn ours(&self) -> Option<&Subject> {
        self.servers.iter().find(|subject| subject.ours)
    }
}

/// `None` when help was asked for.
pub fn parse(words: impl Iterator<Item = String>) -> anyhow::Result<Option<Options>> {
    let mut options = Options { servers: Vec::new(), rounds: 100, only: None, skip: Vec::new(), docs: false };
    let (mut words, mut binary, mut with_peers) = (words, env!("CARGO_BIN_EXE_testudo").to_owned(), false);
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value"));
        match word.as_str() {
            // `cargo bench` adds this flag.
            "--bench" => {}
            "--help" => return Ok(None),
            "--peers" => with_peers = true,
            "--docs" => options.docs = true,
            "--binary" => binary = value()?,
            "--rounds" => options.rounds = value()?.parse().context("--rounds needs a number")?,
            "--only" => options.only = Some(value()?),
            "--skip" => options.skip.push(value()?),
            "--server" => options.servers.push(foreign(&value()?)?),
            "--testudo" => options.servers.push(another(&value()?)?),
            "--tool" => last(&mut options)?.tool = value()?,
            "--arguments" => {
                last(&mut options)?.template = serde_json::from_str(&value()?).context("--arguments needs JSON")?;
            }
            unknown => bail!("unknown option {unknown}; see --help"),
        }
    }
    ensure!(options.rounds > 0, "--rounds needs at least one");
    if options.servers.is_empty() {
        let ours = Subject::ours("testudo", &binary, &[]);
        options.servers = vec![ours, Subject::ours("testudo, sandbox off", &binary, &["--sandbox", "off"])];
    }
    if with_peers {
        options.servers.extend(peers::all()?);
    }
    Ok(Some(options))
}

fn another(text: &str) -> anyhow::Result<Subject> {
    let (name, file) = text.split_once('=').context("--testudo needs NAME=FILE")?;
    Ok(Subject::ours(name, file, &[]))
}

fn foreign(text: &str) -> anyhow::Result<Subject> {
    let (name, line) = text.split_once('=').context("--server needs NAME=COMMAND LINE")?;
    let words: Vec<String> = line.split_whitespace().map(ToOwned::to_owned).collect();
    ensure!(!words.is_empty(), "--server {name} needs a command line");
    Ok(Subject { template: template(), ..Subject::new(name, words) })
}

fn last(options: &mut Options) -> anyhow::Result<&mut Subject> {
    options.servers.last_mut().context("--tool and --arguments come after a --server")
}
