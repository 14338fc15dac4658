//! System calls that have no safe form.
//!
//! Owns: all unsafe code of the shim. Each function is called once, in the shim at its start or in a child before its program.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr;

/// What the shim does with a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signalled {
    /// A child has ended.
    Child,
    /// The shim must end.
    End,
    /// Nothing: the signal is meant for the daemon.
    Ignored,
}

/// The signals that arrive at a descriptor.
const TAKEN: [libc::c_int; 5] = [
    libc::SIGCHLD,
    libc::SIGTERM,
    libc::SIGINT,
    libc::SIGHUP,
    libc::SIGQUIT,
];

#[expect(unsafe_code, reason = "there is no safe form of sigsetops(3)")]
fn taken() -> libc::sigset_t {
    // SAFETY: a signal set is an array of numbers, of which zero is valid; both calls only write into the set.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in TAKEN {
            libc::sigaddset(&raw mut set, signal);
        }
        set
    }
}

/// Returns a descriptor with the signals of this process, which are blocked from now on.
#[expect(unsafe_code, reason = "there is no safe form of signalfd(2)")]
pub(super) fn signals() -> io::Result<OwnedFd> {
    let set = taken();
    // SAFETY: SIG_DFL installs no handler. If the process that started the daemon had ignored the ends of children, this process and
    // the held one would inherit that, and no exit status would be kept.
    unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    // SAFETY: the set is valid, and the shim has one thread.
    if unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above; the result is checked before it is owned, and nothing else has it.
    unsafe {
        match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(io::Error::last_os_error()),
            descriptor => Ok(OwnedFd::from_raw_fd(descriptor)),
        }
    }
}

/// Reads a signal from the descriptor; `None` if none is there.
pub(super) fn next_signal(signals: &OwnedFd) -> Option<Signalled> {
    let mut bytes = [0; size_of::<libc::signalfd_siginfo>()];
    let read = rustix::io::read(signals, &mut bytes).ok()?;
    let number = bytes.get(..read)?.first_chunk::<4>()?;
    Some(match libc::c_int::from_ne_bytes(*number) {
        libc::SIGCHLD => Signalled::Child,
        libc::SIGTERM => Signalled::End,
        _ => Signalled::Ignored,
    })
}

/// Closes all descriptors above 2: those of the daemon that were open without the flag for it.
#[expect(unsafe_code, reason = "rustix has no close_range")]
pub(super) fn close_inherited() {
    // SAFETY: called first, when this process has opened nothing above 2. An old kernel refuses the call; then they stay open.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
}

/// Steps between fork and exec. Everything is prepared, so that only system calls are left.
#[derive(Debug)]
pub(super) struct Steps {
    /// The shim.
    pub parent: rustix::process::Pid,
    /// What to write to `/proc/self/oom_score_adj`.
    pub oom_score: Vec<u8>,
    /// See [`acpd_shim::Start::open_files`].
    pub open_files: Option<acpd_shim::OpenFiles>,
    /// See [`acpd_shim::Start::mark`].
    pub mark: Option<u64>,
    /// The terminal that becomes the controlling one.
    pub terminal: Option<OwnedFd>,
    /// Landlock rules.
    pub rules: Option<OwnedFd>,
    /// Instructions of a filter.
    pub filter: Vec<libc::sock_filter>,
}

impl Steps {
    /// Has the command take these steps.
    #[expect(
        unsafe_code,
        reason = "pre_exec has no safe form; the closure makes system calls and allocates nothing"
    )]
    pub fn of(self, command: &mut Command) {
        // SAFETY: between fork and exec only async-signal-safe calls are allowed. These are only system calls; their data was
        // prepared before the fork.
        unsafe { command.pre_exec(move || self.take()) };
    }

    fn take(&self) -> io::Result<()> {
        use rustix::process::{Resource, Rlimit, Signal, setrlimit};
        rustix::process::setsid()?;
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        if rustix::process::getppid() != Some(self.parent) {
            // The shim ended before the signal was set.
            return Err(rustix::io::Errno::CANCELED.into());
        }
        unblock()?;
        if let Some(acpd_shim::OpenFiles { current, maximum }) = self.open_files {
            setrlimit(Resource::Nofile, Rlimit { current, maximum })?;
        }
        if let Some(mark) = self.mark {
            carry(mark);
        }
        // Without it, a lack of memory may end the shim before the agent, which ends both. The file belongs to another user unless
        // this process may be traced, as any is after its exec.
        let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable);
        let _ = raise_oom_score(&self.oom_score);
        if let Some(terminal) = &self.terminal {
            rustix::process::ioctl_tiocsctty(terminal)?;
            ignore_hangup();
        }
        if let Some(rules) = &self.rules {
            confine(rules)?;
        }
        if !self.filter.is_empty() {
            filter(&self.filter);
        }
        Ok(())
    }
}

/// Marks this process and what it starts. Makes only a system call.
pub(super) fn carry(mark: u64) {
    let limit = rustix::process::Rlimit {
        current: Some(mark),
        maximum: Some(mark),
    };
    // Refused under another daemon whose mark is lower. The environment is enough then.
    let _ = rustix::process::setrlimit(rustix::process::Resource::Rttime, limit);
}

#[expect(unsafe_code, reason = "there is no safe form of sigprocmask(2)")]
fn unblock() -> io::Result<()> {
    let set = taken();
    // SAFETY: the set is valid.
    match unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, &raw const set, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn raise_oom_score(score: &[u8]) -> rustix::io::Result<()> {
    use rustix::fs::{Mode, OFlags};
    let file = rustix::fs::open(
        c"/proc/self/oom_score_adj",
        OFlags::WRONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    rustix::io::write(file, score)?;
    Ok(())
}

#[expect(unsafe_code, reason = "there is no safe form of signal(2)")]
fn ignore_hangup() {
    // SAFETY: SIG_IGN installs no handler, so no code of ours runs in a signal.
    unsafe { libc::signal(libc::SIGHUP, libc::SIG_IGN) };
}

#[expect(unsafe_code, reason = "rustix has no Landlock")]
fn confine(rules: &OwnedFd) -> io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    // SAFETY: the system call only takes numbers.
    match unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[expect(unsafe_code, reason = "there is no safe form of seccomp(2)")]
fn filter(instructions: &[libc::sock_filter]) {
    let program = libc::sock_fprog {
        len: u16::try_from(instructions.len()).unwrap_or(0),
        filter: instructions.as_ptr().cast_mut(),
    };
    // SAFETY: the program is valid for its declared length, and the call only reads it.
    unsafe {
        // Refused without privileges or `no_new_privs`, or by a kernel without filters. Then the mark can be removed, and the shim
        // still ends the process as its descendant.
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            0,
            &raw const program,
        );
    }
}

/// Returns the instructions of a filter as it was sent.
pub(super) fn instructions(filter: &[u8]) -> Vec<libc::sock_filter> {
    let instruction = |bytes: &[u8]| {
        Some(libc::sock_filter {
            code: u16::from_le_bytes(*bytes.first_chunk()?),
            jt: *bytes.get(2)?,
            jf: *bytes.get(3)?,
            k: u32::from_le_bytes(*bytes.last_chunk()?),
        })
    };
    filter.chunks_exact(8).filter_map(instruction).collect()
}
