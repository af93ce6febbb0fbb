//! Takes the credentials out of files that hold settings and credentials, so that commands can be shown the rest. A
//! hidden registry setting would silently install packages from somewhere else.
//!
//! [`clean`] is pure. What is taken out: a setting whose name says that it is a credential ([`names`]), and a credential
//! within any other text, such as a URL with a password in it ([`text`]). A file without credentials is not changed at
//! all. A file that its own parser cannot read is cleaned line by line; the tool will report the broken syntax itself.

mod lines;
mod names;
mod text;
mod tree;
mod xml;

use crate::base::packed::Malformed;

/// How a file is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Format {
    /// `key = value`, `key: value` or `key value` on a line: npm, pip, gradle, go.
    Assignments,
    Json,
    Toml,
    Yaml,
    Xml,
    /// YAML in which the name of a setting may be a host and its value the credentials for it.
    Bundler,
}

const ALL: [Format; 6] =
    [Format::Assignments, Format::Json, Format::Toml, Format::Yaml, Format::Xml, Format::Bundler];

impl Format {
    pub fn decode(number: usize) -> Result<Self, Malformed> {
        ALL.get(number).copied().ok_or(Malformed)
    }
}

/// The content without its credentials, or `None` if there are none in it.
pub fn clean(format: Format, content: &str) -> Option<String> {
    let parsed = match format {
        Format::Json => tree::json(content),
        Format::Toml => tree::toml(content),
        Format::Xml => Some(xml::clean(content)),
        Format::Assignments | Format::Yaml | Format::Bundler => None,
    };
    let cleaned = parsed.unwrap_or_else(|| lines::clean(content, format));
    // Comments and what a parser does not see as a value.
    let cleaned = text::clean(&cleaned);
    (cleaned != content).then_some(cleaned)
}

#[cfg(test)]
mod tests;
