//! The list of changes, for people. Names come from commands, so whatever a terminal would act on is made visible.

use std::collections::HashSet;
use std::path::Path;

use super::summary::{Grouping, Sum};
use super::{Change, Draft};
use crate::base::invisible::made_visible;
use crate::base::size;

/// The whole list, with what to do next.
pub fn overview(draft: &Draft, grouping: &Grouping<'_>) -> String {
    let project = name(draft.project());
    let mut text = String::new();
    for change in shown_singly(grouping) {
        text.push_str(&line(change));
    }
    for (path, sum) in &grouping.git {
        text.push_str(&format!("git        {}/  {}\n", name(path), sum.text()));
    }
    for (path, sum) in &grouping.ignored {
        text.push_str(&format!("ignored    {}  {}\n", name(path), sum.text()));
    }
    if !grouping.protected.is_empty() {
        text.push_str(
            "\nprotected names: programs outside the sandbox run or trust these, so look at them before you apply\n",
        );
        grouping.protected.iter().for_each(|change| text.push_str(&line(change)));
    }
    if text.is_empty() {
        return format!("the draft of {project} has no changes\n");
    }
    let conflicts = grouping.single.iter().chain(&grouping.protected).filter(|change| change.conflict).count();
    if conflicts > 0 {
        text.push_str("\n! you have changed the original meanwhile: `testudo apply` leaves these out and shows both\n");
    }
    text.push_str(&format!(
        "\ndraft of {project}: `testudo changes --diff` shows the content, `testudo apply` takes it over, `testudo discard` \
         drops it; all of them take paths\n"
    ));
    text
}

/// The changes that have a line of their own. A renamed directory tells of all that is in it, and an
/// addition of the deletion that it is the other side of.
pub fn shown_singly<'a>(grouping: &'a Grouping<'a>) -> impl Iterator<Item = &'a Change> {
    let is_moved = |change: &&&Change| change.renamed_from.is_some() && is_directory(change);
    let moved: HashSet<&Path> = grouping.single.iter().filter(is_moved).map(|change| &*change.path).collect();
    grouping.single.iter().copied().filter(move |change| {
        let told = change.original.is_none() && change.path.ancestors().skip(1).any(|above| moved.contains(above));
        !change.renamed_away && !told
    })
}

/// One change on one line.
pub fn line(change: &Change) -> String {
    let (what, more) = described(change);
    let slash = if is_directory(change) { "/" } else { "" };
    let mark = if change.conflict { "  !" } else { "" };
    let more = if more.is_empty() { String::new() } else { format!("  {more}") };
    format!("{what:<10} {}{slash}{more}{mark}\n", path(change))
}

fn path(change: &Change) -> String {
    match &change.renamed_from {
        Some(from) => {
            let slash = if is_directory(change) { "/" } else { "" };
            format!("{}{slash} -> {}", name(from), name(&change.path))
        }
        None if change.path.as_os_str().is_empty() => ".".to_owned(),
        None => name(&change.path),
    }
}

fn is_directory(change: &Change) -> bool {
    change.draft.or(change.original).is_some_and(|facts| facts.is_directory())
}

/// The word for a change, and what else there is to say.
pub fn described(change: &Change) -> (&'static str, String) {
    let difference = change.difference;
    let link = |target: &Option<Vec<u8>>| target.as_ref().map(|bytes| made_visible(&String::from_utf8_lossy(bytes)));
    let [new_target, old_target] = [link(&change.targets[0]), link(&change.targets[1])];
    let mode = match (change.draft, change.original) {
        (Some(new), Some(old)) if difference.mode => format!("mode {:o} -> {:o}", old.mode, new.mode),
        _ => String::new(),
    };
    match (change.draft, change.original) {
        (Some(_), _) if change.renamed_from.is_some() => ("renamed", String::new()),
        (Some(_), None) if new_target.is_some() => ("added", format!("link to {}", new_target.unwrap_or_default())),
        (Some(new), None) if new.is_file() => ("added", size::text(new.size)),
        (Some(_), None) => ("added", String::new()),
        (None, _) => ("deleted", String::new()),
        (Some(new), Some(old)) if new.kind != old.kind => (
            "replaced",
            format!(
                "{} by {}",
                kind(&old),
                new_target.map_or_else(|| kind(&new).to_owned(), |to| format!("a link to {to}"))
            ),
        ),
        (Some(_), Some(_)) if new_target.is_some() && difference.content => {
            ("link", format!("to {}, was {}", new_target.unwrap_or_default(), old_target.unwrap_or_default()))
        }
        (Some(new), Some(old)) if difference.content => {
            let sizes = format!("{} -> {}", size::text(old.size), size::text(new.size));
            ("changed", if mode.is_empty() { sizes } else { format!("{sizes}, {mode}") })
        }
        _ if difference.mode => ("mode", mode.trim_start_matches("mode ").to_owned()),
        _ if difference.links => ("link", "one file with several names".to_owned()),
        _ if difference.owner => ("owner", String::new()),
        _ if difference.attributes => ("attributes", String::new()),
        _ => ("touched", "only its time".to_owned()),
    }
}

fn kind(facts: &super::facts::Facts) -> &'static str {
    if facts.is_directory() {
        "a directory"
    } else if facts.is_link() {
        "a link"
    } else if facts.is_file() {
        "a file"
    } else {
        "a special file"
    }
}

pub fn name(path: &Path) -> String {
    made_visible(&path.to_string_lossy()).replace('\n', "<U+000A>").replace('\t', "<U+0009>")
}

impl Sum {
    pub fn text(&self) -> String {
        let parts = [("added", self.added), ("changed", self.changed), ("deleted", self.deleted)];
        let parts: Vec<String> =
            parts.iter().filter(|(_, count)| *count > 0).map(|(word, count)| format!("{count} {word}")).collect();
        let parts = if parts.is_empty() { "directories only".to_owned() } else { parts.join(", ") };
        format!("{parts}, {}", size::text(self.bytes))
    }
}
