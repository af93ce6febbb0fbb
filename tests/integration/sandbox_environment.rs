//! The environment variables of commands.

use crate::support::World;

#[test]
fn secret_variables_stay_with_the_server() {
    let world = World::new();
    let config = world.outside().join("config.toml");
    std::fs::write(&config, "[env]\npass = [\"NPM_*\"]\n").unwrap();
    let mut command = world.command(&["--config", config.to_str().unwrap()]);
    let secrets = ["GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "SSH_AUTH_SOCK", "LD_PRELOAD_X", "LD_AUDIT", "BASH_ENV"];
    secrets.iter().for_each(|name| {
        command.env(name, "canary");
    });
    command.env("NPM_TOKEN", "allowed");
    let mut server = crate::support::Client::connect(command, crate::support::StartOptions::default());
    let environment = server.bash("env; cat /proc/self/environ").stdout();
    assert!(!environment.contains("canary"), "{environment}");
    assert!(environment.contains("NPM_TOKEN=allowed"), "{environment}");
    assert!(environment.contains("TESTUDO=1") && environment.contains("GIT_TERMINAL_PROMPT=0"), "{environment}");
}

#[test]
fn a_bare_environment_gets_what_a_login_shell_adds() {
    let world = World::new();
    std::fs::write(world.home().join(".profile"), "echo noise; export PATH=$HOME/tools:$PATH ADDED=yes MY_TOKEN=x\n")
        .unwrap();
    let mut command = world.command(&[]);
    command.env("PATH", "/usr/bin:/bin").env("SHELL", "/bin/sh");
    let mut server = crate::support::Client::connect(command, crate::support::StartOptions::default());
    let shown = server.bash("echo $PATH; echo $ADDED $MY_TOKEN").stdout();
    assert!(shown.starts_with(&format!("{}/tools:", world.home().display())), "{shown}");
    assert!(shown.ends_with("/bin\nyes\n"), "{shown}");
}
