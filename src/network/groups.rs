//! Hosts that belong together, under one name: what a package manager needs to install packages.

use super::{HostPattern, Listed, Rules, Target};

/// `@npm` and its kin.
#[derive(Debug, Eq, PartialEq)]
pub struct Group {
    pub name: &'static str,
    pub what: &'static str,
    /// Each one is a pattern as in `network.allow`.
    pub hosts: &'static [&'static str],
}

pub const ALL: &[Group] = &[
    Group {
        name: "@npm",
        what: "the registries of npm and yarn, and the downloads of Node.js",
        hosts: &["registry.npmjs.org", "registry.yarnpkg.com", "repo.yarnpkg.com", "nodejs.org"],
    },
    Group {
        name: "@pypi",
        what: "the Python Package Index, for pip, uv and poetry",
        hosts: &["pypi.org", "files.pythonhosted.org"],
    },
    Group {
        name: "@crates",
        what: "crates.io for cargo, and the toolchains of rustup",
        hosts: &["crates.io", "index.crates.io", "static.crates.io", "static.rust-lang.org"],
    },
    Group {
        name: "@go",
        what: "the module proxy, the checksum database and the toolchains of Go",
        hosts: &["proxy.golang.org", "sum.golang.org", "storage.googleapis.com", "go.dev", "dl.google.com"],
    },
    Group {
        name: "@debian",
        what: "the archives of Debian and Ubuntu, for apt",
        hosts: &[
            "deb.debian.org",
            "ftp.debian.org",
            "security.debian.org",
            "archive.ubuntu.com",
            "*.archive.ubuntu.com",
            "security.ubuntu.com",
            "ports.ubuntu.com",
        ],
    },
    Group {
        name: "@github",
        what: "GitHub: git over https and ssh, the API, releases, raw files and packages",
        hosts: &[
            "github.com",
            "ssh.github.com",
            "api.github.com",
            "codeload.github.com",
            "uploads.github.com",
            "gist.github.com",
            "*.githubusercontent.com",
            "ghcr.io",
        ],
    },
];

pub fn find(name: &str) -> Option<&'static Group> {
    ALL.iter().find(|group| group.name == name)
}

/// The group to which a host belongs.
pub fn with(target: &Target) -> Option<&'static Group> {
    ALL.iter().find(|group| Rules::new(&[HostPattern::Group(group)], &[]).judge(target) == Listed::Allowed)
}

/// What `testudo explain @npm` prints.
pub fn lines(group: &Group) -> Vec<String> {
    let hosts = group.hosts.iter().map(|host| format!("  {host}"));
    [format!("{}: {}", group.name, group.what)].into_iter().chain(hosts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_of_a_group_is_a_pattern() {
        for group in ALL {
            for host in group.hosts {
                assert!(host.parse::<HostPattern>().is_ok(), "{host}");
            }
        }
    }

    #[test]
    fn a_host_is_found_in_its_group() {
        let group = |text: &str| with(&Target::read(text, None).unwrap()).map(|group| group.name);
        assert_eq!(group("files.pythonhosted.org:443"), Some("@pypi"));
        assert_eq!(group("raw.githubusercontent.com:443"), Some("@github"));
        assert_eq!(group("pypi.org:8443"), None);
        assert_eq!(group("example.org:443"), None);
    }
}
