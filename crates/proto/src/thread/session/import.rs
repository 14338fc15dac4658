//! The agent's replay of the conversation when it resumes a session. The log already contains most of it. The rest
//! happened in that session outside of acpd, and is imported.
//!
//! In: the updates that arrive while the session opens, and the exchanges in the log. Out: turns that are marked as
//! imported. Owns: those updates, until they are compared with the log. Never: stores what the log has a second time.

use std::collections::VecDeque;

use acpd_model::{MessageType, RawJson};

use super::Session;
use crate::agent::{ChunkContent, Opened, Update, UpdateKind};
use crate::projection::{Digest, Exchange, Exchanges, content_text, text_block};
use crate::thread::effect::Effect;
use crate::thread::journal::Journal;

/// Bytes of an agent's replay of an earlier conversation that are compared with the log. Of a longer replay, the end is
/// compared.
const REPLAYED_BYTES: usize = 32 << 20;

/// Bytes of the cursors that are kept until the conversation is there that they are next to. The newest are kept.
const CURSOR_BYTES: usize = 1 << 20;

/// The replayed updates, and the session that waits for their import.
#[derive(Debug, Default)]
pub(super) struct SessionImport {
    updates: VecDeque<Update>,
    bytes: usize,
    /// Cursors, which no log has a second time.
    cursors: VecDeque<Update>,
    cursor_bytes: usize,
    /// The session, open but not used before the import is done.
    opened: Option<Opened>,
}

impl SessionImport {
    /// Adds an update; drops the oldest ones above the limit.
    pub(super) fn push(&mut self, update: Update) {
        if matches!(update.kind, UpdateKind::Cursor(_)) {
            return self.push_cursor(update);
        }
        self.bytes += size(&update);
        self.updates.push_back(update);
        while self.bytes > REPLAYED_BYTES {
            let Some(oldest) = self.updates.pop_front() else {
                break;
            };
            self.bytes -= size(&oldest);
        }
    }

    fn push_cursor(&mut self, update: Update) {
        self.cursor_bytes += size(&update);
        self.cursors.push_back(update);
        while self.cursor_bytes > CURSOR_BYTES {
            let Some(oldest) = self.cursors.pop_front() else {
                break;
            };
            self.cursor_bytes -= size(&oldest);
        }
    }
}

fn size(update: &Update) -> usize {
    let text = match &update.kind {
        UpdateKind::Chunk(chunk) => match &chunk.content {
            ChunkContent::Text(text) => text.len(),
            ChunkContent::Block(block) => block.get().len(),
        },
        _ => 0,
    };
    size_of::<Update>() + text + update.raw.as_ref().map_or(0, |raw| raw.get().len())
}

impl Session {
    /// Adds an update that the agent sends while it opens the session.
    pub fn replayed(&mut self, update: Update) {
        self.import.push(update);
    }

    /// Starts the comparison of the agent's history with the log. Returns the session if there is nothing to compare.
    pub fn begin_import(&mut self, journal: &mut Journal, opened: Opened) -> Option<Opened> {
        if self.import.updates.is_empty() {
            return Some(opened);
        }
        journal.flush();
        self.import.opened = Some(opened);
        let effect = Effect::CollectExchanges {
            except: journal.live().turn.map(|turn| turn.id),
            dropped: journal.live().dropped.clone(),
        };
        journal.push(effect);
        None
    }

    /// Discards the updates of an agent that has exited, or has not opened the session.
    pub(super) fn discard_import(&mut self) {
        self.import = SessionImport::default();
    }

    /// Takes the agent's history, and the session that waits for its import.
    pub fn take_import(&mut self) -> Option<(Vec<Update>, Opened)> {
        self.import.bytes = 0;
        let updates = std::mem::take(&mut self.import.updates);
        Some((updates.into(), self.import.opened.take()?))
    }

    /// Takes the cursors that the agent announced while it opened the session.
    pub fn take_cursors(&mut self) -> VecDeque<Update> {
        self.import.cursor_bytes = 0;
        std::mem::take(&mut self.import.cursors)
    }
}

/// The part of the agent's history that the log does not have.
#[derive(Debug, Default)]
pub(in crate::thread) struct NewHistory {
    /// The updates after the end of a turn that failed here.
    pub rest: Vec<Update>,
    /// Turns outside of acpd.
    pub turns: Vec<ImportedTurn>,
}

/// A turn outside of acpd.
#[derive(Debug)]
pub(in crate::thread) struct ImportedTurn {
    /// The user's message, as ACP content blocks.
    pub input: Vec<RawJson>,
    /// The agent's updates.
    pub updates: Vec<Update>,
}

impl ImportedTurn {
    fn of(updates: Vec<Update>) -> Self {
        let (said, done): (Vec<_>, Vec<_>) = updates.into_iter().partition(is_from_user);
        Self {
            input: blocks(said),
            updates: done,
        }
    }
}

/// Compares the agent's history with the log. Returns `None` if they differ.
pub(in crate::thread) fn compare(known: &Exchanges, updates: Vec<Update>) -> Option<NewHistory> {
    let mut reported = Exchanges::reported();
    // The index of each exchange's first update; updates before the first exchange are not used.
    let mut starts = Vec::new();
    for (at, update) in updates.iter().enumerate() {
        let begins = match &update.kind {
            UpdateKind::Chunk(chunk) => reported.said(chunk.role, &chunk_text(&chunk.content)),
            UpdateKind::Tool(tool) => reported.called(&tool.id),
            _ => false,
        };
        if begins {
            starts.push(at);
        }
    }
    let fresh = known.new_in(&reported)?;
    let mut updates: Vec<Option<Update>> = updates.into_iter().map(Some).collect();
    let mut exchange = |at: usize| -> Vec<Update> {
        let end = starts.get(at + 1).copied().unwrap_or(updates.len());
        updates[starts[at]..end]
            .iter_mut()
            .filter_map(Option::take)
            .collect()
    };
    let rest = fresh
        .rest_of
        .map_or_else(Vec::new, |(at, known)| rest_of(exchange(at), &known));
    let turns = (fresh.from..reported.exchanges().len())
        .filter(|at| reported.exchanges()[*at].is_answered())
        .map(|at| ImportedTurn::of(exchange(at)))
        .collect();
    Some(NewHistory { rest, turns })
}

/// Returns what the agent did after the failure, in an exchange whose turn failed here.
fn rest_of(updates: Vec<Update>, known: &Exchange) -> Vec<Update> {
    let mut reported = Digest::default();
    let mut rest = Vec::new();
    for mut update in updates {
        let is_new = match &mut update.kind {
            UpdateKind::Chunk(chunk) if chunk.role == MessageType::AgentMessage => match &mut chunk.content {
                ChunkContent::Text(text) => {
                    let taken = reported.add(text, known.agent.chars);
                    if taken > 0 {
                        text.drain(..taken);
                        update.raw = None;
                        update.raw_params = None;
                    }
                    !text.trim().is_empty()
                }
                ChunkContent::Block(_) => reported.chars >= known.agent.chars,
            },
            UpdateKind::Chunk(chunk) => chunk.role == MessageType::AgentThought && !rest.is_empty(),
            UpdateKind::Tool(tool) => !known.has_tool(&tool.id) && reported.chars >= known.agent.chars,
            _ => false,
        };
        if is_new {
            rest.push(update);
        }
    }
    // Only if the recorded text is a prefix of the replayed text; otherwise the agent has rephrased it.
    if reported == known.agent { rest } else { Vec::new() }
}

fn is_from_user(update: &Update) -> bool {
    matches!(&update.kind, UpdateKind::Chunk(chunk) if chunk.role == MessageType::UserMessage)
}

fn chunk_text(content: &ChunkContent) -> String {
    match content {
        ChunkContent::Text(text) => text.clone(),
        ChunkContent::Block(block) => content_text(std::slice::from_ref(block)),
    }
}

/// Returns the user's chunks as ACP content blocks.
fn blocks(said: Vec<Update>) -> Vec<RawJson> {
    let mut blocks = Vec::new();
    let mut words = String::new();
    for update in said {
        let UpdateKind::Chunk(chunk) = update.kind else {
            continue;
        };
        match chunk.content {
            ChunkContent::Text(text) => words.push_str(&text),
            ChunkContent::Block(block) => {
                if !words.is_empty() {
                    blocks.push(text_block(&std::mem::take(&mut words)));
                }
                blocks.push(block);
            }
        }
    }
    if !words.is_empty() {
        blocks.push(text_block(&words));
    }
    blocks
}
