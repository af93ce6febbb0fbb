//! The variables by which commands find the proxy.

use std::path::Path;

/// Its port in a network of the session's own.
pub const PORT: u16 = 3128;

/// By which programs find a proxy. In mode `hosts` the person's own proxy is out of reach, so theirs are replaced.
const PROXIES: [&str; 7] =
    ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy"];
const NO_PROXY: &str = "NO_PROXY";
/// Hosts of the session itself.
const OWN_HOSTS: &str = "localhost,127.0.0.1,::1";

/// `program` is our own, for ssh.
pub fn all(port: u16, program: Option<&Path>) -> Vec<(String, String)> {
    let url = format!("http://127.0.0.1:{port}");
    let mut variables: Vec<(String, String)> = PROXIES
        .iter()
        .chain([&NO_PROXY])
        .map(|name| {
            let value = if name.eq_ignore_ascii_case(NO_PROXY) { OWN_HOSTS } else { &url };
            ((*name).to_owned(), value.to_owned())
        })
        .collect();
    // Node 24 and newer follow the others only with this one.
    variables.push(("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned()));
    variables.push(("RSYNC_PROXY".to_owned(), format!("127.0.0.1:{port}")));
    if let Some(command) = ssh_command(port, program) {
        variables.push(("GIT_SSH_COMMAND".to_owned(), format!("ssh -o ProxyCommand='{command}'")));
    }
    variables
}

/// The `ProxyCommand` of ssh.
pub fn ssh_command(port: u16, program: Option<&Path>) -> Option<String> {
    let program = program.and_then(Path::to_str).filter(|program| is_plain(program))?;
    Some(super::ssh_tunnel::command(program, port))
}

/// Whether a shell and ssh take it as it is.
fn is_plain(path: &str) -> bool {
    path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-+@".contains(&byte))
}

/// Whether a variable of the person names a proxy.
pub fn names_proxy(name: &str) -> bool {
    PROXIES.contains(&name) || name == NO_PROXY
}

/// Whether it is one of those that [`all`] sets.
pub fn is_one(name: &str) -> bool {
    names_proxy(name) || ["NODE_USE_ENV_PROXY", "RSYNC_PROXY", "GIT_SSH_COMMAND"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_cases_are_set_and_ssh_gets_its_command() {
        let all = all(3128, Some(Path::new("/usr/bin/testudo")));
        let get = |name: &str| all.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        for name in ["http_proxy", "HTTPS_PROXY", "ALL_PROXY"] {
            assert_eq!(get(name), Some("http://127.0.0.1:3128"), "{name}");
        }
        assert_eq!(get("no_proxy"), Some("localhost,127.0.0.1,::1"));
        assert_eq!(
            get("GIT_SSH_COMMAND"),
            Some("ssh -o ProxyCommand='/usr/bin/testudo __ssh-tunnel 127.0.0.1:3128 %h %p'")
        );
        let odd = super::all(3128, Some(Path::new("/a b/testudo")));
        assert!(!odd.iter().any(|(name, _)| name == "GIT_SSH_COMMAND"));
    }
}
