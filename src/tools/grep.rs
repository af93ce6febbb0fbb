use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Hints, Stop, Tool, ToolOutput, file};
use crate::files::{self, FileMatches, GrepMode, GrepPage, IgnoredMatches, Interrupt, ResultLine, TextQuery};
use crate::server::Context;

/// Searches text in files.
pub struct Grep;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Regular expression.
    pattern: String,
    /// File or directory in the project or /tmp, absolute or relative to the cwd, which is the default.
    path: Option<String>,
    /// Only files that match, like `*.rs`, or do not match, like `!*.min.js`.
    glob: Option<String>,
    /// Only files of this type, such as `rust`, `py`, `ts`.
    r#type: Option<String>,
    /// `files` (default): number of matches and first match per file; `content`: all matching lines; `count`: numbers.
    mode: Option<ModeName>,
    /// Lines to show around each match, with mode `content`.
    context: Option<u32>,
    /// Match upper and lower case alike.
    #[serde(default)]
    ignore_case: bool,
    /// Let a match cross lines; `.` then matches line endings too.
    #[serde(default)]
    multiline: bool,
    /// Default 100.
    max_results: Option<u32>,
    /// Results to skip, for the next page.
    offset: Option<u32>,
    /// Search ignored files too.
    #[serde(default)]
    no_ignore: bool,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ModeName {
    Files,
    Content,
    Count,
}

/// How long a search may take. After that it answers with the matches it has found so far.
pub const BUDGET: Duration = Duration::from_secs(10);
/// In more files than this, the search for a hint that nobody has asked for may take so long.
const FEW: usize = 2_000;
const HINT_PATIENCE: Duration = Duration::from_millis(50);
/// How many characters one reply has.
pub const MOST_CHARACTERS: usize = 30_000;
pub const MOST_RESULTS: u32 = 2_000;
pub const USUAL_RESULTS: u32 = 100;
const MOST_CONTEXT: u32 = 50;

impl Tool for Grep {
    const NAME: &'static str = "grep";
    const TITLE: &'static str = "Search in files";
    const DESCRIPTION: &'static str = "Search file contents with ripgrep's engine. Ignore files such as .gitignore are \
        respected; dotfiles are searched, .git is not. Results are sorted by path; offset gets the next page.";
    const HINTS: Hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };
    const RESULT_MAY_BE_LONG: bool = true;
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: &Context) -> Result<ToolOutput, Stop> {
        let session = context.session(None)?;
        let permitted = file::to_search(context, &session, arguments.path.as_deref()).await?;
        let query = TextQuery {
            pattern: arguments.pattern,
            glob: arguments.glob,
            kind: arguments.r#type,
            mode: match arguments.mode {
                Some(ModeName::Content) => GrepMode::Content,
                Some(ModeName::Count) => GrepMode::Count,
                Some(ModeName::Files) | None => GrepMode::Files,
            },
            context: arguments.context.unwrap_or(0).min(MOST_CONTEXT) as usize,
            ignore_case: arguments.ignore_case,
            multiline: arguments.multiline,
            max_results: arguments.max_results.unwrap_or(USUAL_RESULTS).clamp(1, MOST_RESULTS) as usize,
            offset: arguments.offset.unwrap_or(0) as usize,
            no_ignore: arguments.no_ignore,
        };
        let (scope, cwd) = (session.scope(), session.state().cwd);
        let interrupt = Interrupt::after(BUDGET).or_cancelled(context.cancel.clone());
        let text = file::blocking(move || {
            let page = files::grep(&permitted, &query, &scope, &interrupt)?;
            let mut text = text(&page, &query, &cwd);
            if let Some(literal) = query.literal().filter(|_| page.total_matches == 0 && !page.partial) {
                let brief = if page.searched > FEW { &interrupt.at_most(HINT_PATIENCE) } else { &interrupt };
                let found = files::grep(&permitted, &literal, &scope, brief)?;
                if found.total_matches > 0 {
                    let least = if found.partial { "at least " } else { "" };
                    let (count, pattern) = (found.total_matches, literal.pattern);
                    text.push_str(&format!("\nAs plain text there are {least}{count}: the pattern is {pattern}"));
                }
            }
            Ok(text)
        });
        Ok(text.await?.into())
    }
}

fn text(page: &GrepPage, query: &TextQuery, cwd: &Path) -> String {
    let mut text = String::new();
    let mut shown = 0;
    let mut full = false;
    for of_file in &page.files {
        let (block, results) = block(of_file, query.mode, cwd);
        if !text.is_empty() && text.len() + block.len() > MOST_CHARACTERS {
            full = true;
            break;
        }
        text.push_str(&block);
        shown += results;
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(&summary(page, cwd));
    if query.became_multiline() {
        text.push_str("\n[The pattern has a line ending, so multiline was turned on: a match may cross lines.]");
    }
    let all = if query.mode == GrepMode::Content { page.total_matches } else { page.total_files };
    let next = query.offset + shown;
    if full || next < all {
        let what = if query.mode == GrepMode::Content { "matches" } else { "files" };
        text.push_str(&format!("\n[Shown: {what} {}-{next} of {all}. Next page: offset={next}]", query.offset + 1));
    }
    text
}

/// The lines for one file, and how many results they show.
fn block(of_file: &FileMatches, mode: GrepMode, cwd: &Path) -> (String, usize) {
    let path = file::shortened(&of_file.path, cwd);
    let count = of_file.count;
    let matches = if count == 1 { "match" } else { "matches" };
    match mode {
        GrepMode::Count => (format!("{path}:{count}\n"), 1),
        GrepMode::Files => {
            let mut block = format!("{path} ({count} {matches})\n");
            if let Some(ResultLine::Match { number, text }) = of_file.lines.first() {
                block.push_str(&format!("  {number}: {}\n", text.trim()));
            }
            (block, 1)
        }
        GrepMode::Content => {
            let mut block = String::new();
            let mut results = 0;
            for line in &of_file.lines {
                match line {
                    ResultLine::Match { number, text } => {
                        results += 1;
                        block.push_str(&format!("{path}:{number}:{text}\n"));
                    }
                    ResultLine::Context { number, text } => block.push_str(&format!("{path}-{number}-{text}\n")),
                    ResultLine::Gap => block.push_str("--\n"),
                }
            }
            (block, results)
        }
    }
}

fn summary(page: &GrepPage, cwd: &Path) -> String {
    let mut lines = Vec::new();
    lines.push(match &page.ignored {
        _ if page.total_matches > 0 => {
            format!("{} matches in {} files; {} files searched", page.total_matches, page.total_files, page.searched)
        }
        Some(IgnoredMatches { count, complete }) => {
            let at_least = if *complete { "" } else { "at least " };
            format!("0 matches in {} files; {at_least}{count} matches in ignored paths", page.searched)
        }
        None => format!("0 matches in {} files", page.searched),
    });
    if page.binaries > 0 {
        lines.push(format!("Not searched: {} binary files", page.binaries));
    }
    if page.unreadable > 0 {
        lines.push(format!("Not searched: {} files that could not be read", page.unreadable));
    }
    lines.extend(file::unanswered(&page.unanswered, cwd));
    if page.partial {
        lines.push(format!("[Partial: stopped after {} s. Narrow it with path, glob or type.]", BUDGET.as_secs()));
    }
    lines.join("\n")
}
