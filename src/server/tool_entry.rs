use std::{future::Future, pin::Pin};

use serde_json::{Map, Value};

use super::{Context, Stop, ToolOutput};
use crate::config::Toolset;

/// A tool as the server knows it: what clients see of it, and how to run it. `tools/` makes one for each tool.
#[derive(Clone, Copy)]
pub struct ToolEntry {
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    pub hints: Hints,
    pub result_may_be_long: bool,
    pub toolsets: &'static [Toolset],
    /// Its input schema, made on first use.
    pub schema: fn() -> &'static Map<String, Value>,
    pub run: for<'a> fn(Map<String, Value>, &'a Context) -> BoxedRun<'a>,
}

pub type BoxedRun<'a> = Pin<Box<dyn Future<Output = Result<ToolOutput, Stop>> + Send + 'a>>;

/// The protocol's annotations, stated truthfully.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "they are the protocol's four independent hints")]
pub struct Hints {
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
    pub open_world: bool,
}
