//! The mark that every process of this daemon carries, by which the daemon finds it wherever it has moved.
//!
//! In: a data directory. Out: marks, and the encoding that a process carries. Owns: the identity of this daemon. Never:
//! examines processes; [`crate::table`] does.
//!
//! A mark contains the daemon, its run, and the agent or terminal. It is in the environment as `ACPD_PROCESS`, for
//! users and for programs that may read it. A program can remove that, or forbid reading it (`ssh-agent` does).
//! Therefore, on Linux, the mark is also the hard limit of a process's real-time CPU time. The limit is some ten
//! thousand years, so it has no effect. It survives fork, exec, `setsid` and `env -i`, any process can read it, and
//! [`crate::seal`] keeps it from being changed.

use std::path::Path;
use std::sync::OnceLock;

/// The environment variable that holds a mark.
pub(crate) const VARIABLE: &str = "ACPD_PROCESS";

const INSTANCE_BITS: u32 = 28;
const GENERATION_BITS: u32 = 16;
const NUMBER_BITS: u32 = 18;
/// Distinguishes a mark from other limits. The bit above it stays clear, since all bits set means "unlimited".
const IS_MARK: u64 = 1 << (INSTANCE_BITS + GENERATION_BITS + NUMBER_BITS);

/// Upper bound of the numbers of processes.
pub(crate) const NUMBERS: u32 = 1 << NUMBER_BITS;

/// One run of one daemon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    /// Identity of the daemon: the same for each run with the same data directory.
    pub instance: u32,
    /// Number of the run.
    pub generation: u16,
}

/// One agent or terminal of one run, including its descendants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
    pub run: Run,
    pub number: u32,
}

static RUN: OnceLock<Run> = OnceLock::new();

impl Run {
    /// Returns this process's run. A process without a data directory counts as a separate daemon.
    pub fn current() -> Self {
        *RUN.get_or_init(|| Self::new(instance(&std::process::id().to_ne_bytes())))
    }

    /// Sets the data directory of this process. Only the first call has an effect: marks must not change while
    /// processes carry them.
    pub fn begin(data_dir: &Path) -> std::io::Result<Self> {
        use std::os::unix::ffi::OsStrExt;
        use std::os::unix::fs::MetadataExt;
        // The path distinguishes directories that had the same inode at different times. The inode distinguishes the
        // same path on different hosts.
        let path = data_dir.canonicalize()?;
        let inode = path.metadata()?;
        let mut name = path.as_os_str().as_bytes().to_vec();
        name.extend(inode.dev().to_ne_bytes());
        name.extend(inode.ino().to_ne_bytes());
        Ok(*RUN.get_or_init(|| Self::new(instance(&name))))
    }

    fn new(instance: u32) -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let mut seed = std::process::id().to_ne_bytes().to_vec();
        seed.extend(now.unwrap_or_default().as_nanos().to_ne_bytes());
        let hash = fnv(&seed);
        let generation = u16::try_from((hash ^ (hash >> 32)) & 0xffff).unwrap_or_default();
        Self { instance, generation }
    }

    /// Returns the run as an argument for the keeper.
    pub fn text(self) -> String {
        format!("{:07x}-{:04x}", self.instance, self.generation)
    }

    /// Parses the result of [`Run::text`].
    pub fn parse(text: &str) -> Option<Self> {
        let (instance, generation) = text.split_once('-')?;
        let instance = u32::from_str_radix(instance, 16).ok()?;
        let generation = u16::from_str_radix(generation, 16).ok()?;
        (instance < 1 << INSTANCE_BITS).then_some(Self { instance, generation })
    }
}

impl Mark {
    /// Returns the value of [`VARIABLE`].
    pub fn text(self) -> String {
        format!("{}-{}", self.run.text(), self.number)
    }

    /// Parses the result of [`Mark::text`].
    pub fn parse(text: &str) -> Option<Self> {
        let (run, number) = text.rsplit_once('-')?;
        let (run, number) = (Run::parse(run)?, number.parse().ok()?);
        (number < NUMBERS).then_some(Self { run, number })
    }

    /// Returns the mark as a hard limit, in microseconds.
    pub fn limit(self) -> u64 {
        let daemon = u64::from(self.run.instance) << GENERATION_BITS | u64::from(self.run.generation);
        IS_MARK | daemon << NUMBER_BITS | u64::from(self.number)
    }

    /// Parses the result of [`Mark::limit`]. Returns `None` for a limit that another program set.
    pub fn from_limit(limit: u64) -> Option<Self> {
        let bits = limit.checked_sub(IS_MARK).filter(|bits| *bits < IS_MARK)?;
        let take = |bits: u64, width: u32| u32::try_from(bits & ((1 << width) - 1)).ok();
        let number = take(bits, NUMBER_BITS)?;
        let generation = take(bits >> NUMBER_BITS, GENERATION_BITS)?;
        let instance = take(bits >> (NUMBER_BITS + GENERATION_BITS), INSTANCE_BITS)?;
        let generation = u16::try_from(generation).ok()?;
        Some(Self {
            run: Run { instance, generation },
            number,
        })
    }
}

fn instance(name: &[u8]) -> u32 {
    let hash = fnv(name);
    u32::try_from((hash ^ (hash >> 32)) & ((1 << INSTANCE_BITS) - 1)).unwrap_or_default()
}

/// Computes FNV-1a. A collision helps no attacker: a user who can choose the path can kill the processes anyway.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_back_from_both_places() {
        let last = Mark {
            run: Run {
                instance: (1 << INSTANCE_BITS) - 1,
                generation: u16::MAX,
            },
            number: NUMBERS - 1,
        };
        let first = Mark {
            run: Run {
                instance: 0,
                generation: 0,
            },
            number: 0,
        };
        let some = Mark {
            run: Run {
                instance: 0xabc,
                generation: 7,
            },
            number: 42,
        };
        assert_eq!(some.text(), "0000abc-0007-42");
        for mark in [first, some, last] {
            assert_eq!(Mark::parse(&mark.text()), Some(mark));
            assert_eq!(Mark::from_limit(mark.limit()), Some(mark));
        }
        assert_ne!(last.limit(), u64::MAX);
    }

    #[test]
    fn marks_of_other_users_are_ignored() {
        for limit in [0, 200_000, IS_MARK - 1, u64::MAX, u64::MAX - 1, IS_MARK << 1] {
            assert_eq!(Mark::from_limit(limit), None, "{limit}");
        }
        for text in [
            "",
            "1",
            "a-b",
            "x-0-1",
            "0-0-9999999",
            "fffffff0-0-1",
            "0-10000-1",
        ] {
            assert_eq!(Mark::parse(text), None, "{text}");
        }
    }
}
