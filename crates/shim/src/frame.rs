//! Frames between a daemon and a shim.
//!
//! In: bytes of a datagram. Out: frames. Never: contains text or a length; what is longer than four numbers is a descriptor.
//!
//! A frame is 40 bytes in little-endian order: its kind and the sender's version of the protocol with 32 bits each, and four numbers
//! of 64 bits. A shim lives as long as its process, so it meets daemons of later versions, and they meet it. Kinds and numbers are
//! therefore only added: an unused number is 0, and a kind that the receiver does not know is refused with [`Frame::Refused`].

/// Size of every frame, in bytes.
pub const FRAME_BYTES: usize = 40;

/// This version of the protocol.
pub const PROTOCOL: u32 = 1;

/// The secret that a daemon shows to attach. Only the daemon's log and the shim have it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Token(pub u128);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// Compares in a time that does not depend on where the tokens differ.
    pub fn matches(self, other: Self) -> bool {
        self.0 ^ other.0 == 0
    }

    fn halves(self) -> [u64; 2] {
        let bytes = self.0.to_le_bytes();
        [number(&bytes, 0), number(&bytes, 1)]
    }

    fn of_halves([low, high]: [u64; 2]) -> Self {
        Self(u128::from(high) << 64 | u128::from(low))
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It exited with this code.
    Exited(u32),
    /// It was ended by this signal.
    Signalled(u32),
}

const EXITED: u64 = 1 << 32;
const SIGNALLED: u64 = 2 << 32;
const LOW: u64 = 0xffff_ffff;

impl Status {
    fn number(status: Option<Self>) -> u64 {
        match status {
            None => 0,
            Some(Self::Exited(code)) => EXITED | u64::from(code),
            Some(Self::Signalled(signal)) => SIGNALLED | u64::from(signal),
        }
    }

    /// A number of a later version counts as an exit, which is what it says in any case.
    fn of_number(number: u64) -> Option<Self> {
        match number & !LOW {
            0 => None,
            SIGNALLED => Some(Self::Signalled(low(number))),
            _ => Some(Self::Exited(low(number))),
        }
    }
}

/// Facts about a shim's streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts {
    /// The shim moves all bytes, also while a daemon is attached.
    pub copies: bool,
    /// The process is on a terminal.
    pub is_terminal: bool,
    /// The shim has the write end of the process's stdin.
    pub has_stdin: bool,
    /// All output is in the ring: no process has the pipe open any more.
    pub output_ended: bool,
}

impl Facts {
    fn number(self) -> u64 {
        let bits = [self.copies, self.is_terminal, self.has_stdin, self.output_ended];
        bits.iter()
            .rev()
            .fold(0, |number, bit| number << 1 | u64::from(*bit))
    }

    fn of_number(number: u64) -> Self {
        let bit = |place: u32| number >> place & 1 == 1;
        Self {
            copies: bit(0),
            is_terminal: bit(1),
            has_stdin: bit(2),
            output_ended: bit(3),
        }
    }
}

/// What a shim says when a daemon has attached. Its descriptors are, for pipes: stdout, ring, journal, kept stderr, wake-up, and
/// stdin if there is one; for a terminal: its master, kept output, wake-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// Bytes of output that have been moved into the ring since the process started.
    pub head: u64,
    /// Bytes of output that the shim may overwrite.
    pub tail: u64,
    /// Id of the process.
    pub process: u32,
    /// Facts about its streams.
    pub facts: Facts,
    /// How the process ended; `None` while it runs.
    pub status: Option<Status>,
}

/// Why a shim closes a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Farewell {
    /// The shim's processes are gone, and it exits.
    Ended {
        /// Processes that could not be ended. Shims of the first version do not say how many.
        left: u32,
    },
    /// Another daemon is attached.
    Busy,
    /// The token is not this shim's.
    Denied,
    /// The cursor is not between the bytes that were overwritten and those that have arrived. Shims of the first version say 0 for both.
    Cursor {
        /// Bytes of output that may be overwritten.
        tail: u64,
        /// Bytes of output that have arrived.
        head: u64,
    },
    /// The shim could not start: the step, and the error number of the system.
    Failed {
        /// The step, by its number in [`crate::ShimError::step`].
        step: u32,
        /// The error number; 0 if the system refused nothing.
        errno: u32,
    },
    /// A reason of a later version.
    Other(u64),
}

impl Farewell {
    fn numbers(self) -> [u64; 3] {
        match self {
            Self::Ended { left } => [1, u64::from(left), 0],
            Self::Busy => [2, 0, 0],
            Self::Denied => [3, 0, 0],
            Self::Cursor { tail, head } => [4, tail, head],
            Self::Failed { step, errno } => [5, u64::from(step) << 32 | u64::from(errno), 0],
            Self::Other(reason) => [reason, 0, 0],
        }
    }

    fn of_numbers([reason, detail, second]: [u64; 3]) -> Self {
        match reason {
            1 => Self::Ended { left: low(detail) },
            2 => Self::Busy,
            3 => Self::Denied,
            4 => Self::Cursor {
                tail: detail,
                head: second,
            },
            5 => Self::Failed {
                step: low(detail >> 32),
                errno: low(detail),
            },
            reason => Self::Other(reason),
        }
    }
}

/// A frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// Shim: a daemon is attached.
    Hello(Hello),
    /// Daemon: attaches, with the number of bytes of output whose lines are in the log.
    Attach {
        /// The shim's token.
        token: Token,
        /// Bytes of output that need not be kept. A terminal has none.
        cursor: u64,
    },
    /// Daemon: all output up to here is stored, so its place may be used again.
    Ack(u64),
    /// Daemon: how many seconds the shim waits for another daemon when this one is gone.
    Limits(u64),
    /// Daemon: closes the process's stdin. The daemon closes its own end as well.
    CloseStdin,
    /// Daemon: sends a signal to the process's group.
    Signal(u32),
    /// Daemon: the size of the terminal.
    Resize {
        /// Width in characters.
        columns: u16,
        /// Height in lines.
        rows: u16,
    },
    /// Daemon: ends the process and all its descendants, with SIGTERM and after these milliseconds with SIGKILL.
    End(u64),
    /// Shim: the process has ended. Its output may still arrive.
    Exited(Status),
    /// Either side: closes the connection.
    Bye(Farewell),
    /// Daemon: starts the process of the first descriptor's block, within the Landlock rules of the second one.
    Start,
    /// Daemon: the journal is whole up to here. Only to a shim that moves all bytes.
    Flush(u64),
    /// Shim: no more output can arrive; this is all. Only from a shim that moves all bytes.
    OutputEnded(u64),
    /// Shim: the receiver does not know this kind of frame, or it makes no sense here.
    Refused(u32),
    /// A frame of a later version.
    Unknown(u32),
}

impl Frame {
    /// Returns the number of the frame's kind.
    pub fn kind(&self) -> u32 {
        match self {
            Self::Hello(_) => 1,
            Self::Attach { .. } => 2,
            Self::Ack(_) => 3,
            Self::Limits(_) => 4,
            Self::CloseStdin => 5,
            Self::Signal(_) => 6,
            Self::Resize { .. } => 7,
            Self::End(_) => 8,
            Self::Exited(_) => 9,
            Self::Bye(_) => 10,
            Self::Start => 11,
            Self::Flush(_) => 12,
            Self::OutputEnded(_) => 13,
            Self::Refused(_) => 14,
            Self::Unknown(kind) => *kind,
        }
    }

    /// Encodes the frame in this version.
    pub fn encode(&self) -> [u8; FRAME_BYTES] {
        let numbers = match *self {
            Self::Hello(hello) => [
                hello.head,
                hello.tail,
                hello.facts.number() << 32 | u64::from(hello.process),
                Status::number(hello.status),
            ],
            Self::Attach { token, cursor } => {
                let [low, high] = token.halves();
                [low, high, cursor, 0]
            }
            Self::Ack(number)
            | Self::Limits(number)
            | Self::End(number)
            | Self::Flush(number)
            | Self::OutputEnded(number) => [number, 0, 0, 0],
            Self::Signal(number) | Self::Refused(number) => [u64::from(number), 0, 0, 0],
            Self::Resize { columns, rows } => [u64::from(columns), u64::from(rows), 0, 0],
            Self::Exited(status) => [Status::number(Some(status)), 0, 0, 0],
            Self::Bye(farewell) => {
                let [reason, detail, second] = farewell.numbers();
                [reason, detail, second, 0]
            }
            Self::CloseStdin | Self::Start | Self::Unknown(_) => [0; 4],
        };
        let mut bytes = [0; FRAME_BYTES];
        bytes[..4].copy_from_slice(&self.kind().to_le_bytes());
        bytes[4..8].copy_from_slice(&PROTOCOL.to_le_bytes());
        for (place, number) in bytes[8..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// Decodes a datagram; `None` if it has another size than a frame. The sender's version is not looked at: what it changes in
    /// the meaning of a frame is a kind of its own.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; FRAME_BYTES] = bytes.try_into().ok()?;
        let kind = low(number(bytes, 0));
        let [a, b, c, d] = [1, 2, 3, 4].map(|place| number(bytes, place));
        // A number that is too large for its type is one of a later version.
        let small = |number: u64| u16::try_from(number).unwrap_or(u16::MAX);
        Some(match kind {
            1 => Self::Hello(Hello {
                head: a,
                tail: b,
                process: low(c),
                facts: Facts::of_number(c >> 32),
                status: Status::of_number(d),
            }),
            2 => Self::Attach {
                token: Token::of_halves([a, b]),
                cursor: c,
            },
            3 => Self::Ack(a),
            4 => Self::Limits(a),
            5 => Self::CloseStdin,
            6 => Self::Signal(low(a)),
            7 => Self::Resize {
                columns: small(a),
                rows: small(b),
            },
            8 => Self::End(a),
            9 => match Status::of_number(a) {
                Some(status) => Self::Exited(status),
                None => Self::Unknown(kind),
            },
            10 => Self::Bye(Farewell::of_numbers([a, b, c])),
            11 => Self::Start,
            12 => Self::Flush(a),
            13 => Self::OutputEnded(a),
            14 => Self::Refused(low(a)),
            kind => Self::Unknown(kind),
        })
    }
}

/// Returns the number in these 8 bytes. The callers' places are inside of their arrays.
fn number(bytes: &[u8], place: usize) -> u64 {
    let part = bytes.chunks_exact(8).nth(place).unwrap_or_default();
    part.iter()
        .rev()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn low(number: u64) -> u32 {
    u32::try_from(number & LOW).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: Token = Token(0x0f0e_0d0c_0b0a_0908_0706_0504_0302_0100);

    /// Frames of each version, as they were sent. Lines are only added.
    fn golden() -> Vec<(Frame, &'static str)> {
        let facts = |copies, is_terminal, has_stdin, output_ended| Facts {
            copies,
            is_terminal,
            has_stdin,
            output_ended,
        };
        let hello = Hello {
            head: 0x0102_0304_0506_0708,
            tail: 0xff,
            process: 0x1234,
            facts: facts(false, false, true, false),
            status: None,
        };
        let ended = Hello {
            facts: facts(true, true, false, true),
            status: Some(Status::Exited(7)),
            ..hello
        };
        vec![
            (
                Frame::Hello(hello),
                "0100000001000000 0807060504030201 ff00000000000000 3412000004000000 0000000000000000",
            ),
            (
                Frame::Hello(ended),
                "0100000001000000 0807060504030201 ff00000000000000 341200000b000000 0700000001000000",
            ),
            (
                Frame::Attach {
                    token: TOKEN,
                    cursor: 5,
                },
                "0200000001000000 0001020304050607 08090a0b0c0d0e0f 0500000000000000 0000000000000000",
            ),
            (
                Frame::Ack(0x0100),
                "0300000001000000 0001000000000000 0000000000000000 0000000000000000 0000000000000000",
            ),
            (
                Frame::Limits(3600),
                "0400000001000000 100e000000000000 0000000000000000 0000000000000000 0000000000000000",
            ),
            (
                Frame::CloseStdin,
                "0500000001000000 0000000000000000 0000000000000000 0000000000000000 0000000000000000",
            ),
            (
                Frame::Signal(15),
                "0600000001000000 0f00000000000000 0000000000000000 0000000000000000 0000000000000000",
            ),
            (
                Frame::Resize {
                    columns: 120,
                    rows: 30,
                },
                "0700000001000000 7800000000000000 1e00000000000000 0000000000000000 0000000000000000",
            ),
            (
                Frame::End(2000),
                "0800000001000000 d007000000000000 0000000000000000 0000000000000000 0000000000000000",
            ),
            (
                Frame::Exited(Status::Exited(0)),
                "0900000001000000 0000000001000000 0000000000000000 0000000000000000 0000000000000000",
            ),
            (
                Frame::Exited(Status::Signalled(9)),
                "0900000001000000 0900000002000000 0000000000000000 0000000000000000 0000000000000000",
            ),
            (
                Frame::Bye(Farewell::Ended { left: 0 }),
                "0a00000001000000 0100000000000000 0000000000000000 0000000000000000 0000000000000000",
            ),
            (
                Frame::Bye(Farewell::Ended { left: 2 }),
                "0a00000001000000 0100000000000000 0200000000000000 0000000000000000 0000000000000000",
            ),
            (
                Frame::Bye(Farewell::Cursor { tail: 5, head: 6 }),
                "0a00000001000000 0400000000000000 0500000000000000 0600000000000000 0000000000000000",
            ),
            (
                Frame::Bye(Farewell::Failed { step: 3, errno: 13 }),
                "0a00000001000000 0500000000000000 0d00000003000000 0000000000000000 0000000000000000",
            ),
            (
                Frame::Start,
                "0b00000001000000 0000000000000000 0000000000000000 0000000000000000 0000000000000000",
            ),
            (
                Frame::Flush(9),
                "0c00000001000000 0900000000000000 0000000000000000 0000000000000000 0000000000000000",
            ),
            (
                Frame::OutputEnded(9),
                "0d00000001000000 0900000000000000 0000000000000000 0000000000000000 0000000000000000",
            ),
            (
                Frame::Refused(99),
                "0e00000001000000 6300000000000000 0000000000000000 0000000000000000 0000000000000000",
            ),
        ]
    }

    fn hex(bytes: &[u8]) -> String {
        let words = bytes.chunks(8);
        let words = words.map(|word| word.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn frames_have_the_bytes_of_their_version() {
        for (frame, bytes) in golden() {
            assert_eq!(hex(&frame.encode()), bytes, "{frame:?}");
            assert_eq!(Frame::decode(&frame.encode()), Some(frame));
        }
    }

    #[test]
    fn each_farewell_is_read_back() {
        for farewell in [
            Farewell::Ended { left: u32::MAX },
            Farewell::Busy,
            Farewell::Denied,
            Farewell::Cursor {
                tail: 1,
                head: u64::MAX,
            },
            Farewell::Failed {
                step: u32::MAX,
                errno: 1,
            },
            Farewell::Other(77),
        ] {
            let frame = Frame::Bye(farewell);
            assert_eq!(Frame::decode(&frame.encode()), Some(frame));
        }
    }

    #[test]
    fn frames_of_later_versions_are_unknown_and_other_sizes_are_none() {
        let mut bytes = [0xff; FRAME_BYTES];
        assert_eq!(Frame::decode(&bytes), Some(Frame::Unknown(u32::MAX)));
        bytes[..4].copy_from_slice(&7_u32.to_le_bytes());
        let largest = Frame::Resize {
            columns: u16::MAX,
            rows: u16::MAX,
        };
        assert_eq!(Frame::decode(&bytes), Some(largest));
        for size in [0, 1, FRAME_BYTES - 1, FRAME_BYTES + 1, 4096] {
            assert_eq!(Frame::decode(&vec![1; size]), None, "{size}");
        }
    }

    #[test]
    fn any_frame_means_the_same_once_it_was_read() {
        let mut seed: u64 = 1;
        for round in 0..100_000 {
            let mut bytes = [0; FRAME_BYTES];
            for word in bytes.chunks_exact_mut(8) {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // Small numbers, whole ones, and high bits alone.
                word.copy_from_slice(&(seed >> [0, 32, 56, 60][round % 4]).to_le_bytes());
            }
            let kind = u32::try_from(round % 17).unwrap();
            bytes[..4].copy_from_slice(&kind.to_le_bytes());
            let frame = Frame::decode(&bytes).unwrap();
            assert_eq!(frame.kind(), kind);
            assert_eq!(Frame::decode(&frame.encode()), Some(frame));
        }
    }

    #[test]
    fn a_token_is_not_printed() {
        assert_eq!(format!("{TOKEN:?}"), "Token");
        assert!(TOKEN.matches(TOKEN) && !TOKEN.matches(Token(TOKEN.0 ^ 1 << 127)));
    }
}
