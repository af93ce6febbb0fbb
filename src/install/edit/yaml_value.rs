//! What a YAML file means, as far as the editor has to know: enough to find an entry, and to see that a change did nothing
//! else.

use granit_parser::{Event, Parser, ScalarStyle, Span};
use serde_json::{Map, Value};

use super::Fault;

/// A collection whose end has not come yet.
enum Open {
    List(Vec<Value>),
    /// With the key whose value comes next.
    Table(Map<String, Value>, Option<String>),
}

pub fn read(text: &str) -> Result<Value, Fault> {
    let (mut open, mut whole): (Vec<Open>, Option<Value>) = (Vec::new(), None);
    for next in Parser::new_from_str(text) {
        let (event, span) =
            next.map_err(|error| fault(error.marker().line(), error.marker().col(), error.info().as_str()))?;
        let value = match event {
            Event::Scalar(text, style, _, tag) => {
                let is_text = style != ScalarStyle::Plain || tag.is_some();
                if is_text { Value::from(text.as_ref()) } else { plain(&text) }
            }
            // It stands for itself: nothing that we look for lies behind one.
            Event::Alias(number) => Value::from(format!("*{number}")),
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Table(Map::new(), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(items)) => Value::from(items),
                Some(Open::Table(fields, _)) => Value::from(fields),
                None => continue,
            },
            _ => continue,
        };
        match open.last_mut() {
            Some(Open::List(items)) => items.push(value),
            Some(Open::Table(fields, key)) => match key.take() {
                Some(name) if fields.contains_key(&name) => {
                    return Err(at(&span, &format!("the key {name:?} is there twice")));
                }
                Some(name) => drop(fields.insert(name, value)),
                None => *key = Some(name_of(value).ok_or_else(|| at(&span, "a key is not a text"))?),
            },
            None if whole.is_some() => return Err(at(&span, "the file holds a second document")),
            None => whole = Some(value),
        }
    }
    Ok(whole.unwrap_or_default())
}

fn name_of(key: Value) -> Option<String> {
    match key {
        Value::String(text) => Some(text),
        Value::Array(_) | Value::Object(_) => None,
        other => Some(other.to_string()),
    }
}

/// What a text without quotes means.
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::from(true),
        "false" | "False" | "FALSE" => Value::from(false),
        _ => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(number), _) => Value::from(number),
            (_, Ok(number)) if number.is_finite() => Value::from(number),
            _ => Value::from(text),
        },
    }
}

fn at(span: &Span, reason: &str) -> Fault {
    fault(span.start.line(), span.start.col(), reason)
}

fn fault(line: usize, column: usize, reason: &str) -> Fault {
    Fault::new(Some((line, column + 1)), reason.lines().next().unwrap_or("not YAML"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_means_what_another_reader_says() {
        for text in [
            "",
            "# nothing\n",
            "a: 1\nb: -2.5\nc: word\nd: 'x'\ne: \"\\n\"\nf: ~\ng:\nh: true\ni: 1e3\nj: 0x\n",
            "a:\n  - 1\n  - b: {c: d, e: [f]}\n    g: |\n      two\n      lines\n  -\n    - x\n",
            "? a\n: b\n1: c\ntrue: d\n",
        ] {
            let other: Value = serde_saphyr::from_str(text).unwrap();
            assert_eq!(read(text).unwrap(), other, "{text}");
        }
        assert_eq!(read("a: &x {b: 1}\nc: *x\n").unwrap(), json!({ "a": { "b": 1 }, "c": "*1" }));
        assert_eq!(read("a: !!str 1\n").unwrap(), json!({ "a": "1" }));
    }

    #[test]
    fn what_cannot_be_read_is_named_with_its_place() {
        for (text, want) in [
            ("a: [1\nb: }\n", "line 2, column "),
            ("a: 1\nb: 2\na: 3\n", "line 3, column 4: the key \"a\" is there twice"),
            ("[a]: 1\n", "a key is not a text"),
            ("a: 1\n---\nb: 2\n", "a second document"),
            ("a: *nowhere\n", "line 1, column 4"),
        ] {
            let fault = read(text).unwrap_err().to_string();
            assert!(fault.contains(want), "{text:?}: {fault}");
        }
    }
}
