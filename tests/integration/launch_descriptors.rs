//! Whatever descriptors a launcher leaves open, commands run, and none of them inherits one.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::support::{User, World, launched};

/// Numbers that launchers leave open, those that our own processes use, and some beyond.
const NUMBERS: [u32; 13] = [3, 4, 5, 6, 10, 63, 100, 248, 249, 250, 251, 255, 1000];

/// Starts a server with these descriptors open, and runs two commands: a fresh shell, then one that waited.
#[track_caller]
fn check(world: &World, user: User, numbers: &BTreeSet<u32>) {
    let opened: Vec<String> = numbers.iter().map(|number| format!("exec {number}<>canary; ")).collect();
    let mut server = launched(world, user, &(opened.concat() + "exec \"$@\""), &[]);
    for _ in 0..2 {
        let reply = server.bash("ls -l /proc/$$/fd; ls -l /proc/self/fd; echo done");
        let shown = reply.stdout();
        assert!(shown.ends_with("done\n"), "descriptors {numbers:?}, as {user:?}:\n{}", reply.text());
        assert!(!shown.contains("canary"), "descriptors {numbers:?}, as {user:?}:\n{shown}");
    }
}

#[test]
fn no_inherited_descriptor_keeps_commands_from_running_or_reaches_them() {
    for user in User::all() {
        let world = user.world();
        std::fs::File::create(world.project().join("canary")).unwrap();
        std::fs::set_permissions(world.project().join("canary"), PermissionsExt::from_mode(0o666)).unwrap();
        for number in NUMBERS {
            check(&world, *user, &[number].into());
        }
        for low in 1..16_u32 {
            let chosen = (3..=6).filter(|number| low >> (number - 3) & 1 == 1);
            check(&world, *user, &chosen.collect());
        }
        check(&world, *user, &NUMBERS.into());
    }
}

#[test]
fn random_sets_of_inherited_descriptors_do_no_harm() {
    let world = World::new();
    world.file("canary", "");
    let mut runner = TestRunner::new(Config { cases: 24, failure_persistence: None, ..Config::default() });
    let number = prop_oneof![proptest::sample::select(&NUMBERS[..]), 3..1000_u32];
    let sets = proptest::collection::btree_set(number, 0..12);
    runner
        .run(&sets, |numbers| {
            check(&world, User::Tester, &numbers);
            Ok(())
        })
        .unwrap();
}
