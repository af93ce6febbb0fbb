//! Calls that set a set-user-ID or set-group-ID bit. Somebody outside who runs such a file gets the rights of its owner.

use super::filter::{Rules, bits, has};

const SET_ID: [u32; 2] = [libc::S_ISUID, libc::S_ISGID];

/// Changes of a file's mode, and the index of the mode.
const CHANGES: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
];

/// Calls that create a file, and the index of its mode.
const CREATIONS: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
];

/// Calls that create a file if their flags say so: the indices of the flags and of the mode.
const OPENINGS: &[(i64, u8, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, 2),
    (libc::SYS_openat, 2, 3),
];

/// Without O_DIRECTORY, which is a part of `O_TMPFILE`.
const UNNAMED_FILE: i32 = libc::O_TMPFILE & !libc::O_DIRECTORY;

/// Refuses the calls that create a file with such a bit. Without a supervisor, which leaves out the bit of a file and sets
/// that of a directory, changes are refused too.
pub fn refuse(rules: &mut Rules, supervised: bool) {
    if !supervised {
        changes(rules);
    }
    for bit in SET_ID.map(u32::cast_signed) {
        for (call, mode) in CREATIONS {
            rules.when(*call, &[(*mode, has(bit), bits(bit))]);
        }
        for (call, flags, mode) in OPENINGS {
            for creates in [libc::O_CREAT, UNNAMED_FILE] {
                rules.when(*call, &[(*flags, has(creates), bits(creates)), (*mode, has(bit), bits(bit))]);
            }
        }
    }
}

/// Holds for a call that sets such a bit of a file that exists.
pub fn changes(rules: &mut Rules) {
    for bit in SET_ID.map(u32::cast_signed) {
        for (call, mode) in CHANGES {
            rules.when(*call, &[(*mode, has(bit), bits(bit))]);
        }
    }
}
