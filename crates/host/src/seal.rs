//! A system call filter for agents and terminals: it keeps the mark in a process's limits, and refuses calls by which a process
//! acts on others without any file.
//!
//! In: nothing. Out: a filter to install between fork and exec. Never: looks at memory of the caller, such as a
//! path, or knows which threads are the caller's own.
//!
//! Any process may lower its own hard limit, and root may raise it. Either would remove the mark. The filter survives
//! fork and exec, as the limit does, and cannot be removed. Without `CAP_SYS_ADMIN`, the system installs it only in
//! processes that gave up new privileges (`no_new_privs`), which are those in a sandbox. docs/adr/0047-calls-of-agents.md has the
//! reason for each call.

use libc::{
    BPF_ABS, BPF_ALU, BPF_AND, BPF_JA, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W, ENOSYS, EPERM,
    RLIMIT_RTTIME, SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, sock_filter, sock_fprog,
};

/// A call that may be refused, with its number for each of [`ARCHITECTURES`].
struct Call {
    numbers: [u32; 2],
    /// When it is refused.
    refused: Refused,
}

/// When a call is refused. Arguments are compared by their low half: the system takes them as 32-bit numbers.
enum Refused {
    /// Always, as on a system that does not have it: programs are prepared for that.
    Always,
    /// If this argument is one of these.
    If(u32, &'static [u32]),
    /// Unless this argument, which names a process, is 0: the caller.
    UnlessOwn(u32),
    /// Unless the first argument is one of these kinds and the second is 0: the caller, or its group.
    UnlessOwnOf(&'static [u32]),
    /// If it sets a limit of another process, or the one with the mark.
    SetsLimit,
}

#[cfg(target_arch = "x86_64")]
const ARCHITECTURES: [u32; 2] = [0xc000_003e, 0x4000_0003];
#[cfg(target_arch = "aarch64")]
const ARCHITECTURES: [u32; 2] = [0xc000_00b7, 0x4000_0028];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURES: [u32; 0] = [];

#[cfg(target_arch = "x86_64")]
const fn call(x86_64: u32, i386: u32, _: u32, _: u32, refused: Refused) -> Call {
    let numbers = [x86_64, i386];
    Call { numbers, refused }
}
#[cfg(not(target_arch = "x86_64"))]
const fn call(_: u32, _: u32, aarch64: u32, arm: u32, refused: Refused) -> Call {
    let numbers = [aarch64, arm];
    Call { numbers, refused }
}

/// The number of a call that an architecture does not have. No number is equal to it without the bit of x32.
const NONE: u32 = u32::MAX;

const F_SETLEASE: u32 = 1024;
const TIOCSTI: u32 = 0x5412;
const TIOCLINUX: u32 = 0x541c;
const PRIO_PROCESS: u32 = 0;
const PRIO_PGRP: u32 = 1;
const IOPRIO_WHO_PROCESS: u32 = 1;
const IOPRIO_WHO_PGRP: u32 = 2;

const TYPES: Refused = Refused::If(1, &[TIOCSTI, TIOCLINUX]);
const LEASES: Refused = Refused::If(1, &[F_SETLEASE]);

/// The numbers are of x86-64, i386, aarch64 and arm. x32 has some numbers of its own, which are among those of x86-64.
static CALLS: [Call; 19] = [
    // setrlimit, prlimit64
    call(160, 75, 164, 75, Refused::If(0, &[RLIMIT_RTTIME])),
    call(302, 340, 261, 369, Refused::SetsLimit),
    // ioctl, that of x32; fcntl, fcntl64
    call(16, 54, 29, 54, TYPES),
    call(514, NONE, NONE, NONE, TYPES),
    call(72, 55, 25, 55, LEASES),
    call(NONE, 221, NONE, 221, LEASES),
    // setpriority, ioprio_set
    call(141, 97, 140, 97, Refused::UnlessOwnOf(&[PRIO_PROCESS, PRIO_PGRP])),
    call(
        251,
        289,
        30,
        314,
        Refused::UnlessOwnOf(&[IOPRIO_WHO_PROCESS, IOPRIO_WHO_PGRP]),
    ),
    // sched_setaffinity, sched_setparam, sched_setscheduler, sched_setattr
    call(203, 241, 122, 241, Refused::UnlessOwn(0)),
    call(142, 154, 118, 154, Refused::UnlessOwn(0)),
    call(144, 156, 119, 156, Refused::UnlessOwn(0)),
    call(314, 351, 274, 380, Refused::UnlessOwn(0)),
    // migrate_pages, move_pages, that of x32; process_madvise
    call(256, 294, 238, 400, Refused::UnlessOwn(0)),
    call(279, 317, 239, 344, Refused::UnlessOwn(0)),
    call(533, NONE, NONE, NONE, Refused::UnlessOwn(0)),
    call(440, 440, 440, 440, Refused::Always),
    // keyctl, request_key, add_key
    call(250, 288, 219, 311, Refused::Always),
    call(249, 287, 218, 310, Refused::Always),
    call(248, 286, 217, 309, Refused::Always),
];

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
        for (at, architecture) in ARCHITECTURES.iter().enumerate() {
            let calls: Vec<sock_filter> = CALLS.iter().flat_map(|call| refuse(call, at)).collect();
            program.push(load(ARCH));
            program.push(if_equal(*architecture, 1, 0));
            // The calls of another architecture, and the decision behind them.
            program.push(skip(calls.len() + 1));
            program.extend(calls);
            program.push(answer(SECCOMP_RET_ALLOW));
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

/// Denies a call if it is to be refused. Otherwise continues after these instructions.
fn refuse(call: &Call, architecture: usize) -> Vec<sock_filter> {
    let fail = |errno: i32| answer(SECCOMP_RET_ERRNO | u32::try_from(errno).unwrap_or(0));
    let error = fail(EPERM);
    // `then` and `or` are the numbers of instructions to skip.
    let decision = match call.refused {
        Refused::Always => vec![fail(ENOSYS)],
        Refused::If(argument, values) => {
            let mut decision = vec![load(low(argument))];
            for value in values {
                decision.extend([if_equal(*value, 0, 1), error]);
            }
            decision
        }
        Refused::UnlessOwn(argument) => vec![load(low(argument)), if_equal(0, 1, 0), error],
        Refused::UnlessOwnOf(kinds) => {
            let mut decision = vec![load(low(0))];
            for (at, kind) in kinds.iter().enumerate() {
                // To the check of the second argument, behind the other kinds and the refusal.
                let left = u8::try_from(kinds.len() - at).unwrap_or(u8::MAX);
                decision.push(if_equal(*kind, left, 0));
            }
            decision.extend([error, load(low(1)), if_equal(0, 1, 0), error]);
            decision
        }
        Refused::SetsLimit => vec![
            // A call that only queries the limit passes no new limit.
            load(low(2)),
            if_equal(0, 0, 2),
            load(high(2)),
            if_equal(0, 5, 0),
            load(low(0)),
            if_equal(0, 0, 2),
            load(low(1)),
            if_equal(RLIMIT_RTTIME, 0, 1),
            error,
        ],
    };
    let mut program = vec![
        load(NUMBER),
        statement(BPF_ALU | BPF_AND | BPF_K, WITHOUT_X32),
        if_equal(
            call.numbers[architecture],
            0,
            u8::try_from(decision.len()).unwrap_or(u8::MAX),
        ),
    ];
    program.extend(decision);
    program
}

fn skip(instructions: usize) -> sock_filter {
    statement(BPF_JMP | BPF_JA, u32::try_from(instructions).unwrap_or(0))
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
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    use std::collections::BTreeSet;

    use super::*;

    /// Returns whether the filter refuses a call, like the kernel's interpreter.
    fn refuses(arch: u32, number: u32, arguments: [u64; 3]) -> bool {
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
                code if code == BPF_JMP | BPF_JA => at += step.k as usize,
                code if code == BPF_JMP | BPF_JEQ | BPF_K => {
                    at += usize::from(if value == step.k { step.jt } else { step.jf });
                }
                _ => return step.k != SECCOMP_RET_ALLOW,
            }
        }
    }

    #[test]
    fn the_mark_cannot_be_changed_and_other_limits_can() {
        let limit = u64::from(RLIMIT_RTTIME);
        for (at, arch) in ARCHITECTURES.into_iter().enumerate() {
            let [setrlimit, prlimit] = [CALLS[0].numbers[at], CALLS[1].numbers[at]];
            for number in [setrlimit, setrlimit | 0x4000_0000] {
                assert!(refuses(arch, number, [limit, 0x7fff, 0]), "{arch:x}");
            }
            for new in [1, 1 << 32, u64::MAX] {
                // The system ignores the upper half of a 32-bit number as well.
                assert!(
                    refuses(arch, prlimit, [0, limit, new])
                        && refuses(arch, prlimit, [0, limit | 1 << 40, new])
                );
                assert!(
                    refuses(arch, prlimit, [7, 1, new]),
                    "the limits of another process"
                );
            }
            assert!(
                !refuses(arch, prlimit, [0, limit, 0]) && !refuses(arch, prlimit, [7, 1, 0]),
                "it only asks"
            );
            for other in (0..16).filter(|other| *other != limit) {
                assert!(!refuses(arch, setrlimit, [other, 1, 1]) && !refuses(arch, prlimit, [0, other, 1]));
            }
        }
        assert!(!refuses(1, 160, [limit, 1, 1]));
    }

    #[test]
    fn calls_that_act_on_others_are_refused_and_those_on_the_caller_are_not() {
        for (at, arch) in ARCHITECTURES.into_iter().enumerate() {
            for call in CALLS.iter().filter(|call| call.numbers[at] != NONE) {
                let number = call.numbers[at];
                let is_refused = |arguments| refuses(arch, number, arguments);
                match call.refused {
                    Refused::Always => assert!(is_refused([0, 0, 0])),
                    Refused::If(argument, values) => {
                        let with = |value: u64| {
                            let mut arguments = [1 << 40, 1 << 40, 0];
                            arguments[argument as usize] |= value;
                            arguments
                        };
                        assert!(values.iter().all(|value| is_refused(with(u64::from(*value)))));
                        assert!(!is_refused(with(0x5413)), "{number}");
                    }
                    Refused::UnlessOwn(_) => {
                        assert!(
                            is_refused([1, 0, 0]) && is_refused([1 << 40 | 1, 0, 0]),
                            "{number}"
                        );
                        assert!(!is_refused([0, 1, 1]), "{number}");
                    }
                    Refused::UnlessOwnOf(kinds) => {
                        for kind in 0..4 {
                            let is_own = kinds.contains(&kind);
                            assert_eq!(is_refused([u64::from(kind), 0, 5]), !is_own, "{number} {kind}");
                            assert!(is_refused([u64::from(kind), 9, 5]), "{number} {kind}");
                        }
                    }
                    Refused::SetsLimit => {}
                }
            }
            let known: Vec<u32> = CALLS.iter().map(|call| call.numbers[at]).collect();
            for number in (0..600).filter(|number| !known.contains(number)) {
                for command in [TIOCSTI, F_SETLEASE] {
                    let arguments = [1, u64::from(command), 1];
                    assert!(!refuses(arch, number, arguments), "{arch:x} {number}");
                }
            }
        }
    }

    /// The calls of this architecture by their names, in the order of the table, behind setrlimit, which libc does not number
    /// everywhere.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    const NAMES: [(&str, libc::c_long); 15] = [
        ("prlimit64", libc::SYS_prlimit64),
        ("ioctl", libc::SYS_ioctl),
        ("fcntl", libc::SYS_fcntl),
        ("setpriority", libc::SYS_setpriority),
        ("ioprio_set", libc::SYS_ioprio_set),
        ("sched_setaffinity", libc::SYS_sched_setaffinity),
        ("sched_setparam", libc::SYS_sched_setparam),
        ("sched_setscheduler", libc::SYS_sched_setscheduler),
        ("sched_setattr", libc::SYS_sched_setattr),
        ("migrate_pages", libc::SYS_migrate_pages),
        ("move_pages", libc::SYS_move_pages),
        ("process_madvise", libc::SYS_process_madvise),
        ("keyctl", libc::SYS_keyctl),
        ("request_key", libc::SYS_request_key),
        ("add_key", libc::SYS_add_key),
    ];

    #[test]
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn the_table_has_the_numbers_of_the_system_and_a_reason_for_each_call() {
        let reasons = include_str!("../../../docs/adr/0047-calls-of-agents.md");
        let numbers = CALLS.iter().map(|call| call.numbers[0]);
        // x32 alone has numbers from 512 on.
        let numbers: Vec<_> = numbers.filter(|number| *number < 512).collect();
        let expected: Vec<_> = NAMES
            .iter()
            .map(|(_, number)| u32::try_from(*number).unwrap())
            .collect();
        assert_eq!(numbers[1..], expected);
        let (refused, allowed) = reasons
            .split_once("## The other calls")
            .expect("the page has two tables");
        // x32 and 32-bit programs have some of these calls twice.
        let expected: BTreeSet<&str> = NAMES.iter().map(|(name, _)| *name).collect();
        let mut refused = calls_in(refused);
        assert!(refused.remove("setrlimit"), "{refused:?}");
        assert_eq!(refused, expected, "calls with a reason why they are refused");
        // Of these, the second table has other commands.
        let in_both: Vec<_> = calls_in(allowed).intersection(&expected).copied().collect();
        assert_eq!(in_both, ["fcntl", "ioctl"]);
    }

    /// Returns the calls that the first column of a table names: a part `call` with `COMMAND` names one.
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    fn calls_in(table: &str) -> BTreeSet<&str> {
        let columns = table
            .lines()
            .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
        let names = columns.flat_map(|column| column.split('`').skip(1).step_by(2));
        names
            .filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
            .collect()
    }
}
