//! System calls that a server cannot make, as on a file system or in a container that does not have them.

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::Command;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

/// A call, the argument that must have these bits (or none), and the error.
pub type Refused = (libc::c_long, Option<(u8, u32)>, i32);

/// Starts the command under a filter of the kernel that answers each call with its error.
pub fn refuse(command: &mut Command, refused: &[Refused]) {
    let programs: Vec<BpfProgram> = refused.iter().map(|call| program(*call)).collect();
    let install = move || {
        // SAFETY: prctl with plain numbers.
        unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
        for program in &programs {
            seccompiler::apply_filter(program).map_err(|_| std::io::ErrorKind::Unsupported)?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec it makes system calls only, and the filters are built before.
    unsafe { command.pre_exec(install) };
}

fn program((call, bits, error): Refused) -> BpfProgram {
    let condition = |(argument, bits): (u8, u32)| {
        let operator = SeccompCmpOp::MaskedEq(u64::from(bits));
        let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, u64::from(bits)).unwrap();
        SeccompRule::new(vec![condition]).unwrap()
    };
    let rules = BTreeMap::from([(call, bits.map(condition).into_iter().collect())]);
    let (pass, refuse) = (SeccompAction::Allow, SeccompAction::Errno(error.unsigned_abs()));
    let filter = SeccompFilter::new(rules, pass, refuse, std::env::consts::ARCH.try_into().unwrap()).unwrap();
    filter.try_into().unwrap()
}
