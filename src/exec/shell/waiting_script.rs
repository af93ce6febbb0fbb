//! What a shell runs while it waits, and the messages that it gets.
//!
//! A message is shell text. bash has slept for a while when it comes, so that whatever it has to do is slow at first. A plain text
//! is therefore its own message, and everything that only other texts need is in theirs:
//!
//! - a text that calls no program and changes nothing is evaluated as it is;
//! - a text after which the shell stays is evaluated without our descriptors, between what makes the shell as a new one
//!   (`__testudo_before`) and the report of what the text has changed (`__testudo_after`);
//! - any other text ends the loop and is the last one.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::numbers::Numbers;
use super::shell::{STALE, STAYS};
use super::traces::Traces;

/// A message always has this length, so that bash reads it with one call.
const LENGTH: usize = 128;
/// Every message begins with the nonce.
const NONCE_LENGTH: usize = 8;

/// Tells a shell what to do. What does not fit in a message is in the file from which the shell reads longer texts.
#[derive(Debug, Eq, PartialEq)]
pub struct Message {
    pub bytes: [u8; LENGTH],
    pub file: Option<String>,
}

/// The text of the shell itself. It ends with the status of its last text when the pipe closes. It ends without one, and runs nothing,
/// if its directory was removed or replaced, if it did not begin in `cwd`, or if a message is not the server's: programs can find
/// the pipe below `/proc`, but not the nonce.
pub fn script(cwd: &Path, Numbers { go, text, state, .. }: Numbers) -> String {
    // All on one line: bash names the line of our script in its errors.
    format!(
        "__testudo_stale(){{ builtin trap - EXIT; builtin printf {STALE} >&{state}; exit; }}; \
         [[ $__testudo_nonce && $PWD == {} ]] || __testudo_stale; \
         while builtin read -r -N {LENGTH} -u {go} __testudo_text || {{ builtin trap - EXIT; exit $__testudo_status; }}; \
         [[ $__testudo_text == $__testudo_nonce* && . -ef $PWD ]] || __testudo_stale; \
         do eval -- \"${{__testudo_text:{NONCE_LENGTH}}}\"; __testudo_status=$?; \
         builtin printf '{STAYS}%s%s\\0' $__testudo_nonce $__testudo_status >&{state}; done; \
         exec {go}<&- {text}<&-; __testudo_before; eval -- \"${{__testudo_text?}}\"",
        quoted(cwd.as_os_str().as_bytes()),
    )
}

/// What the messages and the script call.
pub fn functions(nonce: &str, Numbers { text, state, .. }: Numbers) -> String {
    format!(
        r#"__testudo_nonce={nonce}
__testudo_read(){{ IFS= builtin read -r -d '' -u {text} __testudo_text; }}
__testudo_before(){{ [[ -z $OLDPWD || -d $OLDPWD ]] || {{ builtin unset OLDPWD; builtin export OLDPWD; }}; SECONDS=0; builtin hash -r; }}
__testudo_after(){{ __testudo_status=$?; local __testudo_n __testudo_v=; [[ -d $PWD ]] || __testudo_v=!
 __testudo_v=("{STAYS}{nonce}$__testudo_status$__testudo_v")
 for __testudo_n; do __testudo_v+=("${{!__testudo_n+=}}${{!__testudo_n-}}"); done
 builtin printf '%s\0' "${{__testudo_v[@]}}" >&{state}; }}
"#
    )
}

/// For a text, which has no NUL. `stays` is what it may change if the shell stays after it.
pub fn message(text: &str, stays: Option<&Traces>, nonce: &str, numbers: Numbers) -> Message {
    if stays.is_some_and(|traces| is_plain(text, traces))
        && let Some(bytes) = fit(nonce, text)
    {
        return Message { bytes, file: None };
    }
    let quoted = text.replace('\'', r"'\''");
    let code = stays.map_or_else(
        || format!("__testudo_text='{quoted}';break"),
        |traces| {
            let (Numbers { go, text, state, .. }, names) = (numbers, traces.variables.join(" "));
            format!("__testudo_before;eval -- '{quoted}' {go}<&- {text}<&- {state}>&-;__testudo_after {names};continue")
        },
    );
    match fit(nonce, &code) {
        Some(bytes) => Message { bytes, file: None },
        None => Message { bytes: padded(nonce, "__testudo_read;eval -- \"$__testudo_text\""), file: Some(code) },
    }
}

/// Has a shell do the first steps that every text needs, so that they go faster the second time.
pub fn wake(nonce: &str) -> [u8; LENGTH] {
    padded(nonce, "continue")
}

/// Whether it needs nothing but to be evaluated: it sees neither what is reset before other texts (`type` sees the places of
/// programs) nor what is reported after them.
fn is_plain(text: &str, traces: &Traces) -> bool {
    let sees = |name: &str| text.contains(name);
    !traces.programs && traces.variables.is_empty() && !["SECONDS", "OLDPWD", "~", "type"].into_iter().any(sees)
}

fn fit(nonce: &str, code: &str) -> Option<[u8; LENGTH]> {
    // bash counts characters.
    (code.is_ascii() && nonce.len() + code.len() < LENGTH).then(|| padded(nonce, code))
}

/// Blanks in the line of the code would be in the error messages of bash.
fn padded(nonce: &str, code: &str) -> [u8; LENGTH] {
    let message = format!("{nonce}{code}\n");
    let mut bytes = [b' '; LENGTH];
    bytes[..message.len()].copy_from_slice(message.as_bytes());
    bytes
}

/// As a word of bash.
fn quoted(bytes: &[u8]) -> String {
    let each = bytes.iter().map(|byte| match byte {
        b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => char::from(*byte).to_string(),
        other => format!("\\x{other:02x}"),
    });
    format!("$'{}'", each.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, stays: Option<&[&str]>, programs: bool) -> (String, Option<String>) {
        let variables = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let traces = stays.map(|names| Traces { variables: variables(names), programs });
        let Message { bytes, file } = message(text, traces.as_ref(), "aabbccdd", Numbers::below(1024));
        let shown = String::from_utf8(bytes.to_vec()).unwrap();
        let code = shown.trim_end_matches(' ').strip_prefix("aabbccdd").and_then(|code| code.strip_suffix('\n'));
        (code.unwrap().to_owned(), file)
    }

    #[test]
    fn a_plain_text_is_its_own_message_and_others_say_what_to_do() {
        let around = |text: &str, names: &str| {
            format!("__testudo_before;eval -- '{text}' 248<&- 249<&- 251>&-;__testudo_after {names};continue")
        };
        for (text, stays, programs, code) in [
            ("true", Some([].as_slice()), false, "true".to_owned()),
            ("echo $SECONDS", Some(&[]), false, around("echo $SECONDS", "")),
            ("type ls", Some(&[]), false, around("type ls", "")),
            ("echo ~-", Some(&[]), false, around("echo ~-", "")),
            ("test -d $OLDPWD", Some(&[]), false, around("test -d $OLDPWD", "")),
            ("ls", Some(&[]), true, around("ls", "")),
            ("cd x", Some(&["PWD", "OLDPWD"]), false, around("cd x", "PWD OLDPWD")),
            ("echo 'a b' | cat", Some(&[]), true, around(r"echo '\''a b'\'' | cat", "")),
            ("set -e; echo 'a'", None, true, r"__testudo_text='set -e; echo '\''a'\''';break".to_owned()),
        ] {
            assert_eq!(shown(text, stays, programs), (code, None), "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_in_the_file() {
        let read = "__testudo_read;eval -- \"$__testudo_text\"";
        for text in ["echo é".to_owned(), format!("echo {}", "x".repeat(LENGTH - 13))] {
            let (message, file) = shown(&text, Some(&[]), false);
            assert!(message == read && file.unwrap().contains(&text), "{text}");
            let (message, file) = shown(&text, None, false);
            assert!(message == read && file.unwrap() == format!("__testudo_text='{text}';break"), "{text}");
        }
        let longest = "x".repeat(LENGTH - 9);
        assert_eq!(shown(&longest, Some(&[]), false), (longest, None));
    }
}
