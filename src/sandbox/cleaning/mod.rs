//! Takes the credentials out of files that hold settings and credentials, so that commands can be shown the rest. A
//! hidden registry setting would silently install packages from somewhere else.
//!
//! [`clean`] is pure. What is taken out: a setting whose name says that it is a credential ([`names`]), and a credential
//! within any other text, such as a URL with a password in it ([`text`]). A file without credentials is not changed at
//! all. TOML that does not parse is cleaned line by line; the tool will report the broken syntax itself.

mod lines;
mod names;
mod text;
mod tree;
mod xml;

use crate::base::packed::Malformed;

/// How a file is written.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
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

const ALL: [Format; 6] = [Format::Assignments, Format::Json, Format::Toml, Format::Yaml, Format::Xml, Format::Bundler];

impl Format {
    pub fn decode(number: usize) -> Result<Self, Malformed> {
        ALL.get(number).copied().ok_or(Malformed)
    }
}

/// What is left of a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Cleaned {
    /// It has no credentials.
    Unchanged,
    Without(String),
    /// It is not in the format, so nobody can tell which of it are credentials.
    Unreadable,
}

pub fn clean(format: Format, content: &str) -> Cleaned {
    let cleaned = match format {
        Format::Json if content.trim().is_empty() => Some(content.to_owned()),
        Format::Json => tree::json(content),
        Format::Xml => (content.trim().is_empty() || content.contains('<')).then(|| xml::clean(content)),
        Format::Toml => tree::toml(content).or_else(|| Some(lines::clean(content, format))),
        Format::Assignments | Format::Yaml | Format::Bundler => Some(lines::clean(content, format)),
    };
    let Some(cleaned) = cleaned else { return Cleaned::Unreadable };
    // Comments, and what a parser does not see as a value.
    let cleaned = text::clean(&cleaned);
    if cleaned == content { Cleaned::Unchanged } else { Cleaned::Without(cleaned) }
}

#[cfg(test)]
mod tests;
