//! What `testudo doctor` advises: one line for each shortcoming, with what to do about it.

use super::{audit, home, install};
use crate::config::Config;
use crate::control::Control;
use crate::exec::Shell;
use crate::sandbox::home::State;
use crate::sandbox::settings::HomeMode;
use crate::sandbox::{Level, Mode};
use crate::server::Enforcement;

/// Everything but the fixes for the sandbox's level, which `doctor` shows beside their reasons.
pub fn advice(config: &Config, found: &Enforcement) -> Vec<String> {
    let mut lines = Vec::new();
    if config.directories.has_no_project() {
        lines.push(
            "started in / or in the home directory, so file tools have no project: name one with --project-dir"
                .to_owned(),
        );
    }
    if let Err(reasons) = Control::try_out(&config.control_dirs) {
        lines.push(format!(
            "testudo ps, watch and approve will not find servers ({reasons}): make one of these directories writable"
        ));
    }
    lines.extend(audit::shortcoming(config));
    if let Shell::Posix(_) = Shell::find() {
        lines.push("arrays, [[ ]] and process substitution will not work in commands: install bash".to_owned());
    }
    if let Some((shortcoming, fix)) = crate::sandbox::landlock_shortcoming() {
        lines.push(format!("{shortcoming}: {fix}"));
    }
    lines.extend(private_home(config, found));
    lines.extend(install::shortcomings());
    lines
}

/// Nothing if the home is what the configuration says, or if only a higher level could change it.
fn private_home(config: &Config, found: &Enforcement) -> Option<String> {
    if config.sandbox.mode != Mode::WorkspaceWrite || config.sandbox.home == HomeMode::ReadOnly {
        return None;
    }
    let is_private = found.home.as_ref().is_some_and(|home| home.state == State::Private);
    if is_private {
        return home::fullness(config);
    }
    let reason = found.home_shortfall.as_ref().filter(|_| found.level == Level::Full)?;
    Some(format!(
        "commands cannot write to a home of their own ({reason}): keep XDG_STATE_HOME on a file system that overlays can \
         use, such as ext4, xfs or btrfs"
    ))
}
