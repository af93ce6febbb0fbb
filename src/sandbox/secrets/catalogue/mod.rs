//! What counts as a secret in a home directory, grouped by reason. Names are exact, because a name is masked before the
//! file exists, and a home directory may be too large to be listed.

mod hidden;

use super::super::cleaning::Format::{self, Assignments, Bundler, Json, Toml, Xml, Yaml};

pub use hidden::HIDDEN;

/// Directories that are hidden except for these entries. `*` matches any part of a name.
pub const HIDDEN_BUT: &[(&str, &[&str])] = &[
    (".ssh", &["config", "config.d", "known_hosts*", "*.pub", "authorized_keys*", "allowed_signers"]),
    (".docker", &["cli-plugins"]),
    (".claude", INSTRUCTIONS),
    (".codex", INSTRUCTIONS),
    (".gemini", INSTRUCTIONS),
    (".qwen", INSTRUCTIONS),
    (".cline", INSTRUCTIONS),
    (".continue", INSTRUCTIONS),
    (".cursor", INSTRUCTIONS),
    (".copilot", INSTRUCTIONS),
    (".codeium", INSTRUCTIONS),
    (".windsurf", INSTRUCTIONS),
    (".roo", INSTRUCTIONS),
    (".kilocode", INSTRUCTIONS),
    (".kiro", INSTRUCTIONS),
    (".amazonq", INSTRUCTIONS),
    (".opencode", INSTRUCTIONS),
    (".crush", INSTRUCTIONS),
    (".factory", INSTRUCTIONS),
    (".augment", INSTRUCTIONS),
    (".amp", INSTRUCTIONS),
    (".goose", INSTRUCTIONS),
    (".junie", INSTRUCTIONS),
    (".openhands", INSTRUCTIONS),
    (".trae", INSTRUCTIONS),
    (".grok", INSTRUCTIONS),
    (".config/opencode", INSTRUCTIONS),
    (".config/goose", INSTRUCTIONS),
    (".config/crush", INSTRUCTIONS),
    (".config/amp", INSTRUCTIONS),
    (".config/agents", INSTRUCTIONS),
];

/// An agent's home holds credentials, conversations and the tokens of its MCP servers under ever new names. Only what
/// people write for agents to read is shown.
const INSTRUCTIONS: &[&str] =
    &["*.md", "skills", "commands", "agents", "prompts", "rules", "memories", "output-styles", "plugins", "recipes"];

/// Files with settings and credentials, the format, and the variable by which their tool finds them elsewhere.
pub const MIXED: &[(&str, Format, Option<&str>)] = &[
    (".npmrc", Assignments, Some("NPM_CONFIG_USERCONFIG")),
    (".config/pnpm/rc", Assignments, None),
    (".config/pnpm/auth.ini", Assignments, None),
    (".yarnrc", Assignments, None),
    (".yarnrc.yml", Yaml, None),
    (".bunfig.toml", Toml, None),
    (".config/.bunfig.toml", Toml, None),
    (".pypirc", Assignments, None),
    (".pip/pip.conf", Assignments, Some("PIP_CONFIG_FILE")),
    (".config/pip/pip.conf", Assignments, Some("PIP_CONFIG_FILE")),
    (".config/uv/uv.toml", Toml, Some("UV_CONFIG_FILE")),
    (".config/pypoetry/config.toml", Toml, None),
    (".config/pdm/config.toml", Toml, Some("PDM_CONFIG_FILE")),
    (".condarc", Yaml, Some("CONDARC")),
    (".m2/settings.xml", Xml, None),
    (".gradle/gradle.properties", Assignments, None),
    (".nuget/NuGet/NuGet.Config", Xml, None),
    (".config/NuGet/NuGet.Config", Xml, None),
    (".docker/config.json", Json, Some("DOCKER_CONFIG")),
    (".cargo/config.toml", Toml, None),
    (".cargo/config", Toml, None),
    (".bundle/config", Bundler, Some("BUNDLE_USER_CONFIG")),
    (".composer/config.json", Json, None),
    (".config/composer/config.json", Json, None),
    (".config/go/env", Assignments, Some("GOENV")),
];

/// Variables that move a part of the home directory elsewhere.
pub const MOVED: &[(&str, &str)] = &[
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
    ("XDG_STATE_HOME", ".local/state"),
    ("XDG_CACHE_HOME", ".cache"),
    ("CARGO_HOME", ".cargo"),
    ("GNUPGHOME", ".gnupg"),
    ("DOCKER_CONFIG", ".docker"),
    ("CLAUDE_CONFIG_DIR", ".claude"),
    ("CODEX_HOME", ".codex"),
    ("GEMINI_CONFIG_DIR", ".gemini"),
    ("GRADLE_USER_HOME", ".gradle"),
    ("AZURE_CONFIG_DIR", ".azure"),
    ("CLOUDSDK_CONFIG", ".config/gcloud"),
    ("GH_CONFIG_DIR", ".config/gh"),
    ("GLAB_CONFIG_DIR", ".config/glab-cli"),
    ("PASSWORD_STORE_DIR", ".password-store"),
    ("HF_TOKEN_PATH", ".cache/huggingface/token"),
    ("AWS_SHARED_CREDENTIALS_FILE", ".aws"),
    ("AWS_CONFIG_FILE", ".aws"),
    ("KUBECONFIG", ".kube"),
    ("NETRC", ".netrc"),
    ("PGPASSFILE", ".pgpass"),
    ("HISTFILE", ".bash_history"),
    ("XAUTHORITY", ".Xauthority"),
    ("TF_CLI_CONFIG_FILE", ".terraformrc"),
    ("BOTO_CONFIG", ".boto"),
    ("NPM_CONFIG_USERCONFIG", ".npmrc"),
    ("npm_config_userconfig", ".npmrc"),
    ("PIP_CONFIG_FILE", ".config/pip/pip.conf"),
    ("UV_CONFIG_FILE", ".config/uv/uv.toml"),
    ("BUNDLE_USER_CONFIG", ".bundle/config"),
];

/// Files that root can read but does not need for work in a project.
pub const FOR_ROOT: &[&str] = &[
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
    "/etc/letsencrypt",
    "/etc/wireguard",
    "/etc/openvpn",
    "/var/lib/docker",
    "/var/lib/containerd",
    "/var/lib/kubelet",
    "/var/lib/NetworkManager",
    "/var/lib/sss",
    "/var/spool/cron",
];

/// The directory of the machine's own ssh keys. The other files in it are configuration, which commands may read.
pub const HOST_KEYS: &str = "/etc/ssh";
