//! Turns what the client sent into a tool's typed arguments, with errors that an agent can act on.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Tool, ToolError};

/// Refuses unknown names before it checks types: a misspelt optional argument must not be ignored silently.
pub fn parse<T: Tool>(arguments: Map<String, Value>) -> Result<T::Arguments, ToolError> {
    let schema = super::tool::schema::<T>();
    let known: Vec<&str> = schema
        .get("properties")
        .and_then(Value::as_object)
        .map(|properties| properties.keys().map(String::as_str).collect())
        .unwrap_or_default();
    if let Some(unknown) = arguments.keys().find(|name| !known.contains(&name.as_str())) {
        let error = ToolError::new(format!("unknown argument \"{unknown}\" for {}", T::NAME));
        return Err(match crate::base::spelling::nearest(unknown, known.iter().copied()) {
            Some(near) => error.hint(format!("Did you mean \"{near}\"? It takes: {}.", known.join(", "))),
            None => error.hint(format!("It takes: {}.", known.join(", "))),
        });
    }
    // Some clients send null for an argument that is not given.
    let given: Map<String, Value> =
        arguments.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name, whole(value))).collect();
    for (name, value) in &given {
        check_type(T::NAME, name, value, schema.get("properties").and_then(|all| all.get(name)))?;
    }
    T::Arguments::deserialize(Value::Object(given))
        .map_err(|error| ToolError::new(format!("invalid arguments for {}: {error}", T::NAME)))
}

fn check_type(tool: &str, name: &str, value: &Value, property: Option<&Value>) -> Result<(), ToolError> {
    let Some(Value::String(wanted)) = property.and_then(|property| property.get("type")) else { return Ok(()) };
    let fits = match wanted.as_str() {
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    };
    if fits {
        return Ok(());
    }
    let article = if wanted.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    Err(ToolError::new(format!(
        "argument \"{name}\" of {tool} must be {article} {wanted}, got {} {}",
        kind_of(value),
        shortened(&value.to_string()),
    ))
    .hint("Nothing was run."))
}

/// Some clients write every number with a decimal point: `1000.0` is the integer 1000.
fn whole(value: Value) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked first")]
    match value.as_f64() {
        Some(number) if value.is_f64() && number.fract() == 0.0 && number.abs() < 9e15 => Value::from(number as i64),
        _ => value,
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "the boolean",
        Value::Number(_) => "the number",
        Value::String(_) => "the string",
        Value::Array(_) => "the array",
        Value::Object(_) => "the object",
    }
}

fn shortened(text: &str) -> String {
    const SHOWN: usize = 80;
    if text.chars().count() <= SHOWN { text.to_owned() } else { text.chars().take(SHOWN).collect::<String>() + "…" }
}
