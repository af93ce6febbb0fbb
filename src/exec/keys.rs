//! Keys by tmux's names, as the bytes a terminal sends for them.

/// Why a key cannot be sent.
#[derive(Debug, thiserror::Error, Eq, PartialEq)]
#[error("unknown key {0:?}; keys have tmux's names, such as Enter, Escape, Tab, BSpace, Up, PageUp, F1, C-c, M-x")]
pub struct UnknownKey(String);

/// `application` is the mode in which full-screen programs expect their cursor keys.
pub fn bytes(name: &str, application: bool) -> Result<Vec<u8>, UnknownKey> {
    let unknown = || UnknownKey(name.to_owned());
    if let Some(rest) = strip(name, ["C-", "^"]).filter(|rest| !rest.is_empty()) {
        return control(rest, application).ok_or_else(unknown);
    }
    if let Some(rest) = strip(name, ["M-", "M-"]).filter(|rest| !rest.is_empty()) {
        return Ok([b"\x1b".to_vec(), bytes(rest, application).map_err(|_| unknown())?].concat());
    }
    if let Some(rest) = strip(name, ["S-", "S-"]).filter(|rest| !rest.is_empty()) {
        return shifted(rest).ok_or_else(unknown);
    }
    if let Some(bytes) = named(name, application) {
        return Ok(bytes);
    }
    let mut characters = name.chars();
    match (characters.next(), characters.next()) {
        (Some(_), None) => Ok(name.as_bytes().to_vec()),
        _ => Err(unknown()),
    }
}

fn strip<'a>(name: &'a str, prefixes: [&str; 2]) -> Option<&'a str> {
    prefixes.into_iter().find_map(|prefix| name.strip_prefix(prefix))
}

fn named(name: &str, application: bool) -> Option<Vec<u8>> {
    let cursor = |letter: char| format!("\x1b{}{letter}", if application { 'O' } else { '[' });
    let text = match name.to_ascii_lowercase().as_str() {
        "enter" | "return" => "\r".to_owned(),
        "escape" | "esc" => "\x1b".to_owned(),
        "tab" => "\t".to_owned(),
        "btab" => "\x1b[Z".to_owned(),
        "bspace" | "backspace" => "\x7f".to_owned(),
        "space" => " ".to_owned(),
        "up" => cursor('A'),
        "down" => cursor('B'),
        "right" => cursor('C'),
        "left" => cursor('D'),
        "home" => "\x1b[1~".to_owned(),
        "end" => "\x1b[4~".to_owned(),
        "ic" | "insert" => "\x1b[2~".to_owned(),
        "dc" | "delete" => "\x1b[3~".to_owned(),
        "pageup" | "ppage" | "pgup" => "\x1b[5~".to_owned(),
        "pagedown" | "npage" | "pgdn" => "\x1b[6~".to_owned(),
        "f1" => "\x1bOP".to_owned(),
        "f2" => "\x1bOQ".to_owned(),
        "f3" => "\x1bOR".to_owned(),
        "f4" => "\x1bOS".to_owned(),
        other => function_key(other)?,
    };
    Some(text.into_bytes())
}

fn function_key(name: &str) -> Option<String> {
    const CODES: [u8; 8] = [15, 17, 18, 19, 20, 21, 23, 24];
    let number: usize = name.strip_prefix('f')?.parse().ok()?;
    let code = CODES.get(number.checked_sub(5)?)?;
    Some(format!("\x1b[{code}~"))
}

fn control(rest: &str, application: bool) -> Option<Vec<u8>> {
    let mut characters = rest.chars();
    if let (Some(only), None) = (characters.next(), characters.next()) {
        let byte = match only.to_ascii_uppercase() {
            letter @ '@'..='_' => letter as u8 & 0x1f,
            '?' => 0x7f,
            ' ' => 0,
            _ => return None,
        };
        return Some(vec![byte]);
    }
    match rest.to_ascii_lowercase().as_str() {
        "space" => Some(vec![0]),
        _ => modified(rest, 5).or_else(|| named(rest, application)),
    }
}

fn shifted(rest: &str) -> Option<Vec<u8>> {
    if rest.eq_ignore_ascii_case("tab") { named("btab", false) } else { modified(rest, 2) }
}

/// Cursor keys with a modifier, as xterm sends them.
fn modified(rest: &str, modifier: u8) -> Option<Vec<u8>> {
    let letter = match rest.to_ascii_lowercase().as_str() {
        "up" => 'A',
        "down" => 'B',
        "right" => 'C',
        "left" => 'D',
        "home" => 'H',
        "end" => 'F',
        _ => return None,
    };
    Some(format!("\x1b[1;{modifier}{letter}").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn tmux_names_become_bytes() {
        let rows: [(&str, &[u8]); 18] = [
            ("Enter", b"\r"),
            ("Escape", b"\x1b"),
            ("Tab", b"\t"),
            ("BTab", b"\x1b[Z"),
            ("BSpace", b"\x7f"),
            ("Space", b" "),
            ("C-c", b"\x03"),
            ("C-[", b"\x1b"),
            ("^D", b"\x04"),
            ("C-Space", b"\0"),
            ("M-x", b"\x1bx"),
            ("M-Enter", b"\x1b\r"),
            ("PageUp", b"\x1b[5~"),
            ("F1", b"\x1bOP"),
            ("F12", b"\x1b[24~"),
            ("C-Up", b"\x1b[1;5A"),
            ("q", b"q"),
            ("é", "é".as_bytes()),
        ];
        for (name, want) in rows {
            assert_eq!(bytes(name, false).unwrap(), want, "{name}");
        }
        assert_eq!(bytes("Up", false).unwrap(), b"\x1b[A");
        assert_eq!(bytes("Up", true).unwrap(), b"\x1bOA");
        for name in ["", "Entr", "F13", "C-é", "hello"] {
            assert!(bytes(name, false).is_err(), "{name}");
        }
    }
}
