//! The daemon as a whole: its disk, its clock, its start and its end.

/// Free bytes of the file system with the log below which the daemon reports that it is not ready.
pub const READY_FREE_BYTES: u64 = 4 << 20;
/// Free bytes of that file system below which the daemon warns that it is nearly full.
pub const LOW_FREE_BYTES: u64 = 1 << 30;
/// Time, in milliseconds, by which the host's clock may be set without effect, as NTP corrects it.
pub const CLOCK_SLACK_MILLIS: i64 = 5 * 60 * 1000;
/// Hourly looks in a row without a step of the host's clock, after which a clock that is behind a known time is followed.
pub const CLOCK_STEADY_LOOKS: u32 = 6;
/// Seconds in which a daemon must have accepted a command's connection and answered its first request.
pub const REACH_SECS: u64 = 30;
/// Seconds of these after which the command says that it waits.
pub const REACH_WORDS_SECS: u64 = 3;
/// Seconds that the daemon waits for its threads and agents on shutdown.
pub const SHUTDOWN_SECS: u64 = 10;
/// Largest file of a backup besides the log, in bytes.
pub const BACKUP_FILE_BYTES: u64 = 64 << 20;
