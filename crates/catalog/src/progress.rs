//! The progress of an installation, for those who want to see it.

/// Receives the progress of an installation, on the thread that installs.
pub type Watch<'a> = &'a (dyn Fn(Progress<'_>) + Sync);

/// How far an installation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress<'a> {
    /// Some of a download has arrived.
    Received {
        /// Bytes so far.
        bytes: u64,
        /// All bytes, if the server reports them.
        of: Option<u64>,
    },
    /// A download is being unpacked.
    Unpacking,
    /// npm, uv or pip wrote this line.
    Wrote(&'a str),
}
