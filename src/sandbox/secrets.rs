//! Files that no command needs to read: credentials, keys, histories. Level `full` hides them; level `landlock` does not
//! grant access to them.

use std::path::{Path, PathBuf};

/// Below each home directory.
const IN_HOME: &[&str] = &[
    // Keys to other machines.
    ".ssh",
    ".gnupg",
    ".pki",
    ".putty",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".password-store",
    ".config/op",
    ".config/Bitwarden",
    ".config/keepassxc",
    ".age",
    ".config/age",
    ".config/sops",
    // Clouds and clusters.
    ".aws",
    ".azure",
    ".config/gcloud",
    ".boto",
    ".oci",
    ".config/doctl",
    ".config/hcloud",
    ".config/scw",
    ".config/rclone",
    ".s3cfg",
    ".kube",
    ".config/helm",
    ".terraform.d/credentials.tfrc.json",
    ".terraformrc",
    ".pulumi/credentials.json",
    ".vault-token",
    ".fly",
    ".config/heroku",
    ".config/netlify",
    ".config/vercel",
    ".local/share/com.vercel.cli",
    // Containers.
    ".docker",
    ".config/containers/auth.json",
    ".colima",
    ".lima",
    ".orbstack",
    // Registries.
    ".npmrc",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".nuget/NuGet",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".config/hub",
    ".cache/huggingface/token",
    ".huggingface/token",
    ".netrc",
    "_netrc",
    // Git and its forges.
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/glab-cli",
    // Databases.
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".config/dbeaver",
    // Browsers and mail.
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
    ".config/Slack",
    ".config/discord",
    ".config/Signal",
    ".thunderbird",
    "snap/firefox",
    "snap/chromium",
    ".var/app/org.mozilla.firefox",
    // Histories, because people paste passwords.
    ".bash_history",
    ".zsh_history",
    ".local/share/fish/fish_history",
    ".python_history",
    ".node_repl_history",
    ".psql_history",
    ".mysql_history",
    ".sqlite_history",
    ".rediscli_history",
    ".irb_history",
    ".lesshst",
    ".viminfo",
    // Agents that keep tokens.
    ".claude.json",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".config/github-copilot",
    // Our own.
    ".config/testudo",
    ".local/state/testudo",
    ".cache/testudo",
];

/// Files that root can read but does not need for work in a project.
const FOR_ROOT: &[&str] = &[
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssl/private",
    "/etc/krb5.keytab",
    "/etc/NetworkManager/system-connections",
    "/etc/wpa_supplicant",
    "/etc/rancher",
    "/etc/kubernetes",
    "/var/lib/docker",
    "/var/lib/containerd",
    "/var/lib/kubelet",
    "/var/lib/NetworkManager",
    "/var/lib/sss",
    "/var/spool/cron",
];
/// The directory of the machine's own ssh keys. The other files in it are configuration, which commands may read.
const HOST_KEYS: &str = "/etc/ssh";

/// Every secret of the user that we run as. `home` is the home directory of the environment, which may differ from the one
/// in the user database. `own` are testudo's own files. A path may be a symbolic link: the code that hides it follows it.
pub fn paths(home: Option<&Path>, own: &[PathBuf]) -> Vec<PathBuf> {
    let root = rustix::process::geteuid().is_root();
    let user = rustix::process::getuid().as_raw();
    let database = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mut homes: Vec<PathBuf> = home.into_iter().map(Path::to_owned).chain(homes(&database, user, root)).collect();
    homes.retain(|home| home.is_absolute() && home != Path::new("/"));
    let homes = homes.iter().filter_map(|home| home.canonicalize().ok());
    let mut paths: Vec<PathBuf> =
        homes.flat_map(|home| IN_HOME.iter().map(move |name| home.join(name)).collect::<Vec<_>>()).collect();
    paths.extend(own.iter().cloned());
    // What such a file held before `testudo install` changed it.
    let backups = paths.iter().map(|path| PathBuf::from(format!("{}.testudo-backup", path.display())));
    let backups: Vec<PathBuf> = backups.filter(|backup| backup.exists()).collect();
    paths.extend(backups);
    if root {
        paths.extend(FOR_ROOT.iter().map(PathBuf::from));
        paths.extend(host_keys(Path::new(HOST_KEYS)));
    }
    paths.sort();
    paths.dedup();
    paths
}

/// The home of the user; for root all homes, because root can read them all.
fn homes(database: &str, user: u32, everybody: bool) -> Vec<PathBuf> {
    let line = |line: &str| {
        let mut fields = line.split(':').skip(2);
        let id: u32 = fields.next()?.parse().ok()?;
        let home = PathBuf::from(fields.nth(2)?);
        (id == user || everybody && (id == 0 || id >= 1000)).then_some(home)
    };
    let mut homes: Vec<PathBuf> = database.lines().filter_map(line).filter(|home| home.is_dir()).collect();
    homes.sort();
    homes.dedup();
    homes
}

fn host_keys(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let private = |name: &str| name.starts_with("ssh_host_") && name.ends_with("_key");
    entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(private))
        .map(|entry| entry.path())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_has_secrets_in_every_home_and_a_user_in_their_own() {
        let database = "root:x:0:0:root:/:/bin/sh\nsys:x:3:3::/usr:/bin/sh\nme:x:1000:1000::/etc:/bin/sh\nyou:x:1001:1::/bin:/bin/sh\n";
        assert_eq!(homes(database, 1000, false), [PathBuf::from("/etc")]);
        assert_eq!(homes(database, 0, true), ["/", "/bin", "/etc"].map(PathBuf::from));
    }

    #[test]
    fn the_environments_home_and_our_own_files_count() {
        let world = tempfile::tempdir().unwrap();
        let home = world.path().canonicalize().unwrap();
        let backup = home.join(".claude.json.testudo-backup");
        std::fs::write(&backup, "").unwrap();
        let paths = paths(Some(&home), &["/x/audit.jsonl".into()]);
        assert!(paths.contains(&backup));
        assert!(paths.contains(&home.join(".ssh")));
        assert!(paths.contains(&"/x/audit.jsonl".into()));
    }
}
