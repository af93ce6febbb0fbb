//! Secrets stay secret whatever path leads to them and whatever their owner does to them. Settings stay settings.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use crate::support::{Client, Inside, Level, StartOptions, everywhere, text};

/// Replaces a file as programs save: by renaming a new one over it.
fn replace(path: &Path, content: &str) {
    let new = path.with_extension("new");
    std::fs::write(&new, content).unwrap();
    if let Ok(owner) = std::fs::metadata(path) {
        use std::os::unix::fs::MetadataExt;
        std::os::unix::fs::chown(&new, Some(owner.uid()), Some(owner.gid())).unwrap();
    }
    std::fs::rename(new, path).unwrap();
}

#[track_caller]
fn never_shown(inside: &mut Inside, command: &str) {
    let reply = inside.bash(command);
    assert!(!reply.text().contains("canary"), "{command}: {}", reply.text());
}

#[test]
fn a_secret_that_its_owner_replaces_stays_hidden() {
    everywhere("", &[], |inside| {
        let names = [
            ".claude.json",
            ".git-credentials",
            ".zsh_history",
            ".netrc",
            ".codex/auth.json",
            ".gemini/oauth_creds.json",
        ];
        let paths = names.map(|name| inside.home_file(name, "canary"));
        let shown = paths.each_ref().map(|path| text(path)).join(" ");
        never_shown(inside, &format!("cat {shown}"));
        for round in 0..3 {
            paths.iter().for_each(|path| replace(path, &format!("canary{round}")));
            never_shown(inside, &format!("cat {shown}"));
        }
    });
}

#[test]
fn a_running_command_cannot_read_a_secret_that_is_replaced_meanwhile() {
    for nobody in [false, true] {
        let mut inside = Inside::new(Level::Full, nobody, "", &[]);
        let secret = inside.home_file(".netrc", "canary");
        let watch = format!("until [ -e go ]; do cat {0} 2>/dev/null; done; cat {0}; ls -A ~", text(&secret));
        let watch = inside.client.start("bash", json!({ "command": watch }));
        for round in 0..20 {
            replace(&secret, &format!("canary{round}"));
        }
        inside.world.file("go", "");
        let seen = watch.reply().text();
        assert!(!seen.contains("canary") && !seen.contains("\n.netrc"), "{seen}");
    }
}

#[test]
fn a_secret_behind_a_link_is_hidden_by_both_paths() {
    everywhere("", &[], |inside| {
        let key = inside.outside_file("ssh/id_ed25519", "canary");
        let netrc = inside.outside_file("netrc", "canary");
        let hosts = inside.outside_file("config/gh/hosts.yml", "canary");
        let neighbour = inside.outside_file("config/git/ignore", "harmless");
        let home = inside.world.home();
        symlink(key.parent().unwrap(), home.join(".ssh")).unwrap();
        symlink(&netrc, home.join(".netrc")).unwrap();
        symlink(inside.world.outside().join("config"), home.join(".config")).unwrap();
        // A new server: the self-test has to pass with links, too.
        let config = text(&inside.world.outside().join("config.toml"));
        inside.reconnect(&["--config", &config]);
        let hello = inside.client.hello["instructions"].as_str().unwrap();
        let level = if inside.level == Level::Full { "level full" } else { "level landlock" };
        assert!(hello.contains(level), "{hello}\n{}", inside.client.log());
        for path in [&key, &netrc, &hosts] {
            never_shown(inside, &format!("cat {}", text(path)));
        }
        never_shown(inside, "cat ~/.ssh/id_ed25519 ~/.netrc ~/.config/gh/hosts.yml; cp -r ~/.ssh here; cat here/*");
        assert_eq!(inside.does(&format!("cat {} ~/.config/git/ignore", text(&neighbour))), "harmlessharmless");
    });
}

#[test]
fn a_link_that_comes_later_is_followed() {
    everywhere("", &[], |inside| {
        inside.does("true");
        let key = inside.outside_file("later/id_ed25519", "canary");
        symlink(key.parent().unwrap(), inside.world.home().join(".ssh")).unwrap();
        never_shown(inside, &format!("cat {} ~/.ssh/id_ed25519", text(&key)));
    });
}

/// The server runs in a mount namespace in which a second mount shows the home.
#[test]
fn a_second_mount_of_the_home_hides_its_secrets_too() {
    for level in ["auto", "landlock"] {
        let world = crate::support::World::new();
        std::fs::create_dir_all(world.home().join(".ssh")).unwrap();
        std::fs::create_dir_all(world.home().join(".aws")).unwrap();
        for name in [".ssh/id_ed25519", ".netrc", ".aws/credentials"] {
            std::fs::write(world.home().join(name), "canary").unwrap();
        }
        let (whole, part) = (world.outside().join("whole"), world.outside().join("part"));
        [&whole, &part].into_iter().for_each(|path| std::fs::create_dir(path).unwrap());
        let config = world.outside().join("config.toml");
        std::fs::write(&config, format!("[sandbox]\nlevel = \"{level}\"\n")).unwrap();
        let mount = format!(
            "mount --bind {home} {whole} && mount --bind {home}/.ssh {part} && exec \"$0\" \"$@\"",
            home = world.home().display(),
            whole = whole.display(),
            part = part.display(),
        );
        let words = ["unshare", "-m", "sh", "-c", &mount];
        let command = world.command_by(&words, &["--config", config.to_str().unwrap()]);
        let mut server = Client::connect(command, StartOptions::default());
        for path in ["whole/.ssh/id_ed25519", "whole/.netrc", "whole/.aws/credentials", "part/id_ed25519"] {
            let reply = server.bash(&format!("cat {}", world.outside().join(path).display()));
            assert!(!reply.text().contains("canary"), "{level}: {path}: {}", reply.text());
        }
        replace(&world.home().join(".netrc"), "canary2");
        let reply = server.bash(&format!("cat {}/.netrc ~/.netrc", whole.display()));
        assert!(!reply.text().contains("canary"), "{level}: {}", reply.text());
        // What a command writes by the other path is no more in the real home than what it writes by the first.
        server.bash(&format!("echo x > {}/new", whole.display()));
        assert!(!world.home().join("new").exists());
    }
}

#[test]
fn in_a_project_that_is_the_home_secrets_cannot_be_moved_or_linked() {
    everywhere("", &[], |inside| {
        inside.home_file(".config/gh/hosts.yml", "canary");
        inside.home_file(".cargo/credentials.toml", "canary");
        inside.home_file(".netrc", "canary");
        inside.home_file("work/f", "x");
        let home = text(&inside.world.home());
        let config = text(&inside.world.outside().join("config.toml"));
        inside.reconnect(&["--config", &config, "--project-dir", &home]);
        inside.does("echo y > ~/work/f && test -e ~/work/f");
        inside.bash("mv ~/.config ~/.c2; mv ~/.cargo ~/.cg; ln ~/.netrc ~/n; mv ~/.netrc ~/n2");
        let attacks = "cat ~/.config/gh/hosts.yml ~/.c2/gh/hosts.yml ~/.cg/credentials.toml ~/.cargo/credentials.toml ~/n ~/n2 ~/.netrc";
        never_shown(inside, attacks);
        let other = inside.client.call("bash", json!({"command": attacks, "session": "other"}));
        assert!(!other.text().contains("canary"), "{}", other.text());
        for path in [
            ".config/gh/hosts.yml",
            ".c2/gh/hosts.yml",
            ".cg/credentials.toml",
            ".cargo/credentials.toml",
            "n",
            "n2",
            ".netrc",
        ] {
            let view = inside.client.call("view", json!({"path": format!("{home}/{path}")}));
            assert!(!view.text().contains("canary"), "{path}: {}", view.text());
        }
        // The person may move and link them; the file tools still know them.
        let real = inside.world.home();
        std::fs::hard_link(real.join(".netrc"), real.join("linked")).unwrap();
        std::fs::rename(real.join(".cargo"), real.join("moved")).unwrap();
        for path in ["linked", "moved/credentials.toml"] {
            let view = inside.client.call("view", json!({"path": format!("{home}/{path}")}));
            assert!(view.is_error() && view.text().contains("access denied"), "{path}: {}", view.text());
        }
        let found = inside.client.call("grep", json!({"pattern": "canary", "path": home})).text();
        assert!(!found.contains("canary:") && !found.contains("netrc"), "{found}");
        replace(&real.join(".netrc"), "canary2");
        never_shown(inside, "cat ~/.netrc");
        assert!(!inside.client.call("view", json!({"path": format!("{home}/.netrc")})).text().contains("canary"));
    });
}

/// Files that agents and their tools keep, and what stays readable beside them.
#[test]
fn agents_and_tools_keep_their_secrets() {
    let secrets = [
        ".cline/data/settings/providers.json",
        ".local/share/opencode/auth.json",
        ".local/share/opencode/mcp-auth.json",
        ".qwen/oauth_creds.json",
        ".qwen/.env",
        ".qwen/settings.json",
        ".gemini/mcp-oauth-tokens.json",
        ".gemini/.env",
        ".gemini/settings.json",
        ".continue/.env",
        ".config/goose/secrets.yaml",
        ".codex/config.toml",
        ".config/opencode/opencode.json",
        ".cursor/mcp.json",
        ".config/Claude/claude_desktop_config.json",
        ".config/Code/User/globalStorage/state.vscdb",
        ".config/Cursor/User/globalStorage/state.vscdb",
        ".claude/history.jsonl",
        ".claude/projects/p/1.jsonl",
        ".config/argocd/config",
        ".config/stripe/config.toml",
        ".config/ngrok/ngrok.yml",
        ".config/configstore/x.json",
        ".config/.wrangler/config/default.toml",
        ".config/pypoetry/auth.toml",
        ".config/solana/id.json",
        ".cloudflared/cert.pem",
        ".tsh/keys/k",
        ".step/secrets/k",
        ".local/share/mkcert/rootCA-key.pem",
        ".android/adbkey",
        ".histfile",
        ".local/share/atuin/history.db",
        ".Xauthority",
        ".local/share/TelegramDesktop/tdata/key_data",
        ".ssh/id_rsa",
        ".ssh/work/key",
    ];
    let readable = [
        ".ssh/known_hosts",
        ".ssh/config",
        ".ssh/id_rsa.pub",
        ".gitconfig",
        ".claude/CLAUDE.md",
        ".codex/AGENTS.md",
        ".claude/skills/pdf/SKILL.md",
        ".config/git/ignore",
    ];
    everywhere("", &[], |inside| {
        secrets.iter().for_each(|name| drop(inside.home_file(name, "canary")));
        readable.iter().for_each(|name| drop(inside.home_file(name, "harmless\n")));
        let config = text(&inside.world.outside().join("config.toml"));
        inside.reconnect(&["--config", &config]);
        for name in secrets {
            never_shown(inside, &format!("cat ~/{name}"));
        }
        for name in readable {
            assert_eq!(inside.does(&format!("cat ~/{name}")), "harmless\n", "{name}");
        }
        // Kept in step.
        replace(&inside.world.home().join(".ssh/known_hosts"), "changed\n");
        if inside.level == Level::Full {
            assert_eq!(inside.does("cat ~/.ssh/known_hosts"), "changed\n");
        }
    });
}

#[test]
fn testudos_own_files_are_secret() {
    everywhere("", &[], |inside| {
        inside.does("echo planted > $TMPDIR/x; true");
        for path in [".local/state/testudo", ".cache/testudo/outputs"] {
            let listed = inside.bash(&format!("find ~/{path} -type f -exec head -c 100 {{}} + 2>/dev/null")).stdout();
            assert!(!listed.contains(&text(&inside.world.project())), "{listed}");
        }
        inside.cannot("cat ~/.local/state/testudo/homes/*/project");
    });
}

#[test]
fn a_person_can_reveal_secrets() {
    everywhere("reveal = [\"~/.netrc\", \"~/.ssh/id_work\", \"~/.npmrc\"]", &[], |inside| {
        inside.home_file(".netrc", "shown1\n");
        inside.home_file(".ssh/id_work", "shown2\n");
        inside.home_file(".ssh/id_home", "canary\n");
        inside.home_file(".npmrc", "_authToken=shown3\n");
        let config = text(&inside.world.outside().join("config.toml"));
        inside.reconnect(&["--config", &config]);
        assert_eq!(inside.does("cat ~/.netrc ~/.ssh/id_work ~/.npmrc"), "shown1\nshown2\n_authToken=shown3\n");
        never_shown(inside, "cat ~/.ssh/id_home");
    });
}

#[test]
fn a_secret_that_reads_as_missing_is_explained() {
    everywhere("", &[], |inside| {
        let secret = text(&inside.home_file(".netrc", "canary"));
        let reply = inside.bash(&format!("cat {secret}")).ok();
        assert!(
            reply.contains(&format!("[sandbox: {secret} holds credentials or keys, which commands cannot read")),
            "{reply}"
        );
        let missing = inside.bash("cat ~/.pgpass; cat ~/nothing").ok();
        assert!(!missing.contains("[sandbox"), "nothing is guessed: {missing}");
    });
}

#[test]
fn settings_are_shown_without_their_credentials_and_kept_in_step() {
    let files = [
        (
            ".npmrc",
            "registry=https://npm.corp.example/\n//npm.corp.example/:_authToken=canary\n",
            "https://npm.corp.example/",
        ),
        (
            ".config/pip/pip.conf",
            "[global]\nindex-url = https://u:canary@pypi.corp.example/simple\n",
            "https://pypi.corp.example/simple",
        ),
        (".pypirc", "[corp]\nrepository = https://p.corp.example\npassword = canary\n", "https://p.corp.example"),
        (
            ".m2/settings.xml",
            "<settings><mirrors><mirror><url>https://m.corp.example</url></mirror></mirrors><servers><server><password>canary</password></server></servers></settings>",
            "https://m.corp.example",
        ),
        (
            ".gradle/gradle.properties",
            "corpUrl=https://g.corp.example\ncorpPassword=canary\n",
            "https://g.corp.example",
        ),
        (
            ".nuget/NuGet/NuGet.Config",
            "<configuration><packageSources><add key=\"c\" value=\"https://n.corp.example\"/></packageSources><packageSourceCredentials><c><add key=\"ClearTextPassword\" value=\"canary\"/></c></packageSourceCredentials></configuration>",
            "https://n.corp.example",
        ),
        (".docker/config.json", "{\"auths\": {\"d.corp.example\": {\"auth\": \"canary\"}}}", "d.corp.example"),
        (
            ".cargo/config.toml",
            "[registries.c]\nindex = \"sparse+https://c.corp.example/\"\ntoken = \"canary\"\n",
            "https://c.corp.example/",
        ),
        (
            ".yarnrc.yml",
            "npmRegistryServer: \"https://y.corp.example\"\nnpmAuthToken: canary\n",
            "https://y.corp.example",
        ),
    ];
    for nobody in [false, true] {
        let mut inside = Inside::new(Level::Full, nobody, "", &[]);
        files.iter().for_each(|(name, content, _)| drop(inside.home_file(name, content)));
        for (name, _, setting) in files {
            let shown = inside.does(&format!("cat ~/{name}"));
            assert!(shown.contains(setting) && !shown.contains("canary"), "{name}: {shown}");
        }
        let npmrc = inside.world.home().join(".npmrc");
        std::fs::write(&npmrc, "registry=https://second.example/\n_auth=canary\n").unwrap();
        assert_eq!(inside.does("cat ~/.npmrc"), "registry=https://second.example/\n");
        replace(&npmrc, "registry=https://third.example/\n_auth=canary\n");
        assert_eq!(inside.does("cat ~/.npmrc"), "registry=https://third.example/\n");
        std::fs::remove_file(&npmrc).unwrap();
        inside.cannot("cat ~/.npmrc");
    }
}

#[test]
fn npm_and_pip_use_the_persons_registry_at_every_level() {
    everywhere("", &[], |inside| {
        inside.home_file(".npmrc", "registry=https://npm.corp.example/\n//npm.corp.example/:_authToken=canary\n");
        inside.home_file(".config/pip/pip.conf", "[global]\nindex-url = https://u:canary@pypi.corp.example/simple\n");
        let config = text(&inside.world.outside().join("config.toml"));
        inside.reconnect(&["--config", &config]);
        assert_eq!(inside.does("npm config get registry"), "https://npm.corp.example/\n");
        let pip = inside.does("/usr/bin/python3 -m pip config list 2>/dev/null");
        assert!(pip.contains("https://pypi.corp.example/simple") && !pip.contains("canary"), "{pip}");
        never_shown(inside, "cat ~/.npmrc ~/.config/pip/pip.conf; env");
        // A tool that has no variable is refused, not led elsewhere.
        if inside.level == Level::Landlock {
            let settings = inside.home_file(".m2/settings.xml", "<settings><password>canary</password></settings>");
            let refused = inside.cannot("cat ~/.m2/settings.xml");
            assert!(refused.contains(&format!("[sandbox: {} holds credentials", settings.display())), "{refused}");
        }
    });
}

/// At level landlock a file without credentials is readable. It is no longer when credentials come into it.
#[test]
fn settings_without_credentials_are_shown_as_they_are() {
    everywhere("", &[], |inside| {
        let path = inside.home_file(".cargo/config.toml", "[build]\njobs = 2 # two\n");
        assert_eq!(inside.does("cat ~/.cargo/config.toml"), "[build]\njobs = 2 # two\n");
        std::fs::write(&path, "[registries.c]\ntoken = \"canary\"\n").unwrap();
        never_shown(inside, "cat ~/.cargo/config.toml");
    });
}

#[test]
fn without_a_sandbox_nothing_is_hidden() {
    let world = crate::support::World::new();
    std::fs::write(world.home().join(".netrc"), "visible").unwrap();
    assert_eq!(world.server(&["--sandbox", "off"]).bash("cat ~/.netrc").stdout(), "visible");
}
