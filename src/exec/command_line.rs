//! Our own command line, which every process of this user can read in `/proc`, the commands of a session included.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Overwrites the value of a flag in the command line, in both forms: `--flag VALUE` and `--flag=VALUE`. A machine that does not let us do it has no `/proc`,
/// and without that nobody can read the command line either.
pub fn hide(flag: &str, value: &str) {
    let _ = overwrite(flag, value);
}

fn overwrite(flag: &str, value: &str) -> Option<()> {
    let (start, end) = place(&std::fs::read_to_string("/proc/self/stat").ok()?)?;
    let memory = File::options().read(true).write(true).open("/proc/self/mem").ok()?;
    let mut words = vec![0; usize::try_from(end.checked_sub(start)?).ok()?];
    memory.read_exact_at(&mut words, start).ok()?;
    for found in occurrences(&words, flag, value) {
        memory.write_all_at(&vec![b'*'; value.len()], start + found as u64).ok()?;
    }
    Some(())
}

/// Where the value stands. The words of a command line end with a zero byte each.
fn occurrences(words: &[u8], flag: &str, value: &str) -> Vec<usize> {
    let joined = format!("--{flag}={value}").into_bytes();
    let mut at = 0;
    let mut found = Vec::new();
    for word in words.split(|byte| *byte == 0) {
        if word == value.as_bytes() || word == joined {
            found.push(at + word.len() - value.len());
        }
        at += word.len() + 1;
    }
    found
}

/// Where the command line lies in our memory: the fields `arg_start` and `arg_end`.
fn place(stat: &str) -> Option<(u64, u64)> {
    // The name of the program comes second, in brackets, and may hold anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(45);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_values_are_found() {
        assert_eq!(occurrences(b"testudo\0--token\0tok\0--token=tok\0stok\0", "token", "tok"), [16, 28]);
    }

    #[test]
    fn the_place_is_found_behind_an_odd_name() {
        let fields: Vec<String> = (3..=52).map(|number| number.to_string()).collect();
        assert_eq!(place(&format!("1 (a) b) {}", fields.join(" "))), Some((48, 49)));
        assert_eq!(place("1 (a) S 2"), None);
    }
}
