use super::*;

fn check(line: &str) -> bool {
    let (name, value) = line.split_once('=').unwrap();
    looks_secret(OsStr::new(name), OsStr::new(value))
}

/// Variables as people have them, one a line. The values are made up.
const SECRETS: &str = include_str!("examples/secret_variables.txt");

/// Variables that are no secrets, as desktops, shells, CI systems, containers and tool chains set them.
const ORDINARY_ONES: &str = include_str!("examples/ordinary_variables.txt");

fn lines(table: &'static str) -> Vec<&'static str> {
    table.lines().filter(|line| !line.is_empty()).collect()
}

#[test]
fn realistic_secrets_are_recognised() {
    let all = lines(SECRETS);
    let missed: Vec<_> = all.iter().filter(|line| !check(line)).collect();
    assert!(all.len() >= 150, "{}", all.len());
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn ordinary_variables_pass() {
    let all = lines(ORDINARY_ONES);
    let withheld: Vec<_> = all.iter().filter(|line| check(line)).collect();
    assert!(all.len() >= 150, "{}", all.len());
    assert!(withheld.is_empty(), "{withheld:#?}");
}

#[test]
fn a_variable_is_judged_whatever_its_bytes() {
    use std::os::unix::ffi::OsStrExt;
    assert!(looks_secret(OsStr::from_bytes(b"MY_TOKEN"), OsStr::from_bytes(b"\xFF\xFE")));
    assert!(!looks_secret(OsStr::from_bytes(b"\xFF"), OsStr::from_bytes(b"\xFF://\xFF@\xFF")));
    assert!(!looks_secret(OsStr::new(""), OsStr::new("")));
    let long = "://".repeat(100_000) + &"sk-".repeat(100_000);
    assert!(!looks_secret(OsStr::new("LONG"), OsStr::new(&long)));
}
