use std::collections::HashMap;
use std::future::Future;
use std::sync::Mutex;

use schemars::{JsonSchema, generate::SchemaSettings, transform::Transform};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::arguments;
use crate::base::locks::LockExt;
use crate::config::Toolset;
use crate::server::{BoxedRun, Context, Hints, Stop, ToolEntry, ToolOutput};

/// One thing an agent can ask for. Everything about it is in its own file; the table in `tools/mod.rs` lists it.
pub trait Tool: Send + Sync + 'static {
    const NAME: &'static str;
    const TITLE: &'static str;
    /// Read by the model; under 2,048 characters.
    const DESCRIPTION: &'static str;
    const HINTS: Hints;
    /// Whether a result may be longer than clients expect. They are told how long.
    const RESULT_MAY_BE_LONG: bool = false;
    type Arguments: DeserializeOwned + JsonSchema + Send;

    fn run(arguments: Self::Arguments, context: &Context) -> impl Future<Output = Result<ToolOutput, Stop>> + Send;
}

/// The line of the table for a tool.
pub const fn entry<T: Tool>(toolsets: &'static [Toolset]) -> ToolEntry {
    ToolEntry {
        name: T::NAME,
        title: T::TITLE,
        description: T::DESCRIPTION,
        hints: T::HINTS,
        result_may_be_long: T::RESULT_MAY_BE_LONG,
        toolsets,
        schema: schema::<T>,
        run: run_erased::<T>,
    }
}

fn run_erased<T: Tool>(arguments: Map<String, Value>, context: &Context) -> BoxedRun<'_> {
    Box::pin(async move { T::run(arguments::parse::<T>(arguments)?, context).await })
}

/// The input schema of a tool, made on first use.
pub fn schema<T: Tool>() -> &'static Map<String, Value> {
    static SCHEMAS: Mutex<Option<HashMap<&str, &'static Map<String, Value>>>> = Mutex::new(None);
    SCHEMAS.locked().get_or_insert_default().entry(T::NAME).or_insert_with(|| Box::leak(Box::new(schema_of::<T>())))
}

/// Plain JSON Schema that strict clients accept: no `$schema`, no titles, no `null` unions, no number formats.
fn schema_of<T: Tool>() -> Map<String, Value> {
    let mut schema = SchemaSettings::draft2020_12()
        .with(|settings| {
            settings.meta_schema = None;
            settings.inline_subschemas = true;
        })
        .into_generator()
        .into_root_schema_for::<T::Arguments>();
    Plain.transform(&mut schema);
    let Value::Object(map) = schema.to_value() else { unreachable!("the schema of a struct is an object") };
    map
}

#[derive(Clone)]
struct Plain;

impl Transform for Plain {
    fn transform(&mut self, schema: &mut schemars::Schema) {
        for key in ["title", "format", "default"] {
            schema.remove(key);
        }
        if let Some(Value::Array(types)) = schema.get("type") {
            let mut named = types.iter().filter(|name| *name != "null").cloned();
            if let (Some(only), None) = (named.next(), named.next()) {
                schema.insert("type".to_owned(), only);
            }
        }
        if let Some(Value::Array(values)) = schema.get_mut("enum") {
            values.retain(|value| !value.is_null());
        }
        if let Some(Value::Array(variants)) = schema.get("anyOf") {
            let mut named = variants.iter().filter(|variant| variant.get("type") != Some(&Value::from("null")));
            if let (Some(Value::Object(only)), None) = (named.next().cloned(), named.next()) {
                schema.remove("anyOf");
                for (key, value) in only {
                    if schema.get(&key).is_none() {
                        schema.insert(key, value);
                    }
                }
            }
        }
        schemars::transform::transform_subschemas(self, schema);
    }
}
