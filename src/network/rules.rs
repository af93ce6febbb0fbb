use std::net::IpAddr;

use super::address;
use super::host::{Host, Target};
use super::pattern::{HostPattern, OnePattern};

/// The hosts that commands may reach, and those that they may not.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    allow: Vec<OnePattern>,
    deny: Vec<OnePattern>,
}

/// What the lists say about a host.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Listed {
    Allowed,
    /// By this pattern.
    Denied(String),
    Nowhere,
}

impl Rules {
    pub fn new(allow: &[HostPattern], deny: &[HostPattern]) -> Self {
        let each = |patterns: &[HostPattern]| patterns.iter().flat_map(HostPattern::each).collect();
        Self { allow: each(allow), deny: each(deny) }
    }

    /// The same, with more hosts allowed.
    #[must_use]
    pub fn and_allow(&self, more: &[HostPattern]) -> Self {
        let mut rules = self.clone();
        rules.allow.extend(more.iter().flat_map(HostPattern::each));
        rules
    }

    pub fn judge(&self, target: &Target) -> Listed {
        let denying = self.deny.iter().find(|one| one.matches(&target.host) && one.denies_port(target.port));
        if let Some(denying) = denying {
            return Listed::Denied(denying.to_string());
        }
        let allows = |one: &OnePattern| one.matches(&target.host) && one.allows_port(target.port);
        if self.allow.iter().any(allows) { Listed::Allowed } else { Listed::Nowhere }
    }

    /// Whether a connection to this host may go to this address. `asked` says that a person has approved the host. The error
    /// says why not.
    pub fn check_address(&self, target: &Target, found: IpAddr, asked: bool) -> Result<(), String> {
        let denying = self.deny.iter().find(|one| one.names_address(found) && one.denies_port(target.port));
        if let Some(denying) = denying {
            return Err(format!("its address is {found}, which network.deny names ({denying})"));
        }
        let Some(kind) = address::special(found) else { return Ok(()) };
        let own_name =
            |one: &OnePattern| one.names_localhost() && one.matches(&target.host) && found.to_canonical().is_loopback();
        let named = |one: &OnePattern| (one.names_address(found) || own_name(one)) && one.allows_port(target.port);
        // A person who was asked about an address has seen it.
        if asked && matches!(target.host, Host::Address(_)) || self.allow.iter().any(named) {
            return Ok(());
        }
        let pattern = Target { host: Host::Address(found.to_canonical()), port: target.port }.pattern();
        Err(format!(
            "its address is {found}, {kind}, which has to be named as such; --allow-host {pattern} would allow it (network.allow)"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(allow: &[&str], deny: &[&str]) -> Rules {
        let read = |list: &[&str]| list.iter().map(|text| text.parse().unwrap()).collect::<Vec<HostPattern>>();
        Rules::new(&read(allow), &read(deny))
    }

    fn target(text: &str) -> Target {
        Target::read(text, None).unwrap()
    }

    #[test]
    fn a_denial_wins_and_a_group_is_all_of_its_hosts() {
        let rules = rules(&["@npm", "*.example.com"], &["bad.example.com", "worse.example.com:443"]);
        for (host, listed) in [
            ("registry.npmjs.org:443", Listed::Allowed),
            ("good.example.com:443", Listed::Allowed),
            ("bad.example.com:80", Listed::Denied("bad.example.com".to_owned())),
            ("worse.example.com:443", Listed::Denied("worse.example.com:443".to_owned())),
            ("worse.example.com:80", Listed::Allowed),
            ("elsewhere.org:443", Listed::Nowhere),
            ("good.example.com:8443", Listed::Nowhere),
        ] {
            assert_eq!(rules.judge(&target(host)), listed, "{host}");
        }
    }

    #[test]
    fn an_inner_address_has_to_be_named_as_such() {
        let rules =
            rules(&["*", "intra.net:8443", "10.0.0.0/8", "10.0.0.0/8:8443", "localhost:80"], &["93.184.216.34"]);
        for (host, address, reachable) in [
            ("example.com:443", "1.1.1.1", true),
            ("example.com:443", "127.0.0.1", false),
            ("example.com:443", "169.254.169.254", false),
            ("example.com:443", "::ffff:192.168.0.1", false),
            ("example.com:443", "10.0.0.1", true),
            ("intra.net:8443", "10.0.0.1", true),
            ("intra.net:9000", "10.0.0.1", false),
            ("localhost:80", "127.0.0.1", true),
            ("localhost:443", "127.0.0.1", false),
            ("example.com:443", "93.184.216.34", false),
            ("127.0.0.1:443", "127.0.0.1", false),
        ] {
            let checked = rules.check_address(&target(host), address.parse().unwrap(), false);
            assert_eq!(checked.is_ok(), reachable, "{host} {address} {checked:?}");
        }
        let approved = |host: &str| rules.check_address(&target(host), "127.0.0.1".parse().unwrap(), true).is_ok();
        assert!(approved("127.0.0.1:443") && !approved("example.com:443"));
    }
}
