use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Hints, Tool, ToolError, ToolOutput, file};
use crate::files::{self, FileMatches, GrepMode, GrepPage, Interrupt, ResultLine, TextQuery};
use crate::server::Context;

/// Searches text in files.
pub struct Grep;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Regular expression.
    pattern: String,
    /// File or directory; the cwd by default.
    path: Option<String>,
    /// Only files like `*.rs` or `!*.min.js`.
    glob: Option<String>,
    /// Only files of a type such as `rust`, `py`, `ts`.
    r#type: Option<String>,
    /// `files`: counts and first matches; `content`: all matching lines; `count`.
    mode: Option<ModeName>,
    /// Lines around each match.
    context: Option<u32>,
    #[serde(default)]
    ignore_case: bool,
    /// Match across lines; `.` matches line ends too.
    #[serde(default)]
    multiline: bool,
    /// Default 100.
    max_results: Option<u32>,
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

/// How long a search may take before it answers with what it has.
pub const BUDGET: Duration = Duration::from_secs(10);
/// Characters of one answer.
pub const MOST_CHARACTERS: usize = 30_000;
pub const MOST_RESULTS: u32 = 2_000;
pub const USUAL_RESULTS: u32 = 100;
const MOST_CONTEXT: u32 = 50;

impl Tool for Grep {
    const NAME: &'static str = "grep";
    const TITLE: &'static str = "Search in files";
    const DESCRIPTION: &'static str = "Search file contents with ripgrep's engine. Ignore files (.gitignore) are respected; \
        dotfiles are searched, .git is not. Sorted by path; page with offset.";
    const HINTS: Hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: &Context) -> Result<ToolOutput, ToolError> {
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
        let stop = Interrupt::after(BUDGET).or_cancelled(context.cancel.clone());
        let text = file::blocking(move || {
            let found = files::grep(&permitted, &query, &scope, &stop)?;
            Ok(text(&found, &query, &cwd))
        });
        text.await.map(ToolOutput::from)
    }
}

fn text(found: &GrepPage, query: &TextQuery, cwd: &Path) -> String {
    let mut text = String::new();
    let mut shown = 0;
    let mut full = false;
    for of_file in &found.page {
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
    text.push_str(&summary(found));
    let all = if query.mode == GrepMode::Content { found.matches } else { found.files };
    let next = query.offset + shown;
    if full || next < all {
        let what = if query.mode == GrepMode::Content { "matches" } else { "files" };
        text.push_str(&format!("\n[Shown: {what} {}-{next} of {all}. Next page: offset={next}]", query.offset + 1));
    }
    text
}

/// What is shown of one file, and how many results that is.
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

fn summary(found: &GrepPage) -> String {
    let mut lines = Vec::new();
    lines.push(match found.ignored {
        _ if found.matches > 0 => {
            format!("{} matches in {} files; {} files searched", found.matches, found.files, found.searched)
        }
        Some((count, complete)) => {
            let at_least = if complete { "" } else { "at least " };
            format!("0 matches in {} files; {at_least}{count} matches in ignored paths", found.searched)
        }
        None => format!("0 matches in {} files", found.searched),
    });
    if found.binaries > 0 {
        lines.push(format!("Not searched: {} binary files", found.binaries));
    }
    if found.unreadable > 0 {
        lines.push(format!("Not searched: {} files that could not be read", found.unreadable));
    }
    if found.partial {
        lines.push(format!("[Partial: stopped after {} s. Narrow it with path, glob or type.]", BUDGET.as_secs()));
    }
    lines.join("\n")
}
