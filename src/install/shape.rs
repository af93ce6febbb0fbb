use serde_json::Value;

use super::{ENTRY, Item};

/// How long a client that counts should wait for an answer, in seconds: longer than the longest command, which is ended
/// after 600.
const PATIENCE: u64 = 660;

/// What an entry looks like.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shape {
    /// `command` and `args`.
    Plain,
    /// The same with `"type": "stdio"`.
    Typed,
    /// The same below `transport`, with a time limit.
    Transport,
    /// The plain one with a time limit.
    Timed,
    /// Codex: without its approval mode, `codex exec` refuses every tool that can change something.
    Codex,
    /// One list for the program and its options.
    OneList,
    Goose,
}

/// A field of an entry.
#[derive(Debug)]
pub struct Field {
    pub path: &'static [&'static str],
    pub item: Item,
    /// Written into a new entry only: in an existing one, the person may have removed or changed it.
    pub initial: bool,
}

impl Shape {
    pub fn fields(self, program: &str, options: &[String]) -> Vec<Field> {
        let field = |path, item| Field { path, item, initial: false };
        let initial = |path, item| Field { path, item, initial: true };
        let command = |path| field(path, Item::text(program));
        let args = |path| field(path, Item::List(options.to_vec()));
        let stdio = |path| field(path, Item::text("stdio"));
        match self {
            Self::Plain => vec![command(&["command"]), args(&["args"])],
            Self::Typed => vec![stdio(&["type"]), command(&["command"]), args(&["args"])],
            Self::Timed => {
                vec![command(&["command"]), args(&["args"]), initial(&["timeout"], Item::Number(PATIENCE))]
            }
            Self::Transport => vec![
                stdio(&["transport", "type"]),
                command(&["transport", "command"]),
                args(&["transport", "args"]),
                initial(&["timeout"], Item::Number(PATIENCE)),
            ],
            Self::Codex => vec![
                command(&["command"]),
                args(&["args"]),
                initial(&["default_tools_approval_mode"], Item::text("approve")),
            ],
            Self::OneList => {
                let words = [program.to_owned()].into_iter().chain(options.iter().cloned()).collect();
                vec![field(&["type"], Item::text("local")), field(&["command"], Item::List(words))]
            }
            Self::Goose => vec![
                initial(&["enabled"], Item::Switch(true)),
                stdio(&["type"]),
                field(&["name"], Item::text(ENTRY)),
                initial(&["description"], Item::text("A shielded shell and the files of a project")),
                command(&["cmd"]),
                args(&["args"]),
                initial(&["timeout"], Item::Number(PATIENCE)),
            ],
        }
    }

    /// A whole new entry.
    pub fn entry(self, program: &str, options: &[String]) -> Item {
        let mut table: Vec<(String, Item)> = Vec::new();
        for Field { path, item, .. } in self.fields(program, options) {
            match (path, table.last_mut()) {
                ([outer, inner], Some((last, Item::Table(fields)))) if last == outer => {
                    fields.push(((*inner).to_owned(), item));
                }
                ([key, rest @ ..], _) => table.push(((*key).to_owned(), item.below(rest))),
                ([], _) => {}
            }
        }
        Item::Table(table)
    }

    /// The program and its options, as an entry has them.
    pub fn command(self, entry: &Value) -> Option<(String, Vec<String>)> {
        let words = |value: Option<&Value>| -> Option<Vec<String>> {
            value.and_then(Value::as_array)?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
        };
        if self == Self::OneList {
            let mut words = words(entry.get("command"))?.into_iter();
            return Some((words.next()?, words.collect()));
        }
        let table = if self == Self::Transport { entry.get("transport")? } else { entry };
        let program = table.get(if self == Self::Goose { "cmd" } else { "command" })?.as_str()?;
        Some((program.to_owned(), words(table.get("args")).unwrap_or_default()))
    }
}
