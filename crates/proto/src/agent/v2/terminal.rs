//! Terminals of the agent, which runs their commands itself. Version 1 has terminals of the client only, so that the output becomes text in
//! the tool call that shows the terminal. The exact output is in the notes of the update that shows it.

use std::collections::{BTreeMap, VecDeque};

use acpd_model::RawJson;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::parts::{object_in, text_in};
use crate::wire::member;

/// The last bytes of a terminal's output that are kept and shown.
const OUTPUT_BYTES: usize = 64 << 10;
/// Bytes of output that wait for an update of the tool call that shows them.
pub(super) const PENDING_BYTES: usize = 16 << 10;
/// Terminals whose output is kept, of all sessions of a process. Those that run are forgotten last.
const TERMINALS: usize = 64;

/// The session, and the agent's id of the terminal.
type Key = (String, String);

/// The terminals of a process.
#[derive(Debug, Default)]
pub(super) struct Terminals {
    known: BTreeMap<Key, Terminal>,
    /// The same, oldest first.
    order: VecDeque<Key>,
}

#[derive(Debug, Default)]
struct Terminal {
    /// The end of the output. Its bytes may begin and end within a character.
    output: Vec<u8>,
    /// Whether the beginning of the output is left out.
    is_cut: bool,
    exit: Option<Exit>,
    /// The tool call that shows it.
    call: Option<String>,
    /// Whether its call does not show all of it.
    is_changed: bool,
    /// Output that no update has in its notes yet.
    pending: Vec<u8>,
    /// Whether an update has named the terminal.
    is_announced: bool,
}

/// Exact output of a terminal.
#[derive(Debug)]
pub(super) struct PendingOutput {
    /// The bytes, in Base64.
    pub data: String,
    /// Whether no update has named the terminal before.
    pub begins: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Exit {
    code: Option<i64>,
    signal: Option<String>,
}

/// What an update of a terminal changes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Nothing that is shown.
    Nothing,
    /// No tool call shows the terminal.
    Nowhere,
    /// The tool call with this id has so many bytes more to show.
    Output(String, usize),
    /// The command of the terminal that this tool call shows has ended.
    Exit(String),
}

impl Terminals {
    /// Handles `terminal_update`; `None` if it cannot be read.
    pub fn update(&mut self, session: &str, update: &RawJson) -> Option<Change> {
        let output = match member(update, "output") {
            None => None,
            Some("null") => Some(Vec::new()),
            Some(_) => Some(decode(&object_in(update, "output")?)?),
        };
        let exit = match member(update, "exitStatus") {
            None => None,
            Some("null") => Some(None),
            Some(_) => Some(Some(Exit::read(&object_in(update, "exitStatus")?))),
        };
        let terminal = self.terminal(session, &text_in(update, "terminalId")?);
        let replaced = output.as_ref().map(Vec::len);
        if let Some(output) = output {
            terminal.output.clear();
            terminal.is_cut = false;
            terminal.add(&output);
            // The update itself is in the notes.
            terminal.pending.clear();
        }
        let ends = exit.as_ref().is_some_and(|exit| *exit != terminal.exit);
        if let Some(exit) = exit {
            terminal.exit = exit;
        }
        if replaced.is_none() && !ends {
            return Some(Change::Nothing);
        }
        terminal.is_changed = true;
        Some(match (terminal.call.clone(), replaced) {
            (None, _) => Change::Nowhere,
            (Some(call), _) if ends => Change::Exit(call),
            (Some(call), bytes) => Change::Output(call, bytes.unwrap_or_default()),
        })
    }

    /// Handles `terminal_output_chunk`; `None` if it cannot be read.
    pub fn output(&mut self, session: &str, chunk: &RawJson) -> Option<Change> {
        let output = decode(chunk)?;
        let terminal = self.terminal(session, &text_in(chunk, "terminalId")?);
        terminal.add(&output);
        terminal.is_changed = true;
        Some(match terminal.call.clone() {
            None => Change::Nowhere,
            Some(call) => {
                terminal.pending.extend_from_slice(&output);
                Change::Output(call, output.len())
            }
        })
    }

    /// Returns the bytes that a terminal has to show.
    pub fn bytes(&self, session: &str, id: &str) -> usize {
        let terminal = self.known.get(&(session.to_owned(), id.to_owned()));
        terminal.map_or(0, |terminal| terminal.output.len())
    }

    /// Records that a tool call shows a terminal.
    pub fn show_in(&mut self, session: &str, id: &str, call: &str) {
        self.terminal(session, id).call = Some(call.to_owned());
    }

    /// Returns what a terminal shows now; `None` if that is nothing.
    pub fn show(&mut self, session: &str, id: &str) -> Option<String> {
        let terminal = self.terminal(session, id);
        terminal.is_changed = false;
        terminal.text()
    }

    /// Returns how many bytes of output are in no update yet.
    pub fn pending(&self, session: &str, id: &str) -> usize {
        let terminal = self.known.get(&(session.to_owned(), id.to_owned()));
        terminal.map_or(0, |terminal| terminal.pending.len())
    }

    /// Returns the output that is in no update yet, for one.
    pub fn take_pending(&mut self, session: &str, id: &str) -> Option<PendingOutput> {
        let terminal = self.terminal(session, id);
        let pending = std::mem::take(&mut terminal.pending);
        let data = (!pending.is_empty()).then(|| STANDARD.encode(&pending))?;
        Some(PendingOutput {
            data,
            begins: self.begins(session, id),
        })
    }

    /// Records that an update names a terminal. Returns whether it is the first one.
    pub fn begins(&mut self, session: &str, id: &str) -> bool {
        let terminal = self.terminal(session, id);
        !std::mem::replace(&mut terminal.is_announced, true)
    }

    /// Returns the terminals of a session with output that is in no update yet.
    pub fn with_pending(&self, session: &str) -> Vec<String> {
        let of_session = self.known.iter().filter(|((of, _), _)| of == session);
        of_session
            .filter(|(_, terminal)| !terminal.pending.is_empty())
            .map(|((_, id), _)| id.clone())
            .collect()
    }

    /// Returns the tool calls of a session that do not show all of their terminals.
    pub fn changed(&self, session: &str) -> Vec<String> {
        let of_session = self.known.iter().filter(|((of, _), _)| of == session);
        of_session
            .filter(|(_, terminal)| terminal.is_changed)
            .filter_map(|(_, terminal)| terminal.call.clone())
            .collect()
    }

    fn terminal(&mut self, session: &str, id: &str) -> &mut Terminal {
        let key = (session.to_owned(), id.to_owned());
        if !self.known.contains_key(&key) {
            if self.order.len() == TERMINALS {
                self.forget_one();
            }
            self.order.push_back(key.clone());
        }
        self.known.entry(key).or_default()
    }

    /// Forgets the oldest terminal whose command has ended, or the oldest of all.
    fn forget_one(&mut self) {
        let has_ended = |key: &Key| self.known.get(key).is_some_and(|known| known.exit.is_some());
        let at = self.order.iter().position(has_ended).unwrap_or(0);
        if let Some(key) = self.order.remove(at) {
            self.known.remove(&key);
        }
    }
}

impl Terminal {
    fn add(&mut self, output: &[u8]) {
        self.output.extend_from_slice(output);
        let excess = self.output.len().saturating_sub(OUTPUT_BYTES);
        if excess > 0 {
            self.output.drain(..excess);
            self.is_cut = true;
        }
    }

    fn text(&self) -> Option<String> {
        let output = String::from_utf8_lossy(&self.output);
        let output = output.trim_end_matches(['\n', '\r']);
        let fence = fence(output);
        let cut = if self.is_cut { "…" } else { "" };
        let output = (!output.is_empty()).then(|| format!("{fence}\n{cut}{output}\n{fence}"));
        let end = self.exit.as_ref().and_then(Exit::words);
        let parts: Vec<String> = output.into_iter().chain(end).collect();
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }
}

impl Exit {
    fn read(exit: &RawJson) -> Self {
        Self {
            code: member(exit, "exitCode").and_then(|code| code.parse().ok()),
            signal: text_in(exit, "signal"),
        }
    }

    /// Describes an exit that is not a success.
    fn words(&self) -> Option<String> {
        match (&self.signal, self.code) {
            (Some(signal), _) => Some(format!("Ended by signal {signal}")),
            (None, Some(code)) if code != 0 => Some(format!("Exit code {code}")),
            (None, _) => None,
        }
    }
}

/// Returns the bytes of `data`.
fn decode(json: &RawJson) -> Option<Vec<u8>> {
    STANDARD.decode(text_in(json, "data")?).ok()
}

/// Returns a fence for a block of code: longer than any row of backquotes in it.
fn fence(text: &str) -> String {
    let rows = text.split(|c: char| c != '`').map(str::len);
    "`".repeat(rows.max().unwrap_or(0).max(2) + 1)
}
