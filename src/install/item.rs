use serde_json::Value;

/// A value that is written into a client's configuration, whatever its format. Unlike a `serde_json` object, a table
/// keeps the order of its keys.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    Text(String),
    List(Vec<String>),
    Number(u64),
    Switch(bool),
    Table(Vec<(String, Item)>),
}

impl Item {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// The item below these keys: `a`, `b` → `{a: {b: item}}`.
    #[must_use]
    pub fn below(self, keys: &[&str]) -> Self {
        keys.iter().rev().fold(self, |item, key| Self::Table(vec![((*key).to_owned(), item)]))
    }

    pub fn to_value(&self) -> Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::List(words) => words.clone().into(),
            Self::Number(number) => (*number).into(),
            Self::Switch(on) => (*on).into(),
            Self::Table(fields) => {
                Value::Object(fields.iter().map(|(key, item)| (key.clone(), item.to_value())).collect())
            }
        }
    }
}
