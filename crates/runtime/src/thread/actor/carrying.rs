//! The row of a thread's agent that a shim holds, in the log.
//!
//! In: positions in the agent's output, commands for the agent, the state machine after its last event. Out: the cursor and the
//! memo of each append. Owns: what the log has of both. Never: stores anything itself.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use acpd_host::Hold;
use acpd_model::{Limits, RawJson, TerminalHold, without_content};
use acpd_proto::agent::AgentCommand;
use acpd_proto::thread::Thread;

use crate::agent::held::{ConnectionState, HeldLink, Position};
use crate::carry::{CARRY_VERSION, CURSOR_BYTES, OwedCommand, RowRef, orphan_limit};

/// An agent that a shim holds, or held.
#[derive(Debug)]
pub(super) struct Carrying {
    hold: Hold,
    /// What is shared with the agent's task, once it exists.
    link: Option<Arc<HeldLink>>,
    /// The last position that the machine has handled.
    cursor: u64,
    connection: Option<RawJson>,
    out_mark: u64,
    /// Commands that were sent to the agent's task.
    commands: u64,
    /// Commands that no position counts yet, each with its number.
    owed: VecDeque<(u64, OwedCommand)>,
    /// The memo of the machine after the last events that were taken.
    thread: Option<RawJson>,
    /// The terminals that shims held then, with what the machine had seen of their output.
    terminals: Vec<TerminalHold>,
    /// What the log has.
    stored: Stored,
    /// What an append stores that has begun.
    begun: Option<Stored>,
    /// Whether the agent is gone, so that the row must be removed.
    is_gone: bool,
    /// The limit that the shim has for a turn, or for an idle agent.
    in_turn: Option<bool>,
}

/// What the log has of an agent.
#[derive(Debug, Default)]
struct Stored {
    cursor: u64,
    row: Vec<u8>,
    out_mark: u64,
    /// Whether another daemon can continue with the row.
    is_resumable: bool,
    /// Whether there is no row any more.
    is_removed: bool,
}

/// What an append stores: the cursor, and the row if it has changed.
#[derive(Debug, Default)]
pub(super) struct Change {
    pub cursor: Option<u64>,
    pub memo: Option<Vec<u8>>,
}

impl Carrying {
    /// Begins with an agent that is about to start, and the row that the log has of it.
    pub fn begin(hold: Hold, row: Vec<u8>) -> Self {
        Self {
            hold,
            link: None,
            cursor: 0,
            connection: None,
            out_mark: 0,
            commands: 0,
            owed: VecDeque::new(),
            thread: None,
            terminals: Vec::new(),
            stored: Stored {
                row,
                ..Stored::default()
            },
            begun: None,
            is_gone: false,
            in_turn: None,
        }
    }

    /// Continues with an attached agent, whose output the log has up to `cursor`. Until its first position, its connection is
    /// that of the row.
    pub fn resume(hold: Hold, cursor: u64, connection: RawJson, out_mark: u64) -> Self {
        Self {
            cursor,
            connection: Some(connection),
            out_mark,
            stored: Stored {
                cursor,
                out_mark,
                is_resumable: true,
                ..Stored::default()
            },
            ..Self::begin(hold, Vec::new())
        }
    }

    /// Begins with an agent that is gone, and of which the log has a row.
    pub fn gone() -> Self {
        Self {
            is_gone: true,
            ..Self::begin(Hold::new(), Vec::new())
        }
    }

    /// Returns what identifies the agent.
    pub fn hold(&self) -> &Hold {
        &self.hold
    }

    /// Notes what is shared with the agent's task.
    pub fn linked(&mut self, link: Option<Arc<HeldLink>>) {
        self.link = link;
    }

    /// Has the agent's task read its output: the commands that the thread repeats were sent.
    pub fn read(&self) {
        if let Some(link) = &self.link {
            link.read();
        }
    }

    /// Has the shim wait as long for another daemon as the agent's work is worth it. Returns how long, if that has changed.
    pub fn limit_orphan(&mut self, limits: &Limits, in_turn: bool) -> Option<Duration> {
        if self.in_turn == Some(in_turn) {
            return None;
        }
        let orphan = orphan_limit(limits, in_turn);
        let is_set = self.link.as_ref().is_some_and(|link| link.limit_orphan(orphan));
        is_set.then(|| {
            self.in_turn = Some(in_turn);
            orphan
        })
    }

    /// Notes that the agent is gone.
    pub fn end(&mut self) {
        self.is_gone = true;
    }

    /// Notes a position, all events before which the machine has handled.
    pub fn reached(&mut self, at: Position) {
        self.cursor = at.cursor;
        match at.connection {
            ConnectionState::Same => {}
            ConnectionState::Open { part, out_mark } => {
                self.connection = Some(part);
                self.out_mark = out_mark;
            }
            ConnectionState::NotOpen => self.connection = None,
        }
        while self
            .owed
            .front()
            .is_some_and(|(number, _)| *number <= at.commands)
        {
            self.owed.pop_front();
        }
    }

    /// Notes a command that is sent to the agent's task.
    pub fn sent(&mut self, command: &AgentCommand) {
        self.commands += 1;
        if let Some(owed) = OwedCommand::of(command) {
            self.owed.push_back((self.commands, owed));
        }
    }

    /// Returns whether the log must store something although there are no events.
    pub fn is_due(&self) -> bool {
        self.is_gone || self.cursor.saturating_sub(self.stored.cursor) >= CURSOR_BYTES
    }

    /// Returns whether another daemon can continue with what the log has.
    pub fn is_resumable(&self) -> bool {
        !self.is_gone && self.stored.is_resumable
    }

    /// Notes the machine's state after the events that were just taken, before any effect is polled, and the terminals that shims hold.
    pub fn capture(&mut self, machine: &Thread, terminals: Vec<TerminalHold>) {
        self.terminals = terminals;
        let memo = machine.memo().map(|memo| RawJson::of(&memo)).transpose();
        self.thread = memo.unwrap_or_else(|error| {
            let error = without_content(&error);
            tracing::error!(error, "the memo of a thread cannot be written");
            None
        });
    }

    /// Begins an append of the events that were just taken: returns what it stores beside them. The memo has the commands that follow
    /// it.
    pub fn next(&mut self) -> Change {
        if self.is_gone {
            self.begun = Some(Stored {
                is_removed: true,
                ..Stored::default()
            });
            return Change {
                cursor: None,
                memo: Some(Vec::new()),
            };
        }
        let owed: Vec<_> = self.owed.iter().map(|(_, owed)| owed.clone()).collect();
        let row = RowRef {
            v: CARRY_VERSION,
            hold: &self.hold,
            connection: self.connection.as_ref(),
            owed: &owed,
            terminals: &self.terminals,
            thread: self.thread.as_ref(),
        };
        let is_resumable = row.is_resumable();
        let (row, is_resumable) = match row.encode() {
            Ok(row) => (row, is_resumable),
            Err(error) => {
                let error = without_content(&error);
                tracing::error!(error, "the row of an agent cannot be written");
                (self.new_row(), false)
            }
        };
        let memo = (row != self.stored.row).then(|| row.clone());
        self.begun = Some(Stored {
            cursor: self.cursor,
            row,
            out_mark: self.out_mark,
            is_resumable,
            is_removed: false,
        });
        Change {
            cursor: Some(self.cursor),
            memo,
        }
    }

    /// Returns the row of an agent whose work cannot be continued.
    fn new_row(&self) -> Vec<u8> {
        RowRef::of_new(&self.hold).encode().unwrap_or_default()
    }

    /// Notes that the append has succeeded. Returns whether it has removed the row.
    pub fn stored(&mut self) -> bool {
        let Some(begun) = self.begun.take() else {
            return false;
        };
        self.stored = begun;
        if let Some(link) = self.link.as_ref().filter(|_| !self.stored.is_removed) {
            link.stored(self.stored.cursor, self.stored.out_mark);
        }
        self.stored.is_removed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(change: &Change) -> &str {
        let memo = change.memo.as_deref();
        memo.map_or("", |memo| std::str::from_utf8(memo).unwrap())
    }

    fn position(cursor: u64, connection: ConnectionState, commands: u64) -> Position {
        Position {
            cursor,
            connection,
            commands,
            answers: 0,
        }
    }

    fn open(mark: u64) -> ConnectionState {
        ConnectionState::Open {
            part: RawJson::parse(format!(r#"{{"out_mark":{mark}}}"#)).unwrap(),
            out_mark: mark,
        }
    }

    fn notice(number: u64) -> AgentCommand {
        AgentCommand::Notify {
            method: format!("_notice/{number}"),
            params: None,
        }
    }

    fn carrying() -> Carrying {
        let hold = Hold::new();
        let row = RowRef::of_new(&hold).encode().unwrap();
        Carrying::begin(hold, row)
    }

    #[test]
    fn a_row_is_stored_only_when_it_has_changed() {
        let mut carrying = carrying();
        let first = carrying.next();
        assert_eq!((first.cursor, text(&first)), (Some(0), ""));
        assert!(!carrying.stored());
        carrying.reached(position(10, open(5), 0));
        let second = carrying.next();
        assert_eq!(second.cursor, Some(10));
        assert!(text(&second).contains(r#""out_mark":5"#));
        // The append failed, or its answer was lost.
        assert!(carrying.next().memo.is_some());
        assert!(!carrying.stored());
        carrying.reached(position(20, ConnectionState::Same, 0));
        let third = carrying.next();
        assert_eq!((third.cursor, text(&third)), (Some(20), ""));
        carrying.reached(position(30, ConnectionState::NotOpen, 0));
        let last = carrying.next();
        assert!(last.memo.is_some() && !text(&last).contains("out_mark"));
    }

    #[test]
    fn output_without_events_is_stored_at_half_a_ring() {
        let mut carrying = carrying();
        carrying.reached(position(CURSOR_BYTES - 1, ConnectionState::NotOpen, 0));
        assert!(!carrying.is_due());
        carrying.reached(position(CURSOR_BYTES, ConnectionState::NotOpen, 0));
        assert!(carrying.is_due());
        let change = carrying.next();
        assert_eq!((change.cursor, change.memo), (Some(CURSOR_BYTES), None));
        assert!(carrying.is_due(), "it is not stored yet");
        carrying.stored();
        assert!(!carrying.is_due());
    }

    #[test]
    fn a_command_that_was_sent_is_in_the_row_until_a_position_counts_it() {
        let mut carrying = carrying();
        let has = |change: &Change, number: u64| text(change).contains(&format!("_notice/{number}\""));
        carrying.sent(&notice(1));
        carrying.sent(&AgentCommand::Cancel);
        carrying.sent(&notice(3));
        carrying.reached(position(10, open(5), 0));
        let change = carrying.next();
        assert!(has(&change, 1) && has(&change, 3), "{change:?}");
        carrying.reached(position(20, open(6), 2));
        let change = carrying.next();
        assert!(!has(&change, 1) && has(&change, 3), "{change:?}");
        carrying.reached(position(30, open(7), 3));
        let change = carrying.next();
        assert!(change.memo.is_some() && !has(&change, 3), "{change:?}");
    }

    #[test]
    fn the_terminals_of_the_last_events_are_in_the_row() {
        let mut carrying = carrying();
        let now = crate::clock::Clock::start().now();
        let machine = Thread::new(acpd_log::conformance::sample::thread(1), Limits::default(), now);
        let terminal = |seen| TerminalHold {
            id: "term_1".into(),
            limit: 1000,
            seen,
        };
        carrying.reached(position(10, open(5), 0));
        carrying.capture(&machine, vec![terminal(0)]);
        let change = carrying.next();
        assert!(
            text(&change).contains(r#""terminals":[{"id":"term_1","limit":1000}]"#),
            "{change:?}"
        );
        carrying.stored();
        carrying.capture(&machine, vec![terminal(0)]);
        assert_eq!(carrying.next().memo, None);
        carrying.stored();
        carrying.capture(&machine, vec![terminal(6)]);
        assert!(text(&carrying.next()).contains(r#""seen":6"#));
        carrying.stored();
        carrying.capture(&machine, Vec::new());
        let change = carrying.next();
        assert!(
            change.memo.is_some() && !text(&change).contains("terminals"),
            "{change:?}"
        );
    }

    #[test]
    fn the_row_of_an_agent_that_is_gone_is_removed() {
        let mut carrying = carrying();
        carrying.reached(position(10, open(5), 0));
        let begun = carrying.next();
        assert!(begun.memo.is_some());
        // While that is stored.
        carrying.end();
        assert!(!carrying.stored() && carrying.is_due() && !carrying.is_resumable());
        let last = carrying.next();
        assert_eq!((last.cursor, last.memo), (None, Some(Vec::new())));
        assert!(carrying.stored(), "nothing is left to carry");
    }
}
