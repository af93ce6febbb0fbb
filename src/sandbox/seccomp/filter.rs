//! Builds and installs one filter.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter, sock_filter,
};

use super::super::failure::{Doing, Failure};
use super::calls::NEWEST_KNOWN;

/// The system calls that a filter refuses.
#[derive(Default)]
pub struct Rules(BTreeMap<i64, Vec<SeccompRule>>);

/// The index of an argument, a comparison, a value.
pub type Condition = (u8, SeccompCmpOp, u64);

impl Rules {
    pub fn always(&mut self, call: i64) {
        self.0.insert(call, Vec::new());
    }

    /// Refuses a call if all conditions hold. The kernel uses only the low 32 bits of these arguments, so the filter
    /// compares only those.
    pub fn when(&mut self, call: i64, conditions: &[Condition]) {
        let conditions = conditions
            .iter()
            .map(|(argument, is, value)| {
                SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, is.clone(), *value)
                    .expect("a system call has six arguments")
            })
            .collect();
        self.0.entry(call).or_default().push(SeccompRule::new(conditions).expect("there are conditions"));
    }

    /// Installs the filter: the calls fail with this error.
    pub fn install(self, errno: i32) -> Result<(), Failure> {
        let program = self.program(SeccompAction::Errno(errno.cast_unsigned()))?;
        apply_filter(&program).map_err(io::Error::other).doing(|| "install the system call filter".to_owned())
    }

    fn program(self, action: SeccompAction) -> Result<BpfProgram, Failure> {
        let program = || -> Result<BpfProgram, seccompiler::BackendError> {
            let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
            SeccompFilter::new(self.0, SeccompAction::Allow, action, architecture)?.try_into()
        };
        let program = program().map_err(io::Error::other).doing(|| "make the system call filter".to_owned())?;
        Ok(refuse_unknown().into_iter().chain(program).collect())
    }
}

pub fn has(flag: i32) -> SeccompCmpOp {
    SeccompCmpOp::MaskedEq(bits(flag))
}

pub fn bits(flag: i32) -> u64 {
    u64::from(flag.cast_unsigned())
}

/// System calls that we do not know do not exist for commands. On x86-64 this includes the second number that each call
/// has, with the x32 bit set.
fn refuse_unknown() -> [sock_filter; 3] {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_GREATER: u16 = 0x25;
    const RETURN: u16 = 0x06;
    [
        sock_filter { code: LOAD_NUMBER, jt: 0, jf: 0, k: 0 },
        // A greater number continues to the refusal; any other number skips it.
        sock_filter { code: JUMP_IF_GREATER, jt: 0, jf: 1, k: NEWEST_KNOWN },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned() },
    ]
}
