//! An agent that a shim holds: how far its output was read, and what its thread needs to continue there.
//!
//! In: the agent's connection after a whole line. Out: positions for the thread. Owns: the handle of the journal and the ring.
//! Never: reads or writes them.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use acpd_model::{RawJson, without_content};
use acpd_proto::agent::{AgentCommand, AgentConnection, AgentEvent};
use acpd_proto::time::Now;
use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;

use crate::agent::stdin::Stdin;
use crate::carry::{CURSOR_BYTES, ConnectionPart};
use crate::host::HeldIo;

/// Bytes that may wait for the journal before the agent is not read any more: the next row contains them.
pub(crate) const UNSENT_BYTES: usize = 1 << 20;

/// What the thread and the task of a held agent share.
#[derive(Default)]
pub(crate) struct HeldLink {
    /// Set when the process has started.
    io: OnceLock<Box<dyn HeldIo>>,
    /// Set when the thread leaves the agent to its shim, with the time that the shim waits for a daemon.
    orphan: OnceLock<Duration>,
    /// Cancelled once the agent may be read.
    reads: CancellationToken,
}

impl fmt::Debug for HeldLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldLink")
            .field("started", &self.io.get().is_some())
            .field("orphan", &self.orphan.get())
            .finish_non_exhaustive()
    }
}

impl HeldLink {
    /// Notes that the process has started.
    pub fn started(&self, io: Box<dyn HeldIo>) {
        // A process starts once.
        let _ = self.io.set(io);
    }

    /// Has the task read the agent's output, after all commands that it was sent before.
    pub fn read(&self) {
        self.reads.cancel();
    }

    /// Gives back what the log has: the output before `cursor`, and the journal before `out_mark`.
    pub fn stored(&self, cursor: u64, out_mark: u64) {
        if let Some(io) = self.io.get() {
            io.acknowledge(cursor);
            io.forget(out_mark);
        }
    }

    /// Sets how long the shim waits for another daemon if this one is killed. Returns false before the process has started.
    pub fn limit_orphan(&self, orphan: Duration) -> bool {
        let io = self.io.get();
        io.map(|io| io.limit_orphan(orphan)).is_some()
    }

    /// Has the task leave the process to its shim.
    pub fn leave(&self, orphan: Duration) {
        // The first order counts.
        let _ = self.orphan.set(orphan);
    }

    /// Returns how long the shim waits, if the process is to be left to it.
    pub fn left(&self) -> Option<Duration> {
        self.orphan.get().copied()
    }
}

/// What the connection of an agent is at a position.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ConnectionState {
    /// As at the position before.
    Same,
    /// This [`ConnectionPart`], and its mark in the journal.
    Open { part: RawJson, out_mark: u64 },
    /// Its session is not open, so that nothing of it can be continued.
    NotOpen,
}

/// A border of lines in an agent's output.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Position {
    /// Bytes of the output before it.
    pub cursor: u64,
    pub connection: ConnectionState,
    /// The number of commands that the connection had received, and how many of them were answers.
    pub commands: u64,
    pub answers: u64,
}

/// Events of a held agent, and the position behind the lines that caused them.
#[derive(Debug)]
pub struct Placed {
    pub(crate) events: Vec<AgentEvent>,
    pub(crate) at: Position,
}

/// The positions of one agent.
pub(crate) struct Positions {
    link: Arc<HeldLink>,
    /// The byte of the output with which this daemon began.
    base: u64,
    /// The last position that the thread received.
    last: u64,
    /// The state at this position.
    part: Option<RawJson>,
    /// Commands received so far, and answers among them.
    commands: u64,
    answers: u64,
    /// Ends once the agent may be read. Kept here, because the task of each agent would reserve space for it.
    begins: BoxFuture<'static, ()>,
}

impl Positions {
    /// Begins at this byte of the output.
    pub fn new(link: Arc<HeldLink>, base: u64) -> Self {
        let begins = Box::pin(link.reads.clone().cancelled_owned());
        Self {
            link,
            base,
            last: base,
            part: None,
            commands: 0,
            answers: 0,
            begins,
        }
    }

    /// Returns whether the agent may be read. One that was attached may not, until its thread has repeated its commands.
    pub fn may_read(&self) -> bool {
        self.link.reads.is_cancelled()
    }

    /// Waits until the agent may be read. Not to be used once it [may](Self::may_read).
    pub fn read_begins(&mut self) -> &mut BoxFuture<'static, ()> {
        &mut self.begins
    }

    /// Counts a command that the connection received.
    pub fn count(&mut self, command: &AgentCommand) {
        self.commands += 1;
        self.answers += u64::from(matches!(command, AgentCommand::Answer { .. }));
    }

    /// Returns whether the thread must receive a position although there are no events. `consumed` are the bytes of the lines that
    /// this daemon has handled.
    pub fn is_due(&self, consumed: u64) -> bool {
        (self.base + consumed).saturating_sub(self.last) >= CURSOR_BYTES
    }

    /// Returns how long the shim waits, if the process is to be left to it.
    pub fn left(&self) -> Option<Duration> {
        self.link.left()
    }

    /// Returns the position behind all lines that were handled.
    pub fn next(&mut self, consumed: u64, connection: &AgentConnection, stdin: &Stdin, now: Now) -> Position {
        self.last = self.base + consumed;
        Position {
            cursor: self.last,
            connection: self.state(connection, stdin, now),
            commands: self.commands,
            answers: self.answers,
        }
    }

    fn state(&mut self, connection: &AgentConnection, stdin: &Stdin, now: Now) -> ConnectionState {
        let Some(io) = self.link.io.get().filter(|_| connection.is_resumable()) else {
            self.part = None;
            return ConnectionState::NotOpen;
        };
        let out_mark = io.journal_end();
        let part = ConnectionPart {
            out_mark,
            unsent: stdin.unsent(),
            memo: connection.memo(now),
        };
        match RawJson::of(&part) {
            Ok(part) if self.part.as_ref() == Some(&part) => ConnectionState::Same,
            Ok(part) => {
                self.part = Some(part.clone());
                ConnectionState::Open { part, out_mark }
            }
            Err(error) => {
                let error = without_content(&error);
                tracing::error!(error, "the state of an agent's connection cannot be written");
                self.part = None;
                ConnectionState::NotOpen
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::atomic::{AtomicU64, Ordering};

    use acpd_proto::agent::Start;
    use acpd_proto::wire::Line;

    use super::*;
    use crate::host::budget::Budget;

    /// What the log gave back, and the end of the journal.
    #[derive(Debug, Default)]
    struct Numbers {
        acknowledged: AtomicU64,
        forgotten: AtomicU64,
        journal_end: AtomicU64,
    }

    impl HeldIo for Arc<Numbers> {
        fn acknowledge(&self, cursor: u64) {
            self.acknowledged.store(cursor, Ordering::Relaxed);
        }

        fn journal_end(&self) -> u64 {
            self.journal_end.load(Ordering::Relaxed)
        }

        fn sent_since(&self, _: u64) -> io::Result<Vec<u8>> {
            Ok(Vec::new())
        }

        fn forget(&self, mark: u64) {
            self.forgotten.store(mark, Ordering::Relaxed);
        }
    }

    const NOW: Now = Now {
        mono: Duration::from_secs(1),
        wall: 1,
    };

    fn take(connection: &mut AgentConnection) {
        let _output = (connection.take_events(), connection.take_writes());
    }

    /// A connection whose session is open.
    fn open_connection() -> AgentConnection {
        let mut connection = AgentConnection::new(Start::new("fake", "/", Duration::from_mins(1)), NOW);
        for answer in [
            r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}"#,
        ] {
            take(&mut connection);
            connection.handle_line(&Line::Whole(answer.as_bytes()), NOW);
        }
        take(&mut connection);
        connection
    }

    #[test]
    fn a_position_has_what_the_next_daemon_needs() {
        let (link, numbers) = (Arc::new(HeldLink::default()), Arc::new(Numbers::default()));
        let mut positions = Positions::new(Arc::clone(&link), 100);
        let mut stdin = Stdin::new(None, Budget::default());
        let connection = open_connection();
        let before = positions.next(0, &connection, &stdin, NOW);
        assert_eq!(
            before.connection,
            ConnectionState::NotOpen,
            "it has no journal yet"
        );

        link.started(Box::new(Arc::clone(&numbers)));
        numbers.journal_end.store(40, Ordering::Relaxed);
        positions.count(&AgentCommand::Cancel);
        let first = positions.next(7, &connection, &stdin, NOW);
        assert_eq!((first.cursor, first.commands, first.answers), (107, 1, 0));
        let ConnectionState::Open { out_mark: 40, part } = first.connection else {
            panic!("{:?}", first.connection)
        };
        assert!(!part.get().contains("unsent"), "{part:?}");
        let same = positions.next(9, &connection, &stdin, NOW);
        assert_eq!((same.cursor, same.connection), (109, ConnectionState::Same));

        stdin.add(b"{\"waits\":1}\n".to_vec());
        let later = positions.next(9, &connection, &stdin, NOW).connection;
        let ConnectionState::Open { part, .. } = later else {
            panic!("{later:?}")
        };
        let part: ConnectionPart = serde_json::from_str(part.get()).unwrap();
        assert_eq!(part.unsent, "{\"waits\":1}\n");

        let unopened = AgentConnection::new(Start::new("fake", "/", Duration::from_mins(1)), NOW);
        let closed = positions.next(9, &unopened, &stdin, NOW).connection;
        assert_eq!(closed, ConnectionState::NotOpen);

        link.stored(109, 40);
        assert_eq!(numbers.acknowledged.load(Ordering::Relaxed), 109);
        assert_eq!(numbers.forgotten.load(Ordering::Relaxed), 40);
    }

    #[test]
    fn a_position_is_due_at_half_a_ring() {
        let mut positions = Positions::new(Arc::new(HeldLink::default()), 100);
        let (connection, stdin) = (open_connection(), Stdin::new(None, Budget::default()));
        assert!(!positions.is_due(CURSOR_BYTES - 1) && positions.is_due(CURSOR_BYTES));
        positions.next(CURSOR_BYTES, &connection, &stdin, NOW);
        assert!(!positions.is_due(CURSOR_BYTES + 1) && positions.is_due(2 * CURSOR_BYTES));
    }
}
