use std::path::Path;

use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;

use super::grep::{BUDGET, MOST_CHARACTERS, MOST_RESULTS, USUAL_RESULTS};
use super::{Hints, Stop, Tool, ToolOutput, file};
use crate::files::{self, FindPage, Interrupt, NameQuery};
use crate::server::Context;

/// Finds files by name.
pub struct Find;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Glob: `*.rs` matches names at any depth, `src/**/*.rs` matches paths.
    pattern: String,
    /// Directory in the project or /tmp, absolute or relative to the cwd, which is the default.
    path: Option<String>,
    /// Only names of this kind.
    r#type: Option<Kind>,
    /// Default 100.
    max_results: Option<u32>,
    /// Results to skip, for the next page.
    offset: Option<u32>,
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum Kind {
    File,
    Directory,
    Symlink,
}

impl Tool for Find {
    const NAME: &'static str = "find";
    const TITLE: &'static str = "Find files";
    const DESCRIPTION: &'static str = "Find files and directories by name, newest first. Ignored files are listed only when \
        nothing else matches.";
    const HINTS: Hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };
    const RESULT_MAY_BE_LONG: bool = true;
    type Arguments = Arguments;

    async fn run(arguments: Arguments, context: &Context) -> Result<ToolOutput, Stop> {
        let session = context.session(None)?;
        let permitted = file::to_search(context, &session, arguments.path.as_deref()).await?;
        let query = NameQuery {
            pattern: arguments.pattern,
            kind: arguments.r#type.map(|kind| match kind {
                Kind::File => FileType::RegularFile,
                Kind::Directory => FileType::Directory,
                Kind::Symlink => FileType::Symlink,
            }),
            max_results: arguments.max_results.unwrap_or(USUAL_RESULTS).clamp(1, MOST_RESULTS) as usize,
            offset: arguments.offset.unwrap_or(0) as usize,
        };
        let (scope, cwd) = (session.scope(), session.state().cwd);
        let interrupt = Interrupt::after(BUDGET).or_cancelled(context.cancel.clone());
        let text = file::blocking(move || {
            let page = files::find(&permitted, &query, &scope, &interrupt)?;
            Ok(text(&page, &query, &cwd))
        });
        Ok(text.await?.into())
    }
}

fn text(page: &FindPage, query: &NameQuery, cwd: &Path) -> String {
    let mut text = String::new();
    if page.ignored {
        text.push_str(&format!("0 matches in {} files; {} matches in ignored paths\n", page.looked_at, page.total));
    }
    let mut shown = 0;
    for (path, is_directory) in &page.names {
        let line = file::shortened(path, cwd) + if *is_directory { "/" } else { "" };
        if text.len() + line.len() > MOST_CHARACTERS {
            break;
        }
        text.push_str(&line);
        text.push('\n');
        shown += 1;
    }
    let next = query.offset + shown;
    if next < page.total {
        text.push_str(&format!("\n[Shown: {}-{next} of {}. Next page: offset={next}]\n", query.offset + 1, page.total));
    }
    file::unanswered(&page.unanswered, cwd).for_each(|line| text.push_str(&format!("\n{line}\n")));
    if page.partial {
        text.push_str(&format!("\n[Partial: stopped after {} s. Narrow it with path.]\n", BUDGET.as_secs()));
    }
    text
}
