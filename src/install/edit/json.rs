//! JSON and JSONC.

use jsonc_parser::ast::{Object, ObjectProp};
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::ParseError;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions};
use serde_json::Value;

use super::splice::{indent, insert, is_first_on_line, line_end, line_start, newline, next_line, replace, skip_blanks};
use super::{Fault, Item};

pub fn read(text: &str, comments: bool) -> Result<Value, Fault> {
    Document::parse(text, comments)?;
    jsonc_parser::parse_to_serde_value(text, &options(comments)).map_err(|error| fault(&error))
}

pub fn set(text: &str, comments: bool, path: &[&str], item: &Item) -> Result<String, Fault> {
    let document = Document::parse(text, comments)?;
    let mut object = &document.root;
    for (depth, key) in path.iter().enumerate() {
        let rest = &path[depth + 1..];
        match property(object, key) {
            None => return Ok(document.insert(object, key, &item.clone().below(rest))),
            Some(found) if rest.is_empty() => return Ok(document.replace(found, item)),
            Some(found) => object = document.object(found)?,
        }
    }
    Err(Fault::layout())
}

pub fn remove(text: &str, comments: bool, path: &[&str]) -> Result<String, Fault> {
    let document = Document::parse(text, comments)?;
    let [parents @ .., key] = path else { return Err(Fault::layout()) };
    let mut object = &document.root;
    for parent in parents {
        object = document.object(property(object, parent).ok_or_else(Fault::layout)?)?;
    }
    let index = object.properties.iter().position(|property| property.name.as_str() == *key);
    Ok(document.remove(object, index.ok_or_else(Fault::layout)?))
}

fn options(comments: bool) -> ParseOptions {
    ParseOptions {
        allow_comments: comments,
        allow_trailing_commas: comments,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn fault(error: &ParseError) -> Fault {
    Fault::new(Some((error.line_display(), error.column_display())), error.kind().to_string())
}

fn property<'a, 't>(object: &'a Object<'t>, key: &str) -> Option<&'a ObjectProp<'t>> {
    object.properties.iter().find(|property| property.name.as_str() == key)
}

struct Document<'t> {
    text: &'t str,
    root: Object<'t>,
    tokens: Vec<TokenAndRange<'t>>,
}

impl<'t> Document<'t> {
    fn parse(text: &'t str, comments: bool) -> Result<Self, Fault> {
        let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
        let parsed = jsonc_parser::parse_to_ast(text, &collect, &options(comments)).map_err(|error| fault(&error))?;
        match parsed.value {
            Some(jsonc_parser::ast::Value::Object(root)) => {
                let document = Self { text, root, tokens: parsed.tokens.unwrap_or_default() };
                document.refuse_twins(&document.root)?;
                Ok(document)
            }
            other => {
                let at = other.map_or(0, |value| value.start());
                Err(Fault::at(text, at, "the file does not hold an object { … }"))
            }
        }
    }

    /// Clients disagree on which of two equal keys counts.
    fn refuse_twins(&self, object: &Object<'t>) -> Result<(), Fault> {
        for (index, property) in object.properties.iter().enumerate() {
            let key = property.name.as_str();
            if object.properties[..index].iter().any(|earlier| earlier.name.as_str() == key) {
                return Err(Fault::at(self.text, property.range.start, format!("the key {key:?} is there twice")));
            }
            if let Some(inner) = property.value.as_object() {
                self.refuse_twins(inner)?;
            }
        }
        Ok(())
    }

    fn object<'a>(&self, property: &'a ObjectProp<'t>) -> Result<&'a Object<'t>, Fault> {
        let reason = || format!("{:?} is not an object {{ … }}", property.name.as_str());
        property.value.as_object().ok_or_else(|| Fault::at(self.text, property.value.start(), reason()))
    }

    fn replace(&self, property: &ObjectProp<'t>, item: &Item) -> String {
        let value = property.value.range();
        let base = indent(self.text, property.range.start);
        let new = if self.is_compact() { self.compact(item) } else { self.pretty(item, base) };
        replace(self.text, value.start..value.end, &new)
    }

    fn on_one_line(&self, start: usize, end: usize) -> bool {
        !self.text[start..end].contains('\n')
    }

    fn insert(&self, object: &Object<'t>, key: &str, item: &Item) -> String {
        let (open, close) = (object.range.start + 1, object.range.end - 1);
        let inner = &self.text[open..close];
        let name = Value::from(key);
        let Some(last) = object.properties.last() else {
            let (base, new_line) = (indent(self.text, object.range.start), newline(self.text));
            if self.is_compact() {
                return insert(self.text, open, &format!("{name}{}{}", self.colon(), self.compact(item)));
            }
            let inside = format!("{base}{}", self.unit());
            // Behind the comments, if there are any.
            let at = open + inner.trim_end().len();
            let tail = if self.on_one_line(at, close) { format!("{new_line}{base}") } else { String::new() };
            return insert(self.text, at, &format!("{new_line}{inside}{name}: {}{tail}", self.pretty(item, &inside)));
        };
        let trailing = self.comma(last.range.end, close);
        if self.on_one_line(open, close) {
            let (comma, text) = (self.separator(), format!("{name}{}{}", self.colon(), self.compact(item)));
            let at = trailing.map_or(last.range.end, |comma| comma + 1);
            return insert(
                self.text,
                at,
                &if trailing.is_some() { format!(" {text},") } else { format!("{comma}{text}") },
            );
        }
        let inside = self.indent_inside(object);
        let behind = self.behind_comments(trailing.map_or(last.range.end, |comma| comma + 1));
        let end = if trailing.is_some() { "," } else { "" };
        let text = format!("{}{inside}{name}: {}{end}", newline(self.text), self.pretty(item, &inside));
        let with_entry = insert(self.text, behind, &text);
        if trailing.is_some() { with_entry } else { insert(&with_entry, last.range.end, ",") }
    }

    fn remove(&self, object: &Object<'t>, index: usize) -> String {
        let (property, close) = (&object.properties[index], object.range.end - 1);
        let (start, end) = (property.range.start, property.range.end);
        let next = object.properties.get(index + 1);
        let comma_after = self.comma(end, next.map_or(close, |next| next.range.start));
        let cut_end = comma_after.map_or(end, |comma| comma + 1);
        let alone =
            is_first_on_line(self.text, start) && skip_blanks(self.text, cut_end) == line_end(self.text, cut_end);
        let cut = match (alone, next) {
            // Whole lines.
            (true, Some(_)) => line_start(self.text, start)..next_line(self.text, cut_end),
            (true, None) => {
                let before = line_start(self.text, start) - newline(self.text).len();
                before..cut_end
            }
            // A comment behind the entry stays where it is.
            (false, Some(_)) => start..skip_blanks(self.text, cut_end),
            (false, None) if is_first_on_line(self.text, start) => start..skip_blanks(self.text, cut_end),
            (false, None) => self.text[..start].trim_end_matches([' ', '\t']).len()..cut_end,
        };
        let without = replace(self.text, cut.clone(), "");
        if next.is_none() && comma_after.is_none() && index > 0 {
            let before = object.properties[index - 1].range.end;
            if let Some(comma) = self.comma(before, start) {
                return replace(&without, comma..comma + 1, "");
            }
        }
        let open = object.range.start + 1;
        let left = close - cut.len();
        if object.properties.len() == 1 && without[open..left].trim().is_empty() {
            return replace(&without, open..left, "");
        }
        without
    }

    /// The comma between two places.
    fn comma(&self, from: usize, to: usize) -> Option<usize> {
        let mut between = self.tokens.iter().filter(|token| token.range.start >= from && token.range.end <= to);
        between.find(|token| token.token == Token::Comma).map(|token| token.range.start)
    }

    /// The end of the comments that stand behind a place on the same line.
    fn behind_comments(&self, mut at: usize) -> usize {
        loop {
            let next = skip_blanks(self.text, at);
            let comment = self
                .tokens
                .iter()
                .find(|token| token.range.start == next)
                .filter(|token| matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_)));
            match comment {
                Some(comment) => at = self.text[..comment.range.end].trim_end().len(),
                None => return at,
            }
        }
    }

    /// Written on one line, as programs do that do not care for readers.
    fn is_compact(&self) -> bool {
        !self.root.properties.is_empty() && !self.text.trim().contains('\n')
    }

    fn colon(&self) -> &'static str {
        if self.text.contains("\":\"") || self.text.contains("\":{") { ":" } else { ": " }
    }

    fn separator(&self) -> &'static str {
        if self.colon() == ":" { "," } else { ", " }
    }

    fn unit(&self) -> &str {
        let first = self.root.properties.first().filter(|first| is_first_on_line(self.text, first.range.start));
        let found = first.map(|first| indent(self.text, first.range.start)).unwrap_or_default();
        if found.is_empty() { "  " } else { found }
    }

    fn indent_inside(&self, object: &Object<'t>) -> String {
        match object.properties.iter().find(|property| is_first_on_line(self.text, property.range.start)) {
            Some(property) => indent(self.text, property.range.start).to_owned(),
            None => format!("{}{}", indent(self.text, object.range.start), self.unit()),
        }
    }

    fn compact(&self, item: &Item) -> String {
        let (colon, separator) = (self.colon(), self.separator());
        match item {
            Item::List(words) => {
                let words: Vec<String> = words.iter().map(|word| Value::from(word.as_str()).to_string()).collect();
                format!("[{}]", words.join(separator))
            }
            Item::Table(fields) => {
                let field = |(key, item): &(String, Item)| {
                    format!("{}{colon}{}", Value::from(key.as_str()), self.compact(item))
                };
                format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(separator))
            }
            other => other.to_value().to_string(),
        }
    }

    /// On several lines, of which all but the first begin with `base`.
    fn pretty(&self, item: &Item, base: &str) -> String {
        let inside = format!("{base}{}", self.unit());
        let lines: Vec<String> = match item {
            Item::List(words) => words.iter().map(|word| Value::from(word.as_str()).to_string()).collect(),
            Item::Table(fields) => {
                let field = |(key, item): &(String, Item)| {
                    format!("{}: {}", Value::from(key.as_str()), self.pretty(item, &inside))
                };
                fields.iter().map(field).collect()
            }
            other => return other.to_value().to_string(),
        };
        let (open, close) = if matches!(item, Item::List(_)) { ('[', ']') } else { ('{', '}') };
        if lines.is_empty() {
            return format!("{open}{close}");
        }
        let new_line = newline(self.text);
        let lines = lines.join(&format!(",{new_line}{inside}"));
        format!("{open}{new_line}{inside}{lines}{new_line}{base}{close}")
    }
}
