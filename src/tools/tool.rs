use std::{future::Future, pin::Pin};

use schemars::{JsonSchema, generate::SchemaSettings, transform::Transform};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{ToolError, ToolOutput, arguments};
use crate::config::Toolset;
use crate::server::Context;

/// One thing an agent can ask for. Everything about it stands in its own file; `tools!` lists it.
pub trait Tool: Send + Sync + 'static {
    const NAME: &'static str;
    const TITLE: &'static str;
    /// Read by the model; under 2,048 characters.
    const DESCRIPTION: &'static str;
    const HINTS: Hints;
    type Arguments: DeserializeOwned + JsonSchema + Send;

    fn run(arguments: Self::Arguments, context: &Context)
    -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;
}

/// The protocol's annotations, stated truthfully.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "they are the protocol's four independent hints")]
pub struct Hints {
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
    pub open_world: bool,
}

pub type BoxedRun<'a> = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send + 'a>>;

/// A [`Tool`] without its types: what the list holds and the transport shows.
#[derive(Clone, Copy)]
pub struct Entry {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    pub hints: Hints,
    pub toolsets: &'static [Toolset],
    pub schema: fn() -> Map<String, Value>,
    pub run: for<'a> fn(Map<String, Value>, &'a Context) -> BoxedRun<'a>,
}

impl Entry {
    pub const fn of<T: Tool>(toolsets: &'static [Toolset]) -> Self {
        Self {
            name: T::NAME,
            title: T::TITLE,
            description: T::DESCRIPTION,
            hints: T::HINTS,
            toolsets,
            schema: schema_of::<T>,
            run: run_erased::<T>,
        }
    }
}

fn run_erased<T: Tool>(arguments: Map<String, Value>, context: &Context) -> BoxedRun<'_> {
    Box::pin(async move { T::run(arguments::parse::<T>(arguments)?, context).await })
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
