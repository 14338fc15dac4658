//! What an agent tells of the conversation when it goes on with a session: most of it the log has, and what it has not
//! was said in that session outside of acpd, and is taken over.
//!
//! In: the updates that came while the session was opened, and what the log has. Out: turns that are marked as
//! imported. Owns: those updates, until they were held against the log. Never: stores what the log has a second time.

use std::collections::VecDeque;

use acpd_model::event::{Level, TurnStatus};
use acpd_model::limits::REPLAYED_BYTES;
use acpd_model::{EventKind, Failure, ItemOutcome, MessageType, Origin, RawJson, TurnId};

use super::command::Effect;
use super::message::add_user_message;
use super::thread::Thread;
use crate::agent::{ChunkContent, Opened, Update, UpdateKind};
use crate::projection::{Digest, Exchange, Exchanges, content_text, text_block};

/// What was told, and what waits for it.
#[derive(Debug, Default)]
pub(super) struct SessionImport {
    updates: VecDeque<Update>,
    bytes: usize,
    /// The session, open but not used before that is done.
    opened: Option<Opened>,
}

impl SessionImport {
    /// Takes one update more; if there are too many, the oldest go.
    pub(super) fn push(&mut self, update: Update) {
        self.bytes += size(&update);
        self.updates.push_back(update);
        while self.bytes > REPLAYED_BYTES {
            let Some(oldest) = self.updates.pop_front() else {
                break;
            };
            self.bytes -= size(&oldest);
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

impl Thread {
    /// Whether the agent has told something that must be held against the log before `opened` can be used. Then that is
    /// on its way.
    pub(super) fn begin_import(&mut self, opened: Opened) -> Result<(), Opened> {
        if self.import.updates.is_empty() {
            return Err(opened);
        }
        self.journal.flush();
        self.import.opened = Some(opened);
        self.journal.push(Effect::CollectExchanges {
            except: self.journal.live().turn.map(|turn| turn.id),
            dropped: self.journal.live().dropped.clone(),
        });
        Ok(())
    }

    /// Forgets what an agent told that is gone, or has not opened the session.
    pub(super) fn discard_import(&mut self) {
        self.import = SessionImport::default();
    }

    /// Takes over what is new of what was told. Answers the session that waited for that.
    pub(super) fn import(&mut self, known: Result<Exchanges, Failure>) -> Option<Opened> {
        let SessionImport { updates, opened, .. } = std::mem::take(&mut self.import);
        let opened = opened?;
        match known {
            Ok(known) => self.import_updates(&known, updates.into()),
            Err(failure) => {
                let message = format!(
                    "The agent's history could not be compared with the log, so nothing was imported: {failure}"
                );
                self.journal.notice(Level::Warning, "notImported", &message);
            }
        }
        Some(opened)
    }

    fn import_updates(&mut self, known: &Exchanges, updates: Vec<Update>) {
        let mut reported = Exchanges::reported();
        // The round of each update; what comes before the first stands with it.
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
        let Some(fresh) = known.new_in(&reported) else {
            let message = "The agent's history differs from the recorded conversation; nothing was imported.";
            return self.journal.notice(Level::Info, "notImported", message);
        };
        let new = (fresh.from..reported.exchanges().len())
            .filter(|exchange| reported.exchanges()[*exchange].is_answered())
            .collect::<Vec<_>>();
        let mut updates: Vec<Option<Update>> = updates.into_iter().map(Some).collect();
        let mut exchange = |at: usize| -> Vec<Update> {
            let end = starts.get(at + 1).copied().unwrap_or(updates.len());
            updates[starts[at]..end]
                .iter_mut()
                .filter_map(Option::take)
                .collect()
        };
        if let Some((at, known)) = fresh.rest_of {
            self.import_rest(exchange(at), &known);
        }
        if new.is_empty() {
            return;
        }
        let message = format!(
            "The agent's session was used outside of acpd: {} {} taken over.",
            new.len(),
            if new.len() == 1 { "turn is" } else { "turns are" }
        );
        self.journal.notice(Level::Info, "imported", &message);
        for at in new {
            self.import_exchange(exchange(at));
        }
    }

    fn import_exchange(&mut self, updates: Vec<Update>) {
        let turn = TurnId(self.journal.live().last_turn + 1);
        let begun = EventKind::TurnStarted {
            client_turn_id: None,
            imported: true,
        };
        self.close_items(ItemOutcome::Completed);
        self.journal.emit_in(Some(turn), Origin::Agent, begun, None);
        self.journal.set_importing(Some(turn));
        let (said, done): (Vec<_>, Vec<_>) = updates.into_iter().partition(is_from_user);
        let content = blocks(said);
        if !content.is_empty() {
            add_user_message(&mut self.journal, turn, &Origin::Agent, &content);
        }
        self.import_all(done);
        let kind = EventKind::TurnSettled {
            status: TurnStatus::Completed,
            stop_reason: None,
            error: None,
            started_at: Some(self.journal.now().wall),
            usage: None,
        };
        self.journal.emit_in(Some(turn), Origin::Agent, kind, None);
        self.journal.set_importing(None);
    }

    /// Of a round whose turn failed here, what the agent did after that.
    fn import_rest(&mut self, updates: Vec<Update>, known: &Exchange) {
        let mut heard = Digest::default();
        let mut rest = Vec::new();
        for mut update in updates {
            let is_new = match &mut update.kind {
                UpdateKind::Chunk(chunk) if chunk.role == MessageType::AgentMessage => {
                    match &mut chunk.content {
                        ChunkContent::Text(text) => {
                            let taken = heard.add(text, known.agent.chars);
                            if taken > 0 {
                                text.drain(..taken);
                                update.raw = None;
                                update.raw_params = None;
                            }
                            !text.trim().is_empty()
                        }
                        ChunkContent::Block(_) => heard.chars >= known.agent.chars,
                    }
                }
                UpdateKind::Chunk(chunk) => chunk.role == MessageType::AgentThought && !rest.is_empty(),
                UpdateKind::Tool(tool) => !known.has_tool(&tool.id) && heard.chars >= known.agent.chars,
                _ => false,
            };
            if is_new {
                rest.push(update);
            }
        }
        // Only if what was heard is how the telling begins; else it is told in other words.
        if heard == known.agent && !rest.is_empty() {
            self.journal.notice(
                Level::Info,
                "imported",
                "The agent went on after the turn had failed: the end of its answer is taken over.",
            );
            self.import_all(rest);
        }
    }

    fn import_all(&mut self, updates: Vec<Update>) {
        for update in updates {
            self.handle_update(update);
        }
        self.close_items(ItemOutcome::Completed);
        self.journal.forget_file_changes();
    }
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

/// A person's words as ACP content blocks.
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
