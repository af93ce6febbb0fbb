//! TOML. A table that is new goes to the end of the file under a header of its own.

use std::ops::Range;

use serde_json::Value;
use toml_edit::{Document, Item as Node, TableLike, TomlError};

use super::splice::{insert, line_end, line_start, newline, next_line, replace};
use super::{Fault, Item};

pub fn read(text: &str) -> Result<Value, Fault> {
    parse(text)?;
    let table: toml::Table = toml::from_str(text).map_err(|error| Fault::new(None, error.message()))?;
    serde_json::to_value(table).map_err(|error| Fault::new(None, error.to_string()))
}

pub fn set(text: &str, path: &[&str], item: &Item) -> Result<String, Fault> {
    let document = parse(text)?;
    let mut node = document.as_item();
    for (depth, key) in path.iter().enumerate() {
        let rest = &path[depth + 1..];
        match node.get(key) {
            Some(found) if rest.is_empty() => {
                let value = found.as_value().and_then(toml_edit::Value::span).ok_or_else(Fault::layout)?;
                return Ok(replace(text, value, &inline(item)));
            }
            Some(found) if found.is_table_like() => node = found,
            Some(found) => return Err(Fault::at(text, span(found)?.start, format!("{key:?} is not a table"))),
            None => {
                let item = item.clone().below(rest);
                return match (node, item) {
                    (Node::Value(_), item) => insert_inline(text, &span(node)?, key, &item),
                    (Node::Table(_), Item::Table(fields)) => Ok(append(text, path, depth, fields)),
                    (Node::Table(table), item) => {
                        // Behind the last of the table's own lines.
                        let own = values(table).map(|value| value.end).max();
                        let header = table.span().filter(|_| !table.is_implicit() && !table.is_dotted());
                        let last = own.or(header.map(|header| header.end)).ok_or_else(Fault::layout)?;
                        let line = format!("{}{} = {}", newline(text), name(key), inline(&item));
                        Ok(insert(text, line_end(text, last), &line))
                    }
                    _ => Err(Fault::layout()),
                };
            }
        }
    }
    Err(Fault::layout())
}

pub fn remove(text: &str, path: &[&str]) -> Result<String, Fault> {
    let document = parse(text)?;
    let found = path.iter().try_fold(document.as_item(), |node, key| node.get(key)).ok_or_else(Fault::layout)?;
    let Node::Table(table) = found else { return remove_value(text, &document, path) };
    let mut sections = Vec::new();
    collect_sections(table, &mut sections);
    sections.sort_by_key(|section| section.start);
    let mut result = text.to_owned();
    for section in sections.into_iter().rev() {
        let (mut start, end) = (line_start(&result, section.start), next_line(&result, section.end));
        // The empty line before the header goes too, unless it stands between other settings.
        let gap = newline(text).len();
        let before = &result[..start];
        if before.ends_with(&newline(text).repeat(2)) {
            start -= gap;
        }
        result = replace(&result, start..end, "");
    }
    Ok(result)
}

fn parse(text: &str) -> Result<Document<&str>, Fault> {
    let fault = |error: TomlError| match error.span() {
        Some(span) => Fault::at(text, span.start, error.message()),
        None => Fault::new(None, error.message()),
    };
    Document::parse(text).map_err(fault)
}

fn span(node: &Node) -> Result<Range<usize>, Fault> {
    node.span().ok_or_else(Fault::layout)
}

/// The places of a table's own values.
fn values(table: &toml_edit::Table) -> impl Iterator<Item = Range<usize>> {
    table.iter().filter_map(|(_, item)| item.as_value().and_then(toml_edit::Value::span))
}

/// From the header to the last value: of this table and of those below it.
fn collect_sections(table: &toml_edit::Table, sections: &mut Vec<Range<usize>>) {
    if let Some(header) = table.span().filter(|_| !table.is_implicit()) {
        let end = values(table).map(|value| value.end).max().unwrap_or(header.end);
        sections.push(header.start..end.max(header.end));
    }
    for (_, item) in table {
        if let Some(inner) = item.as_table() {
            collect_sections(inner, sections);
        }
    }
}

/// A new table at the end of the file.
fn append(text: &str, path: &[&str], depth: usize, fields: Vec<(String, Item)>) -> String {
    // Only the innermost table needs a header.
    let mut keys: Vec<String> = path[..=depth].iter().map(|key| name(key)).collect();
    let mut fields = fields;
    while let [(key, Item::Table(_))] = fields.as_slice() {
        keys.push(name(key));
        let Some((_, Item::Table(inner))) = fields.pop() else { break };
        fields = inner;
    }
    let new_line = newline(text);
    let gap = match text {
        text if text.trim().is_empty() => "",
        text if text.ends_with('\n') => new_line,
        _ => &new_line.repeat(2),
    };
    let line = |(key, item): &(String, Item)| format!("{} = {}{new_line}", name(key), inline(item));
    let lines = fields.iter().map(line).collect::<Vec<_>>().concat();
    format!("{text}{gap}[{}]{new_line}{lines}", keys.join("."))
}

fn insert_inline(text: &str, table: &Range<usize>, key: &str, item: &Item) -> Result<String, Fault> {
    let inner =
        text[table.clone()].strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).ok_or_else(Fault::layout)?;
    let field = format!("{} = {}", name(key), inline(item));
    if inner.trim().is_empty() {
        return Ok(replace(text, table.clone(), &format!("{{ {field} }}")));
    }
    Ok(insert(text, table.start + 1 + inner.trim_end().len(), &format!(", {field}")))
}

/// An entry in an inline table, or a line of its own.
fn remove_value(text: &str, document: &Document<&str>, path: &[&str]) -> Result<String, Fault> {
    let [parents @ .., key] = path else { return Err(Fault::layout()) };
    let parent = parents.iter().try_fold(document.as_item(), |node, key| node.get(key)).ok_or_else(Fault::layout)?;
    let table: &dyn TableLike = parent.as_table_like().ok_or_else(Fault::layout)?;
    let (found, value) = table.get_key_value(key).ok_or_else(Fault::layout)?;
    let (start, end) = (found.span().ok_or_else(Fault::layout)?.start, span(value)?.end);
    if parent.is_table() {
        return Ok(replace(text, line_start(text, start)..next_line(text, end), ""));
    }
    let behind = text[end..].trim_start();
    if behind.starts_with(',') {
        let comma = text.len() - behind.len();
        return Ok(replace(text, start..text.len() - text[comma + 1..].trim_start().len(), ""));
    }
    let before = text[..start].trim_end();
    Ok(replace(text, before.strip_suffix(',').unwrap_or(before).len()..end, ""))
}

/// A key as TOML writes it: bare where that is possible.
fn name(key: &str) -> String {
    let bare = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    if bare { key.to_owned() } else { string(key) }
}

fn string(text: &str) -> String {
    toml::Value::from(text).to_string()
}

fn inline(item: &Item) -> String {
    match item {
        Item::Text(text) => string(text),
        Item::List(words) => format!("[{}]", words.iter().map(|word| string(word)).collect::<Vec<_>>().join(", ")),
        Item::Number(number) => number.to_string(),
        Item::Switch(on) => on.to_string(),
        Item::Table(fields) => {
            let fields: Vec<String> =
                fields.iter().map(|(key, item)| format!("{} = {}", name(key), inline(item))).collect();
            format!("{{ {} }}", fields.join(", "))
        }
    }
}
