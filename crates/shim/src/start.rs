//! What a daemon sends to a shim that it starts.
//!
//! In: a program and its streams. Out: a block of bytes in memory. Never: on a command line or in an environment of the shim, where
//! other processes could read the token.
//!
//! A block is a sequence of fields: a tag of one byte, a length of 32 bits in little-endian order, and bytes. After an upgrade of the
//! files on disk, a daemon that still runs starts the shim of a later version. Tags are therefore only added, and keep their meaning.
//! A tag that the shim does not know is refused: a daemon never starts an earlier shim.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use rustix::fs::{MemfdFlags, fstat, memfd_create};
use rustix::io::{pread, pwrite};

use crate::error::retried;
use crate::frame::Token;

/// Largest block, in bytes. It is above what the system takes as arguments and environment.
pub const MOST_START_BYTES: u64 = 8 << 20;

/// The streams of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamKind {
    /// Three pipes. Stdout loses nothing.
    Pipes {
        /// Size of the ring: the longest line, and what may arrive behind it.
        ring: u64,
    },
    /// A terminal of this size. Its last output is kept.
    Terminal {
        /// Width in characters.
        columns: u16,
        /// Height in lines.
        rows: u16,
        /// Bytes of output to keep.
        kept: u64,
    },
}

/// A limit of open files. `None` means unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFiles {
    /// The soft limit.
    pub current: Option<u64>,
    /// The hard limit.
    pub maximum: Option<u64>,
}

/// A process to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// The secret of daemons that may attach.
    pub token: Token,
    /// Name to look up on `PATH`, or a path.
    pub command: OsString,
    /// Arguments of the program.
    pub arguments: Vec<OsString>,
    /// The complete environment of the program.
    pub environment: Vec<(OsString, OsString)>,
    /// Working directory of the program.
    pub directory: PathBuf,
    /// Its streams.
    pub streams: StreamKind,
    /// Seconds that the shim waits for another daemon.
    pub orphan_secs: u64,
    /// The shim moves all bytes by copying, as if splice did not work.
    pub copies: bool,
    /// The mark of the process, as its hard limit of real-time CPU time.
    pub mark: Option<u64>,
    /// The mark of the shim itself, which is not lower than that of its process. By it, a descendant that has removed its own mark is
    /// still known, once the shim is not a child of the daemon any more.
    pub shim_mark: Option<u64>,
    /// The limit of open files, if it is not that of the shim.
    pub open_files: Option<OpenFiles>,
    /// A filter of system calls, as instructions for the kernel: 8 bytes each, their numbers in little-endian order.
    pub filter: Vec<u8>,
}

const TOKEN: u8 = 1;
const COMMAND: u8 = 2;
const ARGUMENT: u8 = 3;
const VARIABLE: u8 = 4;
const VALUE: u8 = 5;
const DIRECTORY: u8 = 6;
const PIPES: u8 = 7;
const TERMINAL: u8 = 8;
const ORPHAN_SECS: u8 = 9;
const COPIES: u8 = 10;
const MARK: u8 = 11;
const OPEN_FILES: u8 = 12;
const FILTER: u8 = 13;
const SHIM_MARK: u8 = 14;

impl Start {
    /// Returns a process with the default for everything but these.
    pub fn new(token: Token, command: impl Into<OsString>, streams: StreamKind) -> Self {
        Self {
            token,
            command: command.into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: PathBuf::from("/"),
            streams,
            orphan_secs: 60,
            copies: false,
            mark: None,
            shim_mark: None,
            open_files: None,
            filter: Vec::new(),
        }
    }

    fn encode(&self) -> io::Result<Vec<u8>> {
        let mut block = Block(Vec::new());
        block.field(TOKEN, &self.token.0.to_le_bytes())?;
        block.field(COMMAND, self.command.as_bytes())?;
        for argument in &self.arguments {
            block.field(ARGUMENT, argument.as_bytes())?;
        }
        for (name, value) in &self.environment {
            block.field(VARIABLE, name.as_bytes())?;
            block.field(VALUE, value.as_bytes())?;
        }
        block.field(DIRECTORY, self.directory.as_os_str().as_bytes())?;
        match self.streams {
            StreamKind::Pipes { ring } => block.numbers(PIPES, &[ring])?,
            StreamKind::Terminal { columns, rows, kept } => {
                block.numbers(TERMINAL, &[u64::from(columns), u64::from(rows), kept])?;
            }
        }
        block.numbers(ORPHAN_SECS, &[self.orphan_secs])?;
        if self.copies {
            block.field(COPIES, &[])?;
        }
        if let Some(mark) = self.mark {
            block.numbers(MARK, &[mark])?;
        }
        if let Some(OpenFiles { current, maximum }) = self.open_files {
            block.numbers(OPEN_FILES, &[limit(current), limit(maximum)])?;
        }
        if !self.filter.is_empty() {
            block.field(FILTER, &self.filter)?;
        }
        if let Some(mark) = self.shim_mark {
            block.numbers(SHIM_MARK, &[mark])?;
        }
        Ok(block.0)
    }

    fn decode(block: &[u8]) -> Option<Self> {
        let mut start = Self::new(Token(0), OsString::new(), StreamKind::Pipes { ring: 0 });
        let mut rest = block;
        let (mut has_token, mut has_streams) = (false, false);
        while !rest.is_empty() {
            let (tag, field, behind) = split(rest)?;
            rest = behind;
            let text = || OsString::from_vec(field.to_vec());
            match tag {
                TOKEN => {
                    start.token = Token(u128::from_le_bytes(field.try_into().ok()?));
                    has_token = true;
                }
                COMMAND => start.command = text(),
                ARGUMENT => start.arguments.push(text()),
                VARIABLE => start.environment.push((text(), OsString::new())),
                VALUE => start.environment.last_mut()?.1 = text(),
                DIRECTORY => start.directory = PathBuf::from(text()),
                PIPES => {
                    let [ring] = numbers(field)?;
                    start.streams = StreamKind::Pipes { ring };
                    has_streams = true;
                }
                TERMINAL => {
                    let [columns, rows, kept] = numbers(field)?;
                    start.streams = StreamKind::Terminal {
                        columns: columns.try_into().ok()?,
                        rows: rows.try_into().ok()?,
                        kept,
                    };
                    has_streams = true;
                }
                ORPHAN_SECS => [start.orphan_secs] = numbers(field)?,
                COPIES => start.copies = true,
                MARK => start.mark = Some(numbers::<1>(field)?[0]),
                OPEN_FILES => {
                    let [current, maximum] =
                        numbers(field)?.map(|limit| (limit != u64::MAX).then_some(limit));
                    start.open_files = Some(OpenFiles { current, maximum });
                }
                FILTER => start.filter = field.to_vec(),
                SHIM_MARK => start.shim_mark = Some(numbers::<1>(field)?[0]),
                _ => return None,
            }
        }
        (has_token && has_streams && !start.command.is_empty()).then_some(start)
    }

    /// Writes the block into memory of its own.
    pub fn to_block(&self) -> io::Result<OwnedFd> {
        let bytes = self.encode()?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MOST_START_BYTES {
            return Err(io::ErrorKind::ArgumentListTooLong.into());
        }
        let block = memfd_create("acpd-start", MemfdFlags::CLOEXEC)?;
        let mut rest = bytes.as_slice();
        let mut place = 0;
        while !rest.is_empty() {
            let written = retried(|| pwrite(&block, rest, place))?;
            place += u64::try_from(written).unwrap_or_default();
            rest = rest.get(written..).unwrap_or_default();
        }
        Ok(block)
    }

    /// Reads a block.
    pub fn of_block(block: &OwnedFd) -> io::Result<Self> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidData);
        let size = u64::try_from(fstat(block)?.st_size).unwrap_or_default();
        if size > MOST_START_BYTES {
            return Err(invalid());
        }
        let mut bytes = vec![0; usize::try_from(size).unwrap_or_default()];
        let mut done = 0;
        while done < bytes.len() {
            let place = u64::try_from(done).unwrap_or_default();
            match retried(|| pread(block, &mut bytes[done..], place))? {
                0 => return Err(invalid()),
                read => done += read,
            }
        }
        Self::decode(&bytes).ok_or_else(invalid)
    }
}

struct Block(Vec<u8>);

impl Block {
    fn field(&mut self, tag: u8, bytes: &[u8]) -> io::Result<()> {
        let length = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::ArgumentListTooLong)?;
        self.0.push(tag);
        self.0.extend(length.to_le_bytes());
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn numbers(&mut self, tag: u8, numbers: &[u64]) -> io::Result<()> {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.field(tag, &bytes)
    }
}

fn limit(limit: Option<u64>) -> u64 {
    limit.unwrap_or(u64::MAX)
}

/// Splits the first field off.
fn split(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_at_checked(4)?;
    let length = u32::from_le_bytes(length.try_into().ok()?);
    let (field, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    Some((*tag, field, rest))
}

fn numbers<const N: usize>(field: &[u8]) -> Option<[u64; N]> {
    if field.len() != N * 8 {
        return None;
    }
    let mut found = [0; N];
    for (number, bytes) in found.iter_mut().zip(field.chunks_exact(8)) {
        *number = u64::from_le_bytes(bytes.try_into().ok()?);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples() -> [Start; 3] {
        let plain = Start::new(Token(1), "sh", StreamKind::Pipes { ring: 4096 });
        let full = Start {
            arguments: vec!["-c".into(), "".into(), OsString::from_vec(vec![0xff, 0xfe])],
            environment: vec![("A".into(), "".into()), ("B".into(), "b=c".into())],
            directory: "/tmp".into(),
            orphan_secs: 3600,
            copies: true,
            mark: Some(u64::MAX - 1),
            shim_mark: Some(u64::MAX - 2),
            open_files: Some(OpenFiles {
                current: Some(1024),
                maximum: None,
            }),
            filter: vec![0; 80],
            ..plain.clone()
        };
        let terminal = Start {
            streams: StreamKind::Terminal {
                columns: 120,
                rows: 30,
                kept: 1 << 20,
            },
            ..full.clone()
        };
        [plain, full, terminal]
    }

    /// Blocks as they were sent, by the first version. Blocks of later versions are only added.
    #[test]
    fn blocks_of_each_version_are_read() {
        let pipes = concat!(
            "01 10000000 01000000000000000000000000000000",
            "02 02000000 7368",
            "03 02000000 2d63",
            "03 00000000",
            "03 02000000 fffe",
            "04 01000000 41 05 00000000",
            "04 01000000 42 05 03000000 623d63",
            "06 04000000 2f746d70",
            "07 08000000 0010000000000000",
            "09 08000000 100e000000000000",
            "0a 00000000",
            "0b 08000000 feffffffffffffff",
            "0c 10000000 0004000000000000 ffffffffffffffff",
            "0d 50000000",
        );
        let filter = "00".repeat(80);
        let shim_mark = "0e 08000000 fdffffffffffffff";
        let terminal = concat!(
            "01 10000000 01000000000000000000000000000000",
            "02 02000000 7368",
            "06 01000000 2f",
            "08 18000000 7800000000000000 1e00000000000000 0000100000000000",
            "09 08000000 3c00000000000000",
        );
        let [plain, full, full_terminal] = samples();
        let plain_terminal = Start {
            streams: full_terminal.streams,
            ..plain
        };
        let first = Start {
            shim_mark: None,
            ..full.clone()
        };
        for (start, block) in [
            (first, format!("{pipes}{filter}")),
            (full, format!("{pipes}{filter}{shim_mark}")),
            (plain_terminal, terminal.to_owned()),
        ] {
            let digits: Vec<char> = block.chars().filter(|digit| *digit != ' ').collect();
            let bytes: Vec<u8> = digits
                .chunks_exact(2)
                .map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap())
                .collect();
            assert_eq!(start.encode().unwrap(), bytes);
            assert_eq!(Start::decode(&bytes), Some(start));
        }
    }

    #[test]
    fn a_block_is_read_back() {
        for start in samples() {
            assert_eq!(Start::of_block(&start.to_block().unwrap()).unwrap(), start);
        }
    }

    #[test]
    fn a_block_that_is_cut_or_unknown_is_refused() {
        let [_, full, _] = samples();
        let bytes = full.encode().unwrap();
        // Whole fields may be missing at the end: each is optional behind the streams.
        let shortest = bytes.len() - 13 - full.filter.len();
        for length in (0..100).chain(shortest..bytes.len()) {
            let cut = Start::decode(&bytes[..length]);
            assert!(cut.as_ref() != Some(&full), "{length}");
        }
        let mut unknown = bytes.clone();
        unknown.extend([200, 0, 0, 0, 0]);
        assert_eq!(Start::decode(&unknown), None);
        let mut long = bytes;
        long.extend([FILTER, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(Start::decode(&long), None);
        assert_eq!(Start::decode(&[]), None);
    }

    #[test]
    fn a_block_with_any_change_is_read_or_refused() {
        for start in samples() {
            let bytes = start.encode().unwrap();
            for place in 0..bytes.len() {
                for value in [0, 1, 8, 0x7f, 0xff] {
                    let mut changed = bytes.clone();
                    changed[place] = value;
                    if let Some(read) = Start::decode(&changed) {
                        assert_eq!(Start::decode(&read.encode().unwrap()), Some(read));
                    }
                }
            }
        }
    }

    #[test]
    fn a_block_that_is_too_large_is_refused() {
        let [mut start, ..] = samples();
        start.filter = vec![0; usize::try_from(MOST_START_BYTES).unwrap()];
        assert!(start.to_block().is_err());
    }
}
