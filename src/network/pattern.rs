use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};

use super::groups::{self, Group};
use super::host::{Host, USUAL_PORTS, is_name};
use crate::base::spelling;

/// One entry of `network.allow` or `network.deny`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum HostPattern {
    Group(&'static Group),
    One(OnePattern),
}

/// A name, the names below one, or addresses; and a port.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OnePattern {
    pub hosts: Hosts,
    /// Not set: the usual ports where it allows, every port where it denies.
    pub port: Option<u16>,
    text: String,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Hosts {
    Every,
    Name(String),
    /// Every name that ends with this one, after a dot.
    Below(String),
    /// Addresses that begin with so many bits of this one.
    Addresses(IpAddr, u8),
}

#[derive(Clone, Debug, thiserror::Error, Eq, PartialEq)]
#[error("{text:?} names no host: {reason}")]
pub struct PatternError {
    text: String,
    reason: String,
}

impl HostPattern {
    /// A group stands for several patterns.
    pub fn each(&self) -> Vec<OnePattern> {
        match self {
            Self::One(one) => vec![one.clone()],
            Self::Group(group) => group.hosts.iter().filter_map(|text| one(text).ok()).collect(),
        }
    }
}

impl FromStr for HostPattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let error = |reason: String| PatternError { text: text.to_owned(), reason };
        let trimmed = text.trim();
        if trimmed.starts_with('@') {
            let names = || groups::ALL.iter().map(|group| group.name);
            return groups::find(trimmed).map(Self::Group).ok_or_else(|| {
                error(match spelling::nearest(trimmed, names()) {
                    Some(near) => format!("there is no such group; did you mean {near}?"),
                    None => {
                        format!("there is no such group; the groups are {}", names().collect::<Vec<_>>().join(", "))
                    }
                })
            });
        }
        one(trimmed).map(Self::One).map_err(error)
    }
}

fn one(text: &str) -> Result<OnePattern, String> {
    const HINT: &str = "write NAME, *.NAME or an address, with :PORT for another port than 80, 443 and 22";
    if text.contains("://") {
        return Err(format!("it is a URL; {HINT}"));
    }
    let wrong = |reason: &str| format!("{reason}; {HINT}");
    let (hosts, port) = match text.rsplit_once(':') {
        Some((hosts, port)) if !hosts.contains(':') || hosts.ends_with(']') => {
            let port = port.parse::<u16>().ok().filter(|port| *port > 0);
            (hosts, Some(port.ok_or_else(|| wrong("its port is no number from 1 to 65535"))?))
        }
        _ => (text, None),
    };
    let hosts = match (hosts, hosts.strip_prefix("*."), hosts.split_once('/')) {
        ("*", ..) => Hosts::Every,
        (_, Some(name), _) if is_name(name) => Hosts::Below(name.to_ascii_lowercase()),
        (_, _, Some((address, bits))) => {
            let Ok(Host::Address(address)) = Host::read(address) else { return Err(wrong("it is no address")) };
            let most = if address.is_ipv4() { 32 } else { 128 };
            let bits = bits.parse().ok().filter(|bits| *bits <= most);
            Hosts::Addresses(address, bits.ok_or_else(|| wrong("its length is no number of bits"))?)
        }
        _ => match Host::read(hosts).map_err(wrong)? {
            Host::Name(name) => Hosts::Name(name),
            Host::Address(address) => Hosts::Addresses(address, if address.is_ipv4() { 32 } else { 128 }),
        },
    };
    Ok(OnePattern { hosts, port, text: text.to_owned() })
}

impl OnePattern {
    pub fn allows_port(&self, port: u16) -> bool {
        self.port.map_or(USUAL_PORTS.contains(&port), |own| own == port)
    }

    pub fn denies_port(&self, port: u16) -> bool {
        self.port.is_none_or(|own| own == port)
    }

    pub fn matches(&self, host: &Host) -> bool {
        match (&self.hosts, host) {
            (Hosts::Every, _) => true,
            (Hosts::Name(own), Host::Name(name)) => own == name,
            (Hosts::Below(own), Host::Name(name)) => {
                name.strip_suffix(own.as_str()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            (Hosts::Addresses(..), Host::Address(address)) => self.names_address(*address),
            _ => false,
        }
    }

    /// Whether it names this very address, not only a name that leads to it.
    pub fn names_address(&self, address: IpAddr) -> bool {
        let Hosts::Addresses(own, bits) = self.hosts else { return false };
        match (own, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differ = own.to_bits() ^ other.to_bits();
                differ.checked_shr(32 - u32::from(bits)).unwrap_or(0) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                let differ = own.to_bits() ^ other.to_bits();
                differ.checked_shr(128 - u32::from(bits)).unwrap_or(0) == 0
            }
            _ => false,
        }
    }

    /// Whether it names this machine by the name that it has for itself.
    pub fn names_localhost(&self) -> bool {
        matches!(&self.hosts, Hosts::Name(name) if name == "localhost" || name.ends_with(".localhost"))
    }
}

impl std::fmt::Display for HostPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Group(group) => f.write_str(group.name),
            Self::One(one) => one.fmt(f),
        }
    }
}

impl std::fmt::Display for OnePattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for HostPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_whole_labels_and_its_own_ports() {
        for (pattern, host, port, matches) in [
            ("example.com", "example.com", 443, true),
            ("Example.com", "EXAMPLE.com.", 22, true),
            ("example.com", "example.com", 8080, false),
            ("example.com:8080", "example.com", 8080, true),
            ("example.com:8080", "example.com", 443, false),
            ("example.com", "www.example.com", 443, false),
            ("*.example.com", "www.example.com", 443, true),
            ("*.example.com", "a.b.example.com", 443, true),
            ("*.example.com", "example.com", 443, false),
            ("*.example.com", "evilexample.com", 443, false),
            ("example.com", "example.com.evil.org", 443, false),
            ("*", "anything.org", 443, true),
            ("10.0.0.0/8", "10.1.2.3", 443, true),
            ("10.0.0.0/8", "11.1.2.3", 443, false),
            ("0.0.0.0/0", "11.1.2.3", 443, true),
            ("[::1]:80", "::1", 80, true),
            ("127.0.0.1", "::ffff:127.0.0.1", 80, true),
            ("fd00::/8", "fd12::1", 443, true),
        ] {
            let HostPattern::One(one) = pattern.parse().unwrap() else { panic!("{pattern}") };
            let matched = one.matches(&Host::read(host).unwrap()) && one.allows_port(port);
            assert_eq!(matched, matches, "{pattern} {host}:{port}");
        }
    }

    #[test]
    fn what_names_no_host_is_refused_with_the_reason() {
        for (text, words) in [
            ("https://example.com", "it is a URL"),
            ("exa mple", "no host name"),
            ("example.com:http", "its port"),
            ("example.com:0", "its port"),
            ("0x7f.1", "unusual form"),
            ("10.0.0.0/33", "number of bits"),
            ("a.*.com", "no host name"),
            ("@nmp", "did you mean @npm?"),
            ("", "no host name"),
        ] {
            let error = text.parse::<HostPattern>().unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
