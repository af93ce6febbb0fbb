//! Builds and installs one filter.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter, sock_filter,
};

use super::super::failure::{Doing, Failure};
use super::calls::NEWEST_KNOWN;

/// The instruction of a filter that ends it.
const RETURN: u16 = 0x06;

/// The system calls that a filter refuses, or that the supervisor does.
#[derive(Default)]
pub struct Rules(BTreeMap<i64, Vec<SeccompRule>>);

/// The index of an argument, a comparison, a value.
pub type Condition = (u8, SeccompCmpOp, u64);

impl Rules {
    pub fn always(&mut self, call: i64) {
        self.0.insert(call, Vec::new());
    }

    /// Holds for a call if all conditions do. The kernel uses only the low 32 bits of these arguments, so the filter
    /// compares only those.
    pub fn when(&mut self, call: i64, conditions: &[Condition]) {
        let conditions = conditions
            .iter()
            .map(|(argument, is, value)| {
                SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, is.clone(), *value)
                    .expect("a system call has six arguments")
            })
            .collect();
        let rule = SeccompRule::new(conditions).expect("there are conditions");
        match self.0.get_mut(&call) {
            // No rules mean that the call always matches. A rule more would weaken that.
            Some(rules) if rules.is_empty() => {}
            Some(rules) => rules.push(rule),
            None => drop(self.0.insert(call, vec![rule])),
        }
    }

    /// Installs the filter: the calls fail with this error.
    pub fn install(self, errno: i32) -> Result<(), Failure> {
        let program = self.program(SeccompAction::Errno(errno.cast_unsigned()))?;
        apply_filter(&program).map_err(io::Error::other).doing(|| "install the system call filter".to_owned())
    }

    /// Installs the filter: each of the calls waits until the reader of the returned descriptor has answered it. Fails if
    /// there is such a filter already, which a container may have.
    pub fn install_supervised(self) -> Result<OwnedFd, Failure> {
        // The library does not know this action. It stands in for another one, which no filter of ours uses.
        const STAND_IN: SeccompAction = SeccompAction::Trace(0);
        let mut program = self.program(STAND_IN)?;
        let stand_in = u32::from(STAND_IN);
        let returns = program.iter_mut().filter(|step| step.code == RETURN && step.k == stand_in);
        returns.for_each(|step| step.k = libc::SECCOMP_RET_USER_NOTIF);
        let filter = libc::sock_fprog {
            len: u16::try_from(program.len()).unwrap_or(u16::MAX),
            filter: program.as_mut_ptr().cast(),
        };
        // SAFETY: the program lives across the call and has that length; a sock_filter of the library has the layout of
        // the kernel's. The result is checked before it is owned.
        unsafe {
            let listener = libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
                &raw const filter,
            );
            match i32::try_from(listener) {
                Ok(listener) if listener >= 0 => Ok(OwnedFd::from_raw_fd(listener)),
                _ => {
                    Err(io::Error::last_os_error()).doing(|| "install the filter of supervised system calls".to_owned())
                }
            }
        }
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
    [
        sock_filter { code: LOAD_NUMBER, jt: 0, jf: 0, k: 0 },
        // A greater number continues to the refusal; any other number skips it.
        sock_filter { code: JUMP_IF_GREATER, jt: 0, jf: 1, k: NEWEST_KNOWN },
        sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ERRNO | libc::ENOSYS.cast_unsigned() },
    ]
}
