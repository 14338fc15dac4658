//! The files of a recording, on the thread that writes them.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::value::RawValue;

use super::command::{Bounds, Direction, WriterCommand};
use super::redact::redacted;

/// Longest line that is recorded, in bytes.
const RECORD_LINE_BYTES: usize = 16 << 20;

/// Writes recordings.
#[derive(Debug)]
pub(super) struct Writer {
    directory: PathBuf,
    bounds: Bounds,
    total: u64,
    files: BTreeMap<u64, Output>,
    has_stopped: Arc<AtomicBool>,
}

/// One file.
#[derive(Debug)]
struct Output {
    file: BufWriter<File>,
    bytes: u64,
    /// The unfinished lines of both directions.
    lines: [Unfinished; 2],
    is_full: bool,
}

/// The beginning of a line.
#[derive(Debug, Default)]
struct Unfinished {
    line: Vec<u8>,
    /// Whether the rest of the line is left out, because a part of it is missing or it is too long.
    is_skipping: bool,
}

impl Writer {
    pub fn new(directory: PathBuf, bounds: Bounds, has_stopped: Arc<AtomicBool>) -> Self {
        Self {
            directory,
            bounds,
            total: 0,
            files: BTreeMap::new(),
            has_stopped,
        }
    }

    /// Carries out a command. After a failure of the disk nothing more is recorded.
    pub fn handle(&mut self, command: WriterCommand) {
        if self.has_stopped.load(Ordering::Relaxed) {
            self.files.clear();
            return;
        }
        if let Err(error) = self.try_handle(command) {
            self.stop(&error.to_string());
        }
    }

    fn stop(&mut self, why: &str) {
        self.has_stopped.store(true, Ordering::Relaxed);
        let directory = self.directory.display();
        tracing::warn!(%directory, why, "the recording of the wire has stopped; restart the daemon to record again");
        // Dropping a file writes what is left of it.
        self.files.clear();
    }

    fn try_handle(&mut self, command: WriterCommand) -> io::Result<()> {
        match command {
            WriterCommand::Open { file, name } => {
                let opened = OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .mode(0o600)
                    .open(self.directory.join(name))?;
                let output = Output {
                    file: BufWriter::new(opened),
                    bytes: 0,
                    lines: Default::default(),
                    is_full: false,
                };
                self.files.insert(file, output);
            }
            WriterCommand::Data {
                file,
                at,
                direction,
                bytes,
                is_whole,
                missed,
            } => {
                let Some(output) = self.files.get_mut(&file) else {
                    return Ok(());
                };
                let before = output.bytes;
                output.missed(at, missed)?;
                if is_whole {
                    output.line(at, direction, &bytes)?;
                } else {
                    output.part(at, direction, &bytes)?;
                }
                output.file.flush()?;
                if output.bytes > self.bounds.file && !output.is_full {
                    output.is_full = true;
                    output.mark(
                        at,
                        &format!(
                            "nothing more is recorded: the limit of {} bytes for a file",
                            self.bounds.file
                        ),
                    )?;
                    output.file.flush()?;
                }
                self.total += output.bytes - before;
                if self.total > self.bounds.total {
                    for output in self.files.values_mut().filter(|output| !output.is_full) {
                        output.mark(at, "nothing more is recorded: the limit for all files")?;
                    }
                    self.stop(&format!("it has {} bytes, the limit for all files", self.total));
                }
            }
            WriterCommand::Finish => {}
            WriterCommand::Close { file, missed } => {
                if let Some(mut output) = self.files.remove(&file) {
                    output.missed(Duration::ZERO, missed)?;
                    output.file.flush()?;
                }
            }
        }
        Ok(())
    }
}

impl Output {
    /// Adds a part of a stream of lines.
    fn part(&mut self, at: Duration, direction: Direction, bytes: &[u8]) -> io::Result<()> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let unfinished = &mut self.lines[direction.place()];
            let (text, is_end) = match part.split_last() {
                Some((b'\n', text)) => (text, true),
                _ => (part, false),
            };
            if !unfinished.is_skipping && unfinished.line.len() + text.len() > RECORD_LINE_BYTES {
                unfinished.line = Vec::new();
                unfinished.is_skipping = true;
                self.mark(
                    at,
                    &format!("a line of more than {RECORD_LINE_BYTES} bytes is left out"),
                )?;
            }
            let unfinished = &mut self.lines[direction.place()];
            if !unfinished.is_skipping {
                unfinished.line.extend_from_slice(text);
            }
            if is_end {
                let line = std::mem::take(&mut unfinished.line);
                if !std::mem::take(&mut unfinished.is_skipping) {
                    self.line(at, direction, &line)?;
                }
            }
        }
        Ok(())
    }

    /// Marks what is missing. The lines that it may have been a part of are left out.
    fn missed(&mut self, at: Duration, missed: u64) -> io::Result<()> {
        if missed == 0 {
            return Ok(());
        }
        for unfinished in &mut self.lines {
            unfinished.is_skipping = true;
            unfinished.line = Vec::new();
        }
        let text =
            format!("{missed} messages or parts of lines are missing: there was no room for them in memory");
        self.mark(at, &text)
    }

    fn line(&mut self, at: Duration, direction: Direction, line: &[u8]) -> io::Result<()> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let text = String::from_utf8_lossy(line);
        match serde_json::from_str::<&RawValue>(&text) {
            Ok(_) => self.write(at, (1, direction.word()), "msg", &redacted(&text)),
            Err(_) => {
                let text = serde_json::Value::from(text).to_string();
                self.write(at, (1, direction.word()), "raw", &text)
            }
        }
    }

    fn mark(&mut self, at: Duration, text: &str) -> io::Result<()> {
        let text = serde_json::Value::from(text).to_string();
        let is_full = std::mem::take(&mut self.is_full);
        let written = self.write(at, (0, "mark"), "raw", &text);
        self.is_full = is_full;
        written
    }

    fn write(
        &mut self,
        at: Duration,
        (process, direction): (u8, &str),
        member: &str,
        json: &str,
    ) -> io::Result<()> {
        if self.is_full {
            return Ok(());
        }
        // Valid JSON may contain newlines between its tokens.
        let json = json.trim_ascii().replace(['\n', '\r'], " ");
        let line = format!(
            "{{\"t\":{:.6},\"proc\":{process},\"dir\":\"{direction}\",\"{member}\":{json}}}\n",
            at.as_secs_f64()
        );
        self.file.write_all(line.as_bytes())?;
        self.bytes += line.len() as u64;
        Ok(())
    }
}
