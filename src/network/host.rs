use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A host as a command asks for it.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Host {
    /// In lower case, without a dot at the end.
    Name(String),
    Address(IpAddr),
}

/// A host and a port.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Target {
    pub host: Host,
    pub port: u16,
}

/// The ports of a host that is named without one.
pub const USUAL_PORTS: [u16; 3] = [80, 443, 22];

impl Host {
    /// The error says what is wrong with it. Only the usual form of an address is one: to a resolver, `0177.1` and
    /// `2130706433` mean 127.0.0.1 too.
    pub fn read(text: &str) -> Result<Self, &'static str> {
        let bracketed = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if bracketed.is_some() || text.contains(':') {
            let address: Ipv6Addr =
                bracketed.unwrap_or(text).parse().map_err(|_| "it is no address of IP version 6")?;
            return Ok(Self::Address(IpAddr::V6(address).to_canonical()));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        if is_numeric(&name) {
            let address: Ipv4Addr = text.parse().map_err(|_| "it is an address in an unusual form")?;
            return Ok(Self::Address(address.into()));
        }
        if is_name(&name) { Ok(Self::Name(name)) } else { Err("it is no host name") }
    }
}

impl Target {
    /// `host:port`; the port may be left out if there is a usual one.
    pub fn read(authority: &str, usual: Option<u16>) -> Result<Self, &'static str> {
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') && (!host.contains(':') || host.ends_with(']')) => {
                let port = Some(port).filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
                (host, port.and_then(|port| port.parse().ok()))
            }
            _ => (authority, usual),
        };
        let port = port.filter(|port| *port > 0).ok_or("it has no port")?;
        Ok(Self { host: Host::read(host)?, port })
    }

    /// What would have to be named to allow it: the host, and the port if it is not a usual one.
    pub fn pattern(&self) -> String {
        match (&self.host, self.port) {
            (host, port) if USUAL_PORTS.contains(&port) => host.to_string(),
            (Host::Address(IpAddr::V6(address)), port) => format!("[{address}]:{port}"),
            (host, port) => format!("{host}:{port}"),
        }
    }
}

impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(address) => address.fmt(f),
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.host {
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]:{}", self.port),
            host => write!(f, "{host}:{}", self.port),
        }
    }
}

/// Whether a resolver would read this as an address, in whatever form.
fn is_numeric(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let hexadecimal = last.strip_prefix("0x").is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_hexdigit()));
    hexadecimal || !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit())
}

/// Letters, digits, hyphens and underscores between dots.
pub fn is_name(name: &str) -> bool {
    let label = |label: &str| {
        let plain = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        plain && !label.is_empty() && label.len() <= 63 && !label.starts_with('-') && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_in_one_way_only() {
        for (text, want) in [
            ("Example.COM", Some("example.com")),
            ("example.com.", Some("example.com")),
            ("a_b.example", Some("a_b.example")),
            ("127.0.0.1", Some("127.0.0.1")),
            ("[::1]", Some("::1")),
            ("::1", Some("::1")),
            ("[::ffff:127.0.0.1]", Some("127.0.0.1")),
            ("::ffff:7f00:1", Some("127.0.0.1")),
            ("2130706433", None),
            ("0x7f000001", None),
            ("0x7f.1", None),
            ("0177.0.0.1", None),
            ("127.1", None),
            ("127.0.0.1.", None),
            ("example.com..", None),
            ("exa\0mple.com", None),
            ("exämple.com", None),
            ("a b", None),
            ("-a.com", None),
            ("fe80::1%eth0", None),
            ("[127.0.0.1]", None),
            ("user@example.com", None),
            ("", None),
        ] {
            assert_eq!(Host::read(text).map(|host| host.to_string()).ok().as_deref(), want, "{text}");
        }
    }

    #[test]
    fn a_target_has_a_host_and_a_port() {
        for (text, usual, want) in [
            ("example.com:443", None, Some("example.com:443")),
            ("example.com", Some(80), Some("example.com:80")),
            ("[::1]:22", None, Some("[::1]:22")),
            ("[::1]", Some(80), Some("[::1]:80")),
            ("example.com", None, None),
            ("example.com:", Some(80), None),
            ("example.com:0", Some(80), None),
            ("example.com:+80", Some(80), None),
            ("example.com:99999", Some(80), None),
        ] {
            assert_eq!(Target::read(text, usual).map(|target| target.to_string()).ok().as_deref(), want, "{text}");
        }
        assert_eq!(Target::read("example.com:443", None).unwrap().pattern(), "example.com");
        assert_eq!(Target::read("example.com:8080", None).unwrap().pattern(), "example.com:8080");
    }
}
