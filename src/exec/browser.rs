use std::ffi::OsString;
use std::process::{Command, Stdio};

/// The programs that open an address in the person's browser, on one desktop or another.
const OPENERS: [&str; 4] = ["xdg-open", "gio", "wslview", "open"];

/// Opens an address in the browser of the person to whom this environment belongs. Returns `false` if there is no program
/// that could.
pub fn open(address: &str, environment: &[(OsString, OsString)]) -> bool {
    let variable =
        |name: &str| environment.iter().find(|(known, _)| known == name).and_then(|(_, value)| value.to_str());
    let chosen = variable("BROWSER").filter(|name| !name.is_empty() && !name.contains([' ', ':', '%']));
    // Without a display, some of them would open a browser in this very terminal.
    let has_display = ["DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME"].iter().any(|name| variable(name).is_some());
    let openers = OPENERS.iter().filter(|_| has_display || cfg!(target_os = "macos")).copied();
    chosen.into_iter().chain(openers).any(|opener| {
        let words: &[&str] = if opener == "gio" { &["open", address] } else { &[address] };
        let mut command = Command::new(opener);
        command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        match command.spawn() {
            Ok(mut child) => {
                std::thread::spawn(move || child.wait());
                true
            }
            Err(_) => false,
        }
    })
}
