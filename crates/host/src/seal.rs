//! Keeps the mark in a process's limits: a system call filter that refuses to change that limit.
//!
//! In: nothing. Out: a filter to install between fork and exec. Never: denies any other call.
//!
//! Any process may lower its own hard limit, and root may raise it. Either would remove the mark. The filter survives
//! fork and exec, as the limit does, and cannot be removed. Without `CAP_SYS_ADMIN`, the system installs it only in
//! processes that gave up new privileges (`no_new_privs`), which are those in a sandbox.

use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, EPERM, RLIMIT_RTTIME,
    SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, sock_filter, sock_fprog,
};

/// Numbers of the two system calls that change a limit, for one architecture.
struct Abi {
    /// The architecture, `AUDIT_ARCH_*`.
    arch: u32,
    setrlimit: u32,
    prlimit: u32,
}

#[cfg(target_arch = "x86_64")]
const ABIS: [Abi; 2] = [
    Abi {
        arch: 0xc000_003e,
        setrlimit: 160,
        prlimit: 302,
    },
    // 32-bit programs.
    Abi {
        arch: 0x4000_0003,
        setrlimit: 75,
        prlimit: 340,
    },
];

#[cfg(target_arch = "aarch64")]
const ABIS: [Abi; 2] = [
    Abi {
        arch: 0xc000_00b7,
        setrlimit: 164,
        prlimit: 261,
    },
    Abi {
        arch: 0x4000_0028,
        setrlimit: 75,
        prlimit: 369,
    },
];

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ABIS: [Abi; 0] = [];

/// Clears the bit that distinguishes x32 numbers from x86-64 ones. No other architecture has numbers this large.
const WITHOUT_X32: u32 = !0x4000_0000;

// Offsets in `struct seccomp_data`. The low half of an argument comes first on the architectures above.
const NUMBER: u32 = 0;
const ARCH: u32 = 4;
const fn low(argument: u32) -> u32 {
    16 + 8 * argument
}
const fn high(argument: u32) -> u32 {
    low(argument) + 4
}

/// A filter that is ready to be installed.
#[derive(Debug)]
pub(crate) struct Seal(Vec<sock_filter>);

impl Seal {
    pub fn new() -> Self {
        let mut program = Vec::new();
        for abi in &ABIS {
            program.extend(refuse(abi));
        }
        program.push(answer(SECCOMP_RET_ALLOW));
        Self(program)
    }

    /// Installs the filter in this process, if the system permits it. Makes one system call and allocates nothing.
    #[expect(unsafe_code, reason = "there is no safe form of seccomp(2)")]
    pub fn install(&self) {
        let program = sock_fprog {
            len: u16::try_from(self.0.len()).unwrap_or(0),
            filter: self.0.as_ptr().cast_mut(),
        };
        // SAFETY: the program is valid for its declared length, and the call only reads it.
        unsafe {
            // EACCES: the process has neither privileges nor `no_new_privs`. EINVAL: the kernel has no filters. Then
            // the mark can be removed, and a process that hides this way is ended as an unmarked orphan.
            libc::syscall(
                libc::SYS_seccomp,
                libc::SECCOMP_SET_MODE_FILTER,
                0,
                &raw const program,
            );
        }
    }
}

/// Denies both calls of one architecture if they change the limit. Otherwise continues after these instructions.
fn refuse(abi: &Abi) -> [sock_filter; 15] {
    let error = SECCOMP_RET_ERRNO | u32::try_from(EPERM).unwrap_or(0);
    // `then` and `or` are the numbers of instructions to skip.
    [
        load(ARCH),
        if_equal(abi.arch, 0, 13),
        load(NUMBER),
        statement(BPF_ALU | BPF_AND | BPF_K, WITHOUT_X32),
        if_equal(abi.setrlimit, 7, 0),
        if_equal(abi.prlimit, 0, 9),
        load(low(1)),
        if_equal(RLIMIT_RTTIME, 0, 7),
        // A call that only queries the limit passes no new limit.
        load(low(2)),
        if_equal(0, 0, 4),
        load(high(2)),
        if_equal(0, 3, 2),
        load(low(0)),
        if_equal(RLIMIT_RTTIME, 0, 1),
        answer(error),
    ]
}

fn load(place: u32) -> sock_filter {
    statement(BPF_LD | BPF_W | BPF_ABS, place)
}

fn answer(value: u32) -> sock_filter {
    statement(BPF_RET | BPF_K, value)
}

fn statement(code: u32, k: u32) -> sock_filter {
    branch(code, k, 0, 0)
}

fn if_equal(k: u32, then: u8, or: u8) -> sock_filter {
    branch(BPF_JMP | BPF_JEQ | BPF_K, k, then, or)
}

fn branch(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    let code = u16::try_from(code).unwrap_or(0);
    sock_filter { code, jt, jf, k }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the result of the filter for a call, like the kernel's interpreter.
    fn run(arch: u32, number: u32, arguments: [u64; 3]) -> u32 {
        let word = |place: u32| match place {
            NUMBER => number,
            ARCH => arch,
            _ => {
                let argument = arguments[(place as usize - 16) / 8];
                let half = if place.is_multiple_of(8) {
                    argument
                } else {
                    argument >> 32
                };
                u32::try_from(half & 0xffff_ffff).unwrap()
            }
        };
        let Seal(program) = Seal::new();
        let (mut at, mut value) = (0, 0);
        loop {
            let step = program[at];
            at += 1;
            match u32::from(step.code) {
                code if code == BPF_LD | BPF_W | BPF_ABS => value = word(step.k),
                code if code == BPF_ALU | BPF_AND | BPF_K => value &= step.k,
                code if code == BPF_JMP | BPF_JEQ | BPF_K => {
                    at += usize::from(if value == step.k { step.jt } else { step.jf });
                }
                _ => return step.k,
            }
        }
    }

    #[test]
    fn only_a_change_of_the_mark_is_refused() {
        let limit = u64::from(RLIMIT_RTTIME);
        let others = (0..16).filter(|other| *other != limit);
        for Abi {
            arch,
            setrlimit,
            prlimit,
        } in ABIS
        {
            let refused = |number, arguments| run(arch, number, arguments) != SECCOMP_RET_ALLOW;
            for number in [setrlimit, setrlimit | 0x4000_0000] {
                assert!(refused(number, [limit, 0x7fff, 0]), "{arch:x}");
            }
            for new in [1, 1 << 32, u64::MAX] {
                // The system ignores the upper half of a 32-bit number as well.
                assert!(refused(prlimit, [0, limit, new]) && refused(prlimit, [7, limit | 1 << 40, new]));
            }
            assert!(!refused(prlimit, [0, limit, 0]), "it is only asked for");
            for other in others.clone() {
                assert!(!refused(setrlimit, [other, 1, 1]) && !refused(prlimit, [limit, other, 1]));
            }
            for number in (0..500).filter(|number| ![setrlimit, prlimit].contains(number)) {
                assert!(!refused(number, [limit, limit, 1]), "{arch:x} {number}");
            }
        }
        assert_eq!(run(1, 160, [limit, 1, 1]), SECCOMP_RET_ALLOW);
    }
}
