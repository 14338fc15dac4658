//! Import of turns that happened outside of acpd, from the updates that the agent replays when it resumes a session.

use acpd_model::event::{Level, TurnStatus};
use acpd_model::{EventKind, Failure, ItemOutcome, Origin, TurnEvent, TurnId};

use super::Thread;
use crate::agent::Update;
use crate::projection::Exchanges;
use crate::thread::session::{ImportedTurn, NewHistory, compare};
use crate::thread::turn::{plan_of, plans_of};

impl Thread {
    /// Compares the agent's history with the log, imports new turns, and starts to use the session.
    pub(super) fn exchanges_collected(&mut self, known: Result<Exchanges, Failure>) {
        let Some((updates, opened)) = self.session.take_import() else {
            return;
        };
        match known.map(|known| compare(&known, updates)) {
            Ok(Some(new)) => self.import(new),
            Ok(None) => {
                let message =
                    "The agent's history differs from the recorded conversation; nothing was imported.";
                self.journal.notice(Level::Info, "notImported", message);
            }
            Err(failure) => {
                let message = format!(
                    "The agent's history could not be compared with the log, so nothing was imported: {failure}"
                );
                self.journal.notice(Level::Warning, "notImported", &message);
            }
        }
        self.bind(opened);
    }

    fn import(&mut self, new: NewHistory) {
        let NewHistory { rest, turns } = new;
        if !rest.is_empty() {
            self.journal.notice(
                Level::Info,
                "imported",
                "The agent continued after the turn had failed: the end of its answer was added.",
            );
            self.import_updates(rest);
            self.journal.forget_file_changes();
        }
        if turns.is_empty() {
            return;
        }
        let message = format!(
            "The agent's session was used outside of acpd: {} {} taken over.",
            turns.len(),
            if turns.len() == 1 { "turn is" } else { "turns are" }
        );
        self.journal.notice(Level::Info, "imported", &message);
        for turn in turns {
            self.import_turn(turn);
        }
    }

    fn import_turn(&mut self, imported: ImportedTurn) {
        let ImportedTurn { input, updates } = imported;
        let turn = TurnId(self.live().last_turn + 1);
        let begun = EventKind::Turn(TurnEvent::Started {
            client_turn_id: None,
            imported: true,
        });
        self.close_items(ItemOutcome::Completed);
        self.journal.emit_in(Some(turn), Origin::Agent, begun, None);
        self.journal.set_importing(Some(turn));
        if !input.is_empty() {
            self.journal.add_user_message(turn, &Origin::Agent, &input, None);
        }
        self.import_updates(updates);
        let changes = self.journal.record_turn_diff();
        let kind = EventKind::Turn(TurnEvent::Settled {
            status: TurnStatus::Completed,
            stop_reason: None,
            error: None,
            started_at: Some(self.journal.now().wall),
            usage: None,
            changes: changes.map(Box::new),
            plan: plan_of(self.live(), turn),
            plans: plans_of(self.live(), turn),
            permitted: 0,
            waited_ms: 0,
        });
        self.journal.emit_in(Some(turn), Origin::Agent, kind, None);
        self.journal.set_importing(None);
    }

    fn import_updates(&mut self, updates: Vec<Update>) {
        for update in updates {
            self.handle_update(update);
        }
        self.close_items(ItemOutcome::Completed);
    }
}
