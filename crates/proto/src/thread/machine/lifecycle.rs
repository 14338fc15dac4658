//! Operations on a whole thread: rename, set metadata, pin, archive, roll back, delete.

use std::path::Path;

use acpd_model::event::{Directories, Fidelity, SessionDeleted};
use acpd_model::limits::{ADDITIONAL_DIRECTORIES, METADATA_BYTES, NAME_BYTES};
use acpd_model::{ErrorCode, EventKind, Failure, ItemOutcome, Origin, RawJson, ThreadEvent, TurnId};

use super::Thread;
use crate::agent::AgentRequest;
use crate::thread::command::{Change, LastUse};
use crate::thread::effect::{Deletion, Effect};
use crate::thread::reply::Reply;
use crate::thread::session::{
    Continuation, NextTurn, PendingRollback, history_fidelity, name_linked_directories,
};
use crate::thread::turn::UnsentPrompt;

impl Thread {
    pub(super) fn change(&mut self, by: Origin, change: Change) -> Result<Reply, Failure> {
        match change {
            Change::Rename { name } => self.rename(by, name.as_deref()),
            Change::SetMetadata { metadata } => self.set_metadata(by, metadata),
            Change::SetDirectories(directories) => self.set_directories(by, directories),
            Change::AddDirectory {
                directory,
                real_directories,
            } => self.add_directory(by, directory, real_directories),
            Change::Pin { pinned, place } => {
                let summary = &self.live().summary;
                let place = place.or(summary.pin_place).filter(|_| pinned);
                if (summary.pinned, summary.pin_place) != (pinned, place) {
                    let kind = EventKind::Thread(ThreadEvent::PinSet { pinned, place });
                    self.journal.emit_in(None, by, kind, None);
                }
                Ok(Reply::Done)
            }
            Change::Archive => self.archive(by),
            Change::Unarchive => {
                if self.live().summary.archived {
                    self.journal
                        .emit_in(None, by, EventKind::Thread(ThreadEvent::Unarchived {}), None);
                }
                Ok(Reply::Done)
            }
        }
    }

    pub(super) fn rename(&mut self, by: Origin, name: Option<&str>) -> Result<Reply, Failure> {
        let name = name.map(clean_name).transpose()?;
        let shown = self.live().names.shown_with(name.as_ref());
        self.journal
            .emit(by, EventKind::Thread(ThreadEvent::Renamed { name, shown }), None);
        Ok(Reply::Done)
    }

    fn set_metadata(&mut self, by: Origin, metadata: Option<RawJson>) -> Result<Reply, Failure> {
        if metadata
            .as_ref()
            .is_some_and(|data| data.get().len() > METADATA_BYTES)
        {
            let message = format!("metadata has at most {METADATA_BYTES} bytes");
            return Err(Failure::invalid_params(message));
        }
        let kind = EventKind::Thread(ThreadEvent::MetadataSet { metadata });
        self.journal.emit(by, kind, None);
        Ok(Reply::Done)
    }

    /// Sets the directories of the thread. The agent runs in the earlier ones, so it is stopped. The next prompt continues its
    /// session in the new ones.
    fn set_directories(&mut self, by: Origin, directories: Directories) -> Result<Reply, Failure> {
        let spec = &self.live().spec;
        let now = (&spec.cwd, &spec.additional_directories, &spec.real_directories);
        let wanted = (
            &directories.cwd,
            &directories.additional_directories,
            &directories.real_directories,
        );
        if now == wanted {
            return Ok(Reply::Done);
        }
        self.end_unprompted();
        self.check_at_rest()?;
        self.stop_agent();
        self.callbacks.give_up_all_outputs(&mut self.journal);
        self.callbacks.close_terminals(&mut self.journal);
        let kind = EventKind::Thread(ThreadEvent::DirectoriesSet(Box::new(directories)));
        self.journal.emit_in(None, by, kind, None);
        name_linked_directories(&mut self.journal);
        // What failed in the earlier directories says nothing about these.
        self.session.forget_failures(self.journal.now().mono);
        Ok(Reply::Done)
    }

    /// Opens a further directory for the thread. It leads nowhere else: later, a link in its place is refused.
    fn add_directory(
        &mut self,
        by: Origin,
        directory: String,
        resolved: Vec<String>,
    ) -> Result<Reply, Failure> {
        let mut directories = self.live().spec.place();
        let known = std::iter::once(&directories.cwd).chain(&directories.additional_directories);
        let mut known = known.chain(&directories.real_directories);
        if known.any(|known| Path::new(&directory).starts_with(known)) {
            return Ok(Reply::Done);
        }
        if self.live().turn.is_some() && !self.turns.is_unprompted() {
            let running = "a turn is running: the agent starts anew for another directory, so add it when the turn has ended";
            return Err(Failure::new(ErrorCode::Conflict, running));
        }
        if directories.additional_directories.len() >= ADDITIONAL_DIRECTORIES {
            let full = format!(
                "the thread has {ADDITIONAL_DIRECTORIES} further directories: name one that contains several, or start another thread"
            );
            return Err(Failure::new(ErrorCode::Conflict, full));
        }
        // Threads of older versions have no resolved paths. Without those of the others, this one would be taken for the first.
        let present = directories.additional_directories.len() + 1;
        if directories.real_directories.len() != present && resolved.len() == present {
            directories.real_directories = resolved;
        }
        if directories.real_directories.len() == present {
            directories.real_directories.push(directory.clone());
        }
        directories.additional_directories.push(directory);
        self.set_directories(by, directories)
    }

    fn archive(&mut self, by: Origin) -> Result<Reply, Failure> {
        if self.live().summary.archived {
            return Ok(Reply::Done);
        }
        self.end_unprompted();
        self.check_idle()?;
        self.journal
            .emit_in(None, by, EventKind::Thread(ThreadEvent::Archived {}), None);
        self.stop_agent();
        Ok(Reply::Done)
    }

    /// Rejects operations on the whole thread while it is busy; they do not wait.
    fn check_idle(&self) -> Result<(), Failure> {
        self.check_at_rest()?;
        if self.live().queue.is_empty() {
            return Ok(());
        }
        let waits = "turns wait in the paused queue: remove them first";
        Err(Failure::new(ErrorCode::Conflict, waits))
    }

    /// Rejects operations on the whole thread while something runs, or is about to.
    fn check_at_rest(&self) -> Result<(), Failure> {
        let starts = !self.live().queue.is_empty() && !self.live().queue_paused;
        let busy = if self.live().turn.is_some() || starts {
            "a turn is running: interrupt it first"
        } else if self.callbacks.has_user_commands(None) {
            "a command of a user is running: interrupt it first"
        } else if self.callbacks.is_changing() {
            "a file is still being written: try again when it is"
        } else if self.session.has_continuations() {
            "the thread is being forked, rolled back or deleted: try again when it is"
        } else {
            return Ok(());
        };
        Err(Failure::new(ErrorCode::Conflict, busy))
    }

    /// Drops the turns after `last_kept`, and replies how well the agent remembers the others. If the agent has a cursor there, it is
    /// first asked to fork its session.
    pub(super) fn roll_back(&mut self, call: u64, by: Origin, last_kept: Option<TurnId>) {
        let result = match self.rollback_cursor(last_kept) {
            Ok(Some((last_kept, cursor))) => {
                return self.fork_for_rollback(call, by, last_kept, cursor, None);
            }
            Ok(None) => self.drop_after(by, last_kept, None).map(Reply::RolledBack),
            Err(failure) => Err(failure),
        };
        self.journal.reply(call, result);
    }

    /// Returns the cursor for a rollback, with the turn before it; `None` if it needs none, or the agent has none there. Fails if the
    /// thread cannot be rolled back now.
    pub(super) fn rollback_cursor(
        &mut self,
        last_kept: Option<TurnId>,
    ) -> Result<Option<(TurnId, String)>, Failure> {
        self.end_unprompted();
        self.check_idle()?;
        let Some(turn) = last_kept else {
            return Ok(None);
        };
        self.check_kept(turn)?;
        if last_kept == self.live().last_kept() {
            return Ok(None);
        }
        Ok(self.cursor_after(turn).map(|cursor| (turn, cursor)))
    }

    /// Asks the agent to fork its session at a cursor. The rollback continues with the answer.
    pub(super) fn fork_for_rollback(
        &mut self,
        call: u64,
        by: Origin,
        last_kept: TurnId,
        cursor: String,
        next: Option<NextTurn>,
    ) {
        let then = Continuation::RollBack(Box::new(PendingRollback {
            by: by.clone(),
            last_kept,
            last: self.live().last_turn,
            next,
        }));
        let cursor = Some(cursor);
        self.request_agent(call, by, AgentRequest::ForkSession { cursor }, Some(then));
    }

    /// Rolls back now that the agent has forked its session or rejected the request.
    pub(super) fn roll_back_answered(
        &mut self,
        call: u64,
        rollback: PendingRollback,
        answer: Result<RawJson, Failure>,
    ) {
        let PendingRollback {
            by,
            last_kept,
            last,
            next,
        } = rollback;
        // This comes first, so that a fork that is not used is closed, too.
        let forgets = self.session.would_forget();
        let session = self.forked_session(call, Some(forgets), answer);
        if self.live().last_turn != last {
            let newer = "another turn was started meanwhile, and nothing was rolled back: try again";
            return self
                .journal
                .reply(call, Err(Failure::new(ErrorCode::Conflict, newer)));
        }
        let next = next.map(|next| {
            let NextTurn {
                input: blocks,
                meta,
                client_turn_id,
            } = next;
            (UnsentPrompt { blocks, meta }, client_turn_id)
        });
        // What could refuse the prompt comes before: then, nothing is dropped. Another command may have come meanwhile.
        let checked = next
            .as_ref()
            .map_or(Ok(()), |(prompt, _)| self.check_turn(prompt));
        let result = checked.and_then(|()| self.drop_after(by.clone(), Some(last_kept), session));
        let result = match (result, next) {
            (Ok(fidelity), None) => Ok(Reply::RolledBack(fidelity)),
            (Ok(_), Some((prompt, id))) => self.start_turn(by, prompt, id, None).map(Reply::Turn),
            (Err(failure), _) => Err(failure),
        };
        self.journal.reply(call, result);
    }

    /// Drops the turns after `last_kept`. The agent's session contains them, so the agent is stopped. The next prompt
    /// opens `session`, a fork of it without them, or a new session, which gets the remaining conversation.
    fn drop_after(
        &mut self,
        by: Origin,
        last_kept: Option<TurnId>,
        session_id: Option<String>,
    ) -> Result<Fidelity, Failure> {
        self.end_unprompted();
        self.check_idle()?;
        if let Some(turn) = last_kept {
            self.check_kept(turn)?;
        }
        if last_kept == self.live().last_kept() {
            let fidelity = if self.live().forgotten {
                Fidelity::Recalled
            } else {
                Fidelity::Exact
            };
            return Ok(fidelity);
        }
        let fidelity = match last_kept {
            Some(_) if session_id.is_none() => history_fidelity(&self.journal)?,
            _ => Fidelity::Exact,
        };
        self.stop_subagents();
        self.close_items(ItemOutcome::Completed);
        self.stop_agent();
        self.session.drop_session();
        self.callbacks.give_up_all_outputs(&mut self.journal);
        self.callbacks.close_terminals(&mut self.journal);
        let kind = EventKind::Thread(ThreadEvent::TurnsRolledBack {
            last_kept,
            fidelity,
            session_id,
        });
        self.journal.emit_in(None, by, kind, None);
        Ok(fidelity)
    }

    /// Drops a turn and all later ones, for a prompt that replaces its own.
    pub(super) fn drop_from(&mut self, by: Origin, turn: TurnId) -> Result<(), Failure> {
        self.check_kept(turn)?;
        let last_kept = self.live().dropped.kept_before(turn);
        self.drop_after(by, last_kept, None)?;
        Ok(())
    }

    /// Rejects a turn that is not part of the conversation.
    pub(super) fn check_kept(&self, turn: TurnId) -> Result<(), Failure> {
        let known = (1..=self.live().last_turn).contains(&turn.0);
        if known && !self.live().dropped.contains(turn) {
            return Ok(());
        }
        Err(Failure::not_found(turn))
    }

    /// Deletes the thread, after the agent's session if the agent supports that.
    pub(super) fn delete(&mut self, call: u64, by: Origin) {
        self.end_unprompted();
        if let Err(failure) = self.check_idle() {
            return self.journal.reply(call, Err(failure));
        }
        match self
            .live()
            .summary
            .session_id
            .clone()
            .filter(|_| self.live().declared.delete)
        {
            Some(session_id) => self.delete_session(call, by, session_id, false),
            None => self.finish_deletion(call, by, SessionDeleted::NotAsked, Deletion::Requested),
        }
    }

    /// Has the agent delete a session of the thread. `failed` says whether it has not deleted an earlier one.
    fn delete_session(&mut self, call: u64, by: Origin, session_id: String, failed: bool) {
        let then = Continuation::Delete {
            by: by.clone(),
            asked: session_id.clone(),
            failed,
        };
        let request = AgentRequest::DeleteSession { session_id };
        self.request_agent(call, by, request, Some(then));
    }

    /// Deletes the thread now that the agent has deleted the session `asked`, or has `failed` to. A process that was started for that may
    /// have opened another session, such as a fork of the copy that the thread had, with the same conversation: that one is deleted first.
    pub(super) fn session_deleted(&mut self, call: u64, by: Origin, asked: &str, failed: bool) {
        let now = self.live().summary.session_id.clone();
        let now = now.filter(|session_id| session_id != asked);
        let session = match now {
            Some(session_id) if self.session.is_ready() => {
                return self.delete_session(call, by, session_id, failed);
            }
            Some(_) => SessionDeleted::Failed,
            None if failed => SessionDeleted::Failed,
            None => SessionDeleted::Deleted,
        };
        self.finish_deletion(call, by, session, Deletion::Requested);
    }

    /// Deletes the thread if nothing has happened in it since `last`, and nothing uses it. The agent's session stays: the agent
    /// does not run, and starting it to forget a session would take more than it frees.
    pub(super) fn delete_unused(&mut self, call: u64, by: Origin, last: LastUse) {
        match self.check_unused(last) {
            Err(failure) => self.journal.reply(call, Err(failure)),
            Ok(()) if last.check_only => self.journal.reply(call, Ok(Reply::Done)),
            Ok(()) => self.finish_deletion(call, by, SessionDeleted::NotAsked, Deletion::Unused),
        }
    }

    fn check_unused(&self, last: LastUse) -> Result<(), Failure> {
        self.check_idle()?;
        let summary = &self.live().summary;
        let used = if summary.updated_at != last.updated_at || summary.archived != last.archived {
            "the thread was used meanwhile"
        } else if !self.live().requests.is_empty() {
            "a question is open"
        } else if self.has_agent() {
            "its agent runs"
        } else if self.has_pending_work() {
            "a command or a file write has not ended"
        } else {
            return Ok(());
        };
        Err(Failure::new(ErrorCode::Conflict, used))
    }

    /// Records the last event of the thread and deletes its log.
    pub(super) fn finish_deletion(
        &mut self,
        call: u64,
        by: Origin,
        session: SessionDeleted,
        reason: Deletion,
    ) {
        self.stop_subagents();
        self.close_items(ItemOutcome::Completed);
        self.stop_agent();
        self.callbacks.withdraw_delegations(&mut self.journal);
        self.callbacks.drop_in_editors(&mut self.journal);
        self.callbacks.close_terminals(&mut self.journal);
        self.journal.emit_in(
            None,
            by.clone(),
            EventKind::Thread(ThreadEvent::Deleted { session }),
            None,
        );
        self.journal.push(Effect::Delete {
            call: Some(call),
            by,
            reason,
        });
    }
}

/// Validates and trims a name.
pub(super) fn clean_name(name: &str) -> Result<String, Failure> {
    let name = name.trim();
    if name.is_empty() {
        return Err(Failure::invalid_params("a name has at least one character"));
    }
    if name.len() > NAME_BYTES {
        let message = format!("a name has at most {NAME_BYTES} bytes");
        return Err(Failure::invalid_params(message));
    }
    Ok(name.to_owned())
}
