//! What is recorded, and how much.

use std::time::Duration;

use bytes::Bytes;

/// A direction in a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the daemon to an agent.
    ToAgent,
    /// From an agent.
    FromAgent,
    /// From a client.
    FromClient,
    /// To a client.
    ToClient,
}

impl Direction {
    /// Returns the word for it in a file.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::ToAgent => "c2a",
            Self::FromAgent => "a2c",
            Self::FromClient => "c2s",
            Self::ToClient => "s2c",
        }
    }

    /// Returns the place of the direction among the two of its pipe.
    pub(super) fn place(self) -> usize {
        match self {
            Self::ToAgent | Self::FromClient => 0,
            Self::FromAgent | Self::ToClient => 1,
        }
    }
}

/// Bounds of a recording, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// What waits for the disk.
    pub(super) queue: usize,
    /// The size of one file.
    pub(super) file: u64,
    /// The size of all files.
    pub(super) total: u64,
}

/// What the thread that writes does next.
#[derive(Debug)]
pub(super) enum WriterCommand {
    Open {
        file: u64,
        name: String,
    },
    Data {
        file: u64,
        at: Duration,
        direction: Direction,
        bytes: Bytes,
        /// Whether the bytes are one whole message. Otherwise they are a part of a stream of lines.
        is_whole: bool,
        /// What was left out before.
        missed: u64,
    },
    Close {
        file: u64,
        missed: u64,
    },
    /// Nothing after this is written.
    Finish,
}
