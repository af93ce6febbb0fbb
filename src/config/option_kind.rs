use toml::Value;

use crate::base::spelling;

/// How the value of a flag or variable is read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OptionKind {
    Text,
    Number,
    /// A bare flag. As a variable: `true`/`false`, `1`/`0`, `on`/`off`, `yes`/`no`.
    Switch,
    /// Repeated on the command line, separated by commas in the environment.
    List,
    /// Like `List`, but added to the list in the file instead of replacing it: a flag must not lift a prohibition.
    Rules,
    /// Like `List`, but commas separate on the command line too.
    CommaList,
    Choice(&'static [&'static str]),
}

impl OptionKind {
    /// The values of a flag, as the file would hold them. Where one value is wanted, the last one counts.
    pub fn read(self, values: &[String]) -> Result<Value, String> {
        let last = values.last().map(String::as_str).unwrap_or_default();
        match self {
            Self::Text => Ok(Value::String(last.to_owned())),
            Self::Number => last
                .trim()
                .parse::<i64>()
                .ok()
                .filter(|number| *number >= 0)
                .map(Value::Integer)
                .ok_or_else(|| format!("{last:?} is not a whole number of 0 or more")),
            Self::Switch => match last.to_ascii_lowercase().as_str() {
                "true" | "1" | "on" | "yes" => Ok(Value::Boolean(true)),
                "false" | "0" | "off" | "no" | "" => Ok(Value::Boolean(false)),
                _ => Err(format!("{last:?} is neither true nor false")),
            },
            Self::List | Self::Rules => Ok(list(values.iter().map(String::as_str))),
            Self::CommaList => Ok(list(values.iter().flat_map(|text| text.split(',')))),
            Self::Choice(choices) if choices.contains(&last) => Ok(Value::String(last.to_owned())),
            Self::Choice(choices) => Err(match spelling::nearest(last, choices.iter().copied()) {
                Some(near) => format!("{last:?} is not one of {}; did you mean {near}?", choices.join(", ")),
                None => format!("{last:?} is not one of {}", choices.join(", ")),
            }),
        }
    }

    /// The value of a variable. Unlike on the command line, commas separate the items of every list.
    pub fn read_variable(self, value: &str) -> Result<Value, String> {
        let kind = if matches!(self, Self::List | Self::Rules) { Self::CommaList } else { self };
        kind.read(&[value.to_owned()])
    }
}

fn list<'a>(items: impl Iterator<Item = &'a str>) -> Value {
    items.map(str::trim).filter(|item| !item.is_empty()).map(Value::from).collect::<Vec<_>>().into()
}
