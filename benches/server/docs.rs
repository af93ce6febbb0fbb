//! Writes the results into the documentation. A page has marks between which the benchmark writes; everything else in it is
//! written by people.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::measures::{QUESTIONS, Results};
use crate::plot::{self, Bar, Plot};
use crate::table::{Row, Target};

/// What was not measured stays as it is. `part` names the measures of a run that did not measure everything.
pub fn write(results: &Results, conditions: &str, part: Option<&str>) -> anyhow::Result<()> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let (page, images) = (root.join("docs/performance.md"), root.join("docs/images"));
    change(&page, "conditions", |old| match part {
        None => format!("{conditions}\n"),
        Some(part) => replace_lines(old, &[format!("- {part}: {conditions}")], ": "),
    })?;
    change(&page, "promises", |old| match part {
        None => [&PROMISES_HEAD.map(str::to_owned)[..], &promises(&results.rows)].concat().join("\n") + "\n",
        Some(_) => replace_lines(old, &promises(&results.rows), " | "),
    })?;
    if results.rows.iter().any(|row| !row.server.starts_with("testudo")) {
        change(&page, "peers", |_| beside_peers(&results.rows))?;
        std::fs::write(images.join("latency.svg"), latency(&results.rows))?;
    }
    if !results.plots.is_empty() {
        change(&page, "growth", |_| growth(&results.plots))?;
    }
    if !results.facts.is_empty() {
        change(&root.join("README.md"), "facts", |_| facts(results))?;
    }
    for plot in &results.plots {
        std::fs::write(images.join(format!("{}.svg", plot.file)), plot.svg())?;
    }
    Ok(())
}

/// Replaces what lies between the marks of that name.
fn change(page: &Path, name: &str, new: impl FnOnce(&str) -> String) -> anyhow::Result<()> {
    let written = std::fs::read_to_string(page).with_context(|| format!("failed to read {}", page.display()))?;
    let (begin, end) = (format!("<!-- measured: {name} -->\n"), "<!-- end -->");
    let parts = written.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(end)?)));
    let (before, (old, after)) = parts.with_context(|| format!("{} has no place for {name}", page.display()))?;
    let text = new(old.trim_matches('\n'));
    Ok(std::fs::write(page, format!("{before}{begin}\n{text}\n{end}{after}"))?)
}

/// The old lines, each replaced by the new one that begins with the same name; the others follow.
fn replace_lines(old: &str, new: &[String], after_name: &str) -> String {
    let name = |line: &str| line.split_once(after_name).map(|(name, _)| name.to_owned());
    let mut left: Vec<&String> = new.iter().collect();
    let mut lines: Vec<&str> = Vec::new();
    for line in old.lines() {
        let at = left.iter().position(|new| name(line).is_some() && name(new) == name(line));
        lines.push(at.map_or(line, |at| left.remove(at)));
    }
    lines.extend(left.into_iter().map(String::as_str));
    lines.join("\n") + "\n"
}

const PROMISES_HEAD: [&str; 2] = ["| measure | testudo | floor | ratio | promised | |", "|---|---|---|---|---|---|"];

/// What testudo promises, and what it does: the lines of a table.
fn promises(rows: &[Row]) -> Vec<String> {
    let ours = rows.iter().filter(|row| row.server.starts_with("testudo") && row.server != "testudo, sandbox off");
    let lines = ours.map(|row| {
        let name =
            if row.server == "testudo" { row.name.clone() } else { format!("{} ({})", row.name, &row.server[9..]) };
        let promised = row.target.map(Target::text).unwrap_or_default();
        match &row.result {
            Ok(figure) => format!(
                "| {name} | {} | {} | {} | {promised} | {} |",
                figure.text(),
                figure.floor_text(),
                figure.ratio_text(),
                row.target.map_or("", |target| if target.met(figure) { "kept" } else { "**missed**" }),
            ),
            Err(error) => format!("| {name} | not measured: {} | | | {promised} | |", brief(error)),
        }
    });
    lines.collect()
}

/// A table of all servers for the measures that more than testudo took part in.
fn beside_peers(rows: &[Row]) -> String {
    let mut names: Vec<&str> = Vec::new();
    let mut servers: Vec<&str> = Vec::new();
    for row in rows.iter().filter(|row| !row.server.starts_with("testudo")) {
        if !names.contains(&row.name.as_str()) {
            names.push(&row.name);
        }
        if !servers.contains(&row.server.as_str()) {
            servers.push(&row.server);
        }
    }
    servers.splice(0..0, ["testudo", "testudo, sandbox off"]);
    let mut text = format!("| | {} |\n|---{}|\n", names.join(" | "), "|---".repeat(names.len()));
    for server in servers {
        let cells = names.iter().map(|name| {
            let found = rows.iter().find(|row| row.server == server && row.name == *name);
            match found.map(|row| &row.result) {
                None => String::new(),
                Some(Err(error)) => format!("failed: {}", brief(error)),
                Some(Ok(figure)) => {
                    let p95 = if figure.p95.is_some() { format!(", p95 {}", figure.p95_text()) } else { String::new() };
                    let ratio =
                        if figure.ratio.is_some() { format!(" ({})", figure.ratio_text()) } else { String::new() };
                    format!("{}{ratio}{p95}", figure.text())
                }
            }
        });
        text += &format!("| {server} | {} |\n", cells.collect::<Vec<_>>().join(" | "));
    }
    text
}

fn growth(plots: &[Plot]) -> String {
    let mut text = String::new();
    for plot in plots {
        text += &format!("![{}](images/{}.svg)\n\n| {} |", plot.title, plot.file, plot.across);
        let points = &plot.lines[0].points;
        text += &points.iter().map(|(x, _)| format!(" {x} |")).collect::<Vec<_>>().concat();
        text += &format!("\n|---{}|\n", "|---".repeat(points.len()));
        for line in &plot.lines {
            let cells: Vec<String> = line.points.iter().map(|(_, y)| format!(" {y:.1} |")).collect();
            text += &format!("| {} |{}\n", line.name, cells.concat());
        }
        text += "\n";
    }
    text.trim_end().to_owned() + "\n"
}

/// What servers let commands do. Empty if that was not measured.
pub fn facts(results: &Results) -> String {
    if results.facts.is_empty() {
        return String::new();
    }
    let shown: Vec<_> = results.facts.iter().filter(|(server, _)| server != "testudo, sandbox off").collect();
    let heads: Vec<&str> = shown.iter().map(|(server, _)| server.as_str()).collect();
    let mut text = format!("| | {} |\n|---{}|\n", heads.join(" | "), "|---".repeat(heads.len()));
    for (index, question) in QUESTIONS.iter().enumerate() {
        let cells = shown.iter().map(|(_, facts)| facts.as_ref().map_or("?", |facts| facts[index].as_str()));
        text += &format!("| {question} | {} |\n", cells.collect::<Vec<_>>().join(" | "));
    }
    text
}

fn latency(rows: &[Row]) -> String {
    let mut groups: Vec<(String, f64, Vec<Bar>)> = Vec::new();
    for row in rows.iter().filter(|row| row.name.contains("`true`") && row.name.ends_with("bash -c true")) {
        let Ok(figure) = &row.result else { continue };
        let (Some(p95), Some(floor)) = (figure.p95, figure.floor) else { continue };
        let (name, _) = row.name.split_once(" / ").unwrap_or((&row.name, ""));
        if row.server.starts_with("testudo, level") {
            continue;
        }
        let bar = Bar { name: row.server.clone(), value: figure.value, p95 };
        match groups.iter_mut().find(|(known, ..)| known == name) {
            Some((_, _, bars)) => bars.push(bar),
            None => groups.push((name.to_owned(), floor, vec![bar])),
        }
    }
    plot::bars("A command that does nothing: median, and the line to 95 % (scale: square root)", &groups)
}

fn brief(error: &anyhow::Error) -> String {
    let text = format!("{error:#}").replace(['\n', '|'], " ");
    text.chars().take(80).collect()
}
