//! What a person writes after `--place`.

use std::str::FromStr;

use thiserror::Error;

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Kind {
    Docker { image: String },
    Podman { image: String },
    Ssh { host: String, directory: Option<String> },
    Url(String),
    Kubernetes { template: String },
}

#[derive(Debug, Error)]
#[error(
    "{0:?} is no place; use docker:IMAGE, podman:IMAGE, ssh:HOST[:DIR], kubernetes:[NAMESPACE/]TEMPLATE, http://HOST:PORT/mcp or https://…"
)]
pub struct KindError(String);

impl FromStr for Kind {
    type Err = KindError;

    fn from_str(text: &str) -> Result<Self, KindError> {
        let wrong = || KindError(text.to_owned());
        let (scheme, rest) = text.split_once(':').filter(|(_, rest)| !rest.is_empty()).ok_or_else(wrong)?;
        let rest = rest.to_owned();
        let is_image = rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/:@".contains(&byte));
        Ok(match scheme {
            // The image stands in the path of a request to the engine.
            "docker" | "podman" if !is_image || rest.contains("..") => return Err(wrong()),
            "docker" => Self::Docker { image: rest },
            "podman" => Self::Podman { image: rest },
            "kubernetes" => {
                let is_name = |name: &str| {
                    let is_plain =
                        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || [b'-', b'.'].contains(&byte);
                    name.starts_with(|first: char| first.is_ascii_alphanumeric()) && name.bytes().all(is_plain)
                };
                if rest.split('/').count() > 2 || !rest.split('/').all(is_name) {
                    return Err(wrong());
                }
                Self::Kubernetes { template: rest }
            }
            "http" | "https" if rest.starts_with("//") => Self::Url(text.to_owned()),
            "ssh" => {
                let (host, directory) = match rest.split_once(':') {
                    Some((host, directory)) => (host.to_owned(), Some(directory.to_owned())),
                    None => (rest, None),
                };
                // ssh would take such a host for an option.
                if host.is_empty() || host.starts_with('-') || directory.as_deref() == Some("") {
                    return Err(wrong());
                }
                Self::Ssh { host, directory }
            }
            _ => return Err(wrong()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_written_in_one_line() {
        let parse = |text: &str| text.parse::<Kind>().ok();
        assert_eq!(parse("docker:python:3.13"), Some(Kind::Docker { image: "python:3.13".into() }));
        assert_eq!(
            parse("ssh:me@box:/srv/it"),
            Some(Kind::Ssh { host: "me@box".into(), directory: Some("/srv/it".into()) })
        );
        assert_eq!(parse("ssh:box"), Some(Kind::Ssh { host: "box".into(), directory: None }));
        assert_eq!(parse("https://h/mcp"), Some(Kind::Url("https://h/mcp".into())));
        assert_eq!(parse("kubernetes:work/python"), Some(Kind::Kubernetes { template: "work/python".into() }));
        for wrong in [
            "kubernetes:a/b/c",
            "kubernetes:../x",
            "kubernetes:a?b",
            "",
            "docker:",
            "docker:py thon",
            "docker:a?b",
            "podman:../x",
            "python",
            "ssh:",
            "ssh:-oProxyCommand=x",
            "ssh:box:",
            "http:h",
            "ftp://h",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
