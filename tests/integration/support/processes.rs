//! The processes of this machine, read from `/proc` and not from what the server says about them.

/// Living processes that have the word as an argument. A shell that only has it in its text, and may not have come to it yet, is
/// not one of them.
pub fn with_word(word: &str) -> Vec<u32> {
    all()
        .into_iter()
        .filter(|pid| alive(*pid) && command_line(*pid).split('\0').any(|argument| argument == word))
        .collect()
}

pub fn alive(pid: u32) -> bool {
    stat(pid).is_some_and(|(state, _)| state != 'Z' && state != 'X')
}

/// All descendants of a process, zombies included.
pub fn descendants(root: u32) -> Vec<u32> {
    let parents: Vec<(u32, u32)> = all().into_iter().filter_map(|pid| Some((pid, stat(pid)?.1))).collect();
    let mut found = Vec::new();
    let mut next = vec![root];
    while let Some(parent) = next.pop() {
        for (pid, _) in parents.iter().filter(|(_, of)| *of == parent) {
            found.push(*pid);
            next.push(*pid);
        }
    }
    found
}

/// The shells that wait below this server, by the pid that each of them has in its own namespace.
pub fn waiting_shells(server: u32) -> Vec<String> {
    let inner_pid = |pid: u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = |name: &str| Some(status.lines().find_map(|line| line.strip_prefix(name))?.trim().to_owned());
        (line("Name:")? == "bash").then(|| line("NSpid:"))??.split_whitespace().last().map(str::to_owned)
    };
    descendants(server).into_iter().filter_map(inner_pid).collect()
}

fn all() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

fn command_line(pid: u32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn stat(pid: u32) -> Option<(char, u32)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}
