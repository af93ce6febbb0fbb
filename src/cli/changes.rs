//! `testudo changes`, `apply`, `discard` and `drafts`: what agents did in a draft, and what becomes of it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};

use super::home::changed;
use super::output::{print, print_error};
use crate::base::invisible::made_visible;
use crate::base::protected_names::Names;
use crate::base::size;
use crate::config::Config;
use crate::drafts::{self, Change, Draft, Drafts, Grouping, Selection, Sides};

/// Lists what is different in the draft of the project.
pub fn changes(config: &Config, diff: bool, paths: &[PathBuf]) -> anyhow::Result<ExitCode> {
    for (draft, selection) in chosen(config, paths)? {
        let sides = Sides::open(&draft).context("failed to open the draft")?;
        let changes = drafts::changes(&draft, &sides).context("failed to read the draft")?;
        let grouping = Grouping::new(&changes, &sides, &Names::new(&config.sandbox.protect), &selection);
        if diff {
            for change in grouping.single.iter().chain(&grouping.protected).filter(|change| !change.renamed_away) {
                print(&drafts::diff(change, &sides).context("failed to compare a file")?)?;
            }
        }
        print(&drafts::overview(&draft, &grouping))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Takes changes over. Exits with 1 if something was left in the draft.
pub fn apply(config: &Config, force: bool, paths: &[PathBuf]) -> anyhow::Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    for (draft, selection) in chosen(config, paths)? {
        let sides = Sides::open(&draft).context("failed to open the draft")?;
        let applied = drafts::apply(&draft, &sides, &selection, force)
            .and_then(|applied| drafts::settle_if_free(&draft, &sides).map(|()| applied))
            .with_context(|| format!("failed to apply the draft of {}", draft.project().display()))?;
        let names = Names::new(&config.sandbox.protect);
        let protected = applied.done.iter().filter(|change| names.protecting(&change.path).is_some());
        protected.for_each(|change| print_error(&format!("protected name: {}", shown(change))));
        print(&format!("applied {} to {}\n", count(applied.done.len()), draft.project().display()))?;
        if applied.refused.is_empty() {
            continue;
        }
        code = ExitCode::FAILURE;
        for refused in &applied.refused {
            print_error(&format!("not applied: {}: {}", shown(&refused.change), refused.reason));
            if refused.conflict {
                print_error(&drafts::diff(&refused.change, &sides).unwrap_or_default());
                print_error(&three_ways(&draft, &refused.change.path, &config.directories.launch_dir));
            }
        }
    }
    Ok(code)
}

/// What a person can do about a file that both sides have changed. They may paste it into a shell.
fn three_ways(draft: &Draft, path: &Path, launch: &Path) -> String {
    let (original, copy) = (draft.project().join(path), draft.upper().join(path));
    let is_plain = launch == draft.project() && !path.as_os_str().as_encoded_bytes().starts_with(b"-");
    let (named, committed) = (quoted(if is_plain { path } else { &original }), Path::new("HEAD:./").join(path));
    let (project, committed) = (quoted(draft.project()), quoted(&committed));
    let (original, copy) = (quoted(&original), quoted(&copy));
    format!(
        "  the diff above is from your version to the draft's; choose:\n  the draft's:  testudo apply --force {named}\n  \
         yours:        testudo discard {named}\n  both:         git merge-file {original} <(git -C {project} show {committed}) \
         {copy}, then testudo discard {named}"
    )
}

/// A name as a shell takes it. Commands choose names, so nothing in one may end the quotes or reach the terminal as it is.
fn quoted(path: &Path) -> String {
    let shown = path.to_str().filter(|text| made_visible(text) == **text && !text.contains(['\n', '\t']));
    if let Some(text) = shown {
        return format!("'{}'", text.replace('\'', "'\\''"));
    }
    let byte = |byte: &u8| match byte {
        b'\'' | b'\\' => format!("\\{}", char::from(*byte)),
        b' '..=b'~' => char::from(*byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    };
    format!("$'{}'", path.as_os_str().as_encoded_bytes().iter().map(byte).collect::<String>())
}

/// Drops changes. Exits with 1 if something could not be dropped.
pub fn discard(config: &Config, paths: &[PathBuf]) -> anyhow::Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    for (draft, selection) in chosen(config, paths)? {
        let discarded = drafts::discard(&draft, &selection)?;
        print(&format!("discarded {} of the draft of {}\n", count(discarded.done.len()), draft.project().display()))?;
        for (change, reason) in &discarded.refused {
            code = ExitCode::FAILURE;
            print_error(&format!("not discarded: {}: {reason}", shown(change)));
        }
    }
    Ok(code)
}

/// Lists the drafts of all projects.
pub fn list(config: &Config) -> anyhow::Result<ExitCode> {
    let drafts: Vec<Draft> = Drafts::below(&config.state_dir)
        .all()
        .into_iter()
        .filter(|draft| draft.is_in_use() || !draft.is_empty())
        .collect();
    if drafts.is_empty() {
        print("there are no drafts; a server with --draft makes one of its project\n")?;
    }
    for draft in drafts {
        let used = if draft.is_in_use() { ", in use" } else { "" };
        let gone = if draft.project().is_dir() { "" } else { ", the project is gone" };
        let (size, changed) = (size::text(draft.size().bytes), changed(draft.changed()));
        print(&format!("{}\n  {size}, {changed}{used}{gone}\n", draft.project().display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// For `testudo doctor`: the draft of the project.
pub fn row(config: &Config) -> String {
    let project = config.directories.project_dir();
    let project = project.canonicalize().unwrap_or(project);
    let drafts = Drafts::below(&config.state_dir).about(&project);
    let kept: Vec<&Draft> = drafts.iter().filter(|draft| draft.is_in_use() || !draft.is_empty()).collect();
    match &kept[..] {
        [] if config.draft => "empty, --draft is set".to_owned(),
        [] => "none".to_owned(),
        [draft, more @ ..] => {
            let more =
                if more.is_empty() { String::new() } else { format!(" and {} more (testudo drafts)", more.len()) };
            let used = if draft.is_in_use() { ", in use" } else { "" };
            format!("{} in {}{used}{more}", size::text(draft.size().bytes), draft.directory().display())
        }
    }
}

/// The drafts that a person in this directory means, each with what of it was named.
fn chosen(config: &Config, paths: &[PathBuf]) -> anyhow::Result<Vec<(Draft, Selection)>> {
    let project = config.directories.project_dir();
    let project = project.canonicalize().unwrap_or(project);
    let launch = &config.directories.launch_dir;
    let all = Drafts::below(&config.state_dir);
    let mut drafts = all.about(&project);
    if drafts.is_empty() {
        bail!(
            "there is no draft of {}; `testudo drafts` lists those of other projects, a server with --draft makes one",
            project.display()
        );
    }
    if drafts.len() > 1 && !paths.is_empty() {
        bail!(
            "{} has several drafts; go to one of them first: {}",
            project.display(),
            drafts.iter().map(|draft| draft.project().display().to_string()).collect::<Vec<_>>().join(", ")
        );
    }
    drafts.retain(|draft| draft.project().is_dir() || paths.is_empty());
    let select = |draft: Draft| match Selection::new(draft.project(), launch, paths) {
        Ok(selection) => Ok((draft, selection)),
        Err(path) => {
            bail!("{} is not in {}, which is the project of this draft", path.display(), draft.project().display())
        }
    };
    drafts.into_iter().map(select).collect()
}

fn shown(change: &Change) -> String {
    made_visible(&change.path.to_string_lossy())
}

fn count(number: usize) -> String {
    if number == 1 { "1 change".to_owned() } else { format!("{number} changes") }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn a_name_cannot_leave_its_quotes() {
        for (name, wanted) in [
            (&b"a b"[..], "'a b'"),
            (b"x'; rm -rf ~; '", r"'x'\''; rm -rf ~; '\'''"),
            (b"n\xff\x1b[31m'", r"$'n\xff\x1b[31m\''"),
            (b"a\nb\\", r"$'a\x0ab\\'"),
        ] {
            assert_eq!(quoted(Path::new(std::ffi::OsStr::from_bytes(name))), wanted);
        }
    }
}
