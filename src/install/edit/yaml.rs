//! YAML, line by line: a key is found by its name and its indentation, and its block reaches to the next line that is
//! indented less. Where this reading is wrong (a mapping in braces, a second document), the check of the result notices.

use std::ops::Range;

use super::splice::newline;
use super::{Fault, Item};
use crate::base::yaml::scalar;

pub fn set(text: &str, path: &[&str], item: &Item) -> Result<String, Fault> {
    let mut lines = Lines::of(text);
    let (mut block, mut indent) = (0..lines.all.len(), 0);
    for (depth, key) in path.iter().enumerate() {
        let rest = &path[depth + 1..];
        let Some(found) = lines.find(&block, indent, key) else {
            let end = lines.end_of_content(&block);
            lines.insert(end, &render(key, &item.clone().below(rest), indent));
            return Ok(lines.text());
        };
        let value = lines.value(found.start, key);
        let has_lines = lines.end_of_content(&(found.start + 1..found.end)) > found.start + 1;
        if rest.is_empty() || matches!(value.as_str(), "" | "{}" | "null" | "~") && !has_lines {
            let end = lines.end_of_content(&found);
            lines.replace(found.start..end, &render(key, &item.clone().below(rest), indent));
            return Ok(lines.text());
        }
        block = found.start + 1..found.end;
        indent = lines.first_indent(&block).filter(|inner| *inner > indent).ok_or_else(|| {
            Fault::new(Some((found.start + 1, 1)), format!("{key:?} is not a mapping with one key per line"))
        })?;
    }
    Err(Fault::layout())
}

pub fn remove(text: &str, path: &[&str]) -> Result<String, Fault> {
    let mut lines = Lines::of(text);
    let (mut block, mut indent) = (0..lines.all.len(), 0);
    for (depth, key) in path.iter().enumerate() {
        let found = lines.find(&block, indent, key).ok_or_else(Fault::layout)?;
        if depth + 1 == path.len() {
            let end = lines.end_of_content(&found);
            lines.replace(found.start..end, &[]);
            return Ok(lines.text());
        }
        block = found.start + 1..found.end;
        indent = lines.first_indent(&block).ok_or_else(Fault::layout)?;
    }
    Err(Fault::layout())
}

struct Lines {
    /// With their line ends.
    all: Vec<String>,
    newline: &'static str,
}

impl Lines {
    fn of(text: &str) -> Self {
        Self { all: text.split_inclusive('\n').map(str::to_owned).collect(), newline: newline(text) }
    }

    fn text(self) -> String {
        self.all.concat()
    }

    /// How far a line with content is indented.
    fn indent(&self, index: usize) -> Option<usize> {
        let line = self.all[index].trim_end();
        let content = line.trim_start_matches(' ');
        (!content.is_empty() && !content.starts_with('#')).then_some(line.len() - content.len())
    }

    fn first_indent(&self, block: &Range<usize>) -> Option<usize> {
        block.clone().find_map(|index| self.indent(index))
    }

    /// The lines of a key, up to the next key of the block or its end.
    fn find(&self, block: &Range<usize>, indent: usize, key: &str) -> Option<Range<usize>> {
        let start = block.clone().find(|index| self.indent(*index) == Some(indent) && self.is_key(*index, key))?;
        let item = |index: usize| self.all[index].trim_start().starts_with("- ");
        let ends =
            |index: &usize| self.indent(*index).is_some_and(|own| own < indent || own == indent && !item(*index));
        Some(start..(start + 1..block.end).find(ends).unwrap_or(block.end))
    }

    fn is_key(&self, index: usize, key: &str) -> bool {
        let line = self.all[index].trim();
        let rest = [key.to_owned(), format!("\"{key}\""), format!("'{key}'")]
            .iter()
            .find_map(|name| line.strip_prefix(name.as_str()))
            .and_then(|rest| rest.trim_start().strip_prefix(':'));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    }

    /// The text behind the colon, without a comment.
    fn value(&self, index: usize, key: &str) -> String {
        let line = self.all[index].trim();
        let behind = line.split_once(key).and_then(|(_, rest)| rest.split_once(':')).map(|(_, rest)| rest.trim());
        let behind = behind.unwrap_or_default();
        if behind.starts_with('#') {
            String::new()
        } else {
            behind.split(" #").next().unwrap_or_default().trim().to_owned()
        }
    }

    /// Behind the last line of the block that is neither empty nor a comment.
    fn end_of_content(&self, block: &Range<usize>) -> usize {
        block.clone().rev().find(|index| self.indent(*index).is_some()).map_or(block.start, |last| last + 1)
    }

    fn insert(&mut self, at: usize, lines: &[String]) {
        self.replace(at..at, lines);
    }

    fn replace(&mut self, range: Range<usize>, lines: &[String]) {
        if let Some(before) = range.start.checked_sub(1).filter(|_| !lines.is_empty())
            && !self.all[before].ends_with('\n')
        {
            self.all[before].push_str(self.newline);
        }
        let lines: Vec<String> = lines.iter().map(|line| format!("{line}{}", self.newline)).collect();
        self.all.splice(range, lines);
    }
}

fn render(key: &str, item: &Item, indent: usize) -> Vec<String> {
    let blanks = " ".repeat(indent);
    let key = scalar(key);
    match item {
        Item::Text(text) => vec![format!("{blanks}{key}: {}", scalar(text))],
        Item::Number(number) => vec![format!("{blanks}{key}: {number}")],
        Item::Switch(on) => vec![format!("{blanks}{key}: {on}")],
        Item::List(words) if words.is_empty() => vec![format!("{blanks}{key}: []")],
        Item::List(words) => {
            let words = words.iter().map(|word| format!("{blanks}  - {}", scalar(word)));
            [format!("{blanks}{key}:")].into_iter().chain(words).collect()
        }
        Item::Table(fields) => {
            let fields = fields.iter().flat_map(|(key, item)| render(key, item, indent + 2));
            [format!("{blanks}{key}:")].into_iter().chain(fields).collect()
        }
    }
}
