//! A thread of any length, stored as a daemon would have stored it.

use std::path::Path;

use acpd_log::{Append, Durability, EventLog, Snapshot, Sqlite};
use acpd_model::event::ThreadCreated;
use acpd_model::item::ToolStatus;
use acpd_model::limits::SNAPSHOT_BYTES;
use acpd_model::{
    Event, EventKind, Extract, ItemEnd, ItemEvent, ItemId, ItemOutcome, ItemStart, MessageType, Origin,
    RawJson, Seq, ThreadEvent, ThreadId, TurnEvent, TurnId,
};
use acpd_proto::projection::{Live, SNAPSHOT_FORMAT, extract, mark, text_block};

use crate::bench::WORKSPACE;

/// Bytes of text in one append.
const BATCH_BYTES: usize = 256 << 10;

/// Updates of one tool call, and chunks of one message.
const UPDATES: usize = 12;

/// Items of one turn.
const ITEMS: usize = 24;

/// The id of a single thread.
pub const LONG: ThreadId = id(0);

/// Returns the id of one of several threads.
pub const fn id(number: u32) -> ThreadId {
    ThreadId(uuid::Uuid::from_u128((9 << 76) + number as u128))
}

/// Length and grain of a thread.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Events at least.
    events: Seq,
    /// Bytes of the agent's JSON in one update, on average.
    update_bytes: usize,
}

impl Shape {
    /// Updates of about 1 KB.
    pub fn usual(events: Seq) -> Self {
        Self {
            events,
            update_bytes: 1000,
        }
    }

    /// Updates of about 32 KB, so that the thread is stored quickly.
    pub fn large(bytes: u64) -> Self {
        Self {
            events: bytes >> 14,
            update_bytes: 32 << 10,
        }
    }
}

/// Stores a thread. Returns its number of turns.
pub fn thread(path: &Path, id: ThreadId, shape: Shape) -> anyhow::Result<u32> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(async {
        let log = Sqlite::open(path, Durability::Process)?;
        let mut thread = Writer::new(&log, id, shape);
        thread.create();
        while thread.live.last_seq < shape.events {
            thread.turn().await?;
        }
        thread.flush().await?;
        let turns = thread.live.last_turn;
        log.close().await?;
        Ok(turns)
    })
}

/// Writes a thread into the log.
struct Writer<'l> {
    log: &'l Sqlite,
    live: Live,
    shape: Shape,
    events: Vec<Event>,
    extract: Extract,
    /// Bytes of the events' texts.
    bytes: usize,
    /// Weight of the thread at which its next snapshot is due.
    due: u64,
    noise: u64,
}

impl<'l> Writer<'l> {
    fn new(log: &'l Sqlite, id: ThreadId, shape: Shape) -> Self {
        Self {
            log,
            live: Live::new(id),
            shape,
            events: Vec::new(),
            extract: Extract::default(),
            bytes: 0,
            due: SNAPSHOT_BYTES,
            noise: 1,
        }
    }

    fn emit(&mut self, turn: Option<TurnId>, kind: EventKind, raw: Option<RawJson>) {
        let seq = self.live.last_seq + 1;
        let event = Event {
            seq,
            at: 1_700_000_000_000 + seq.cast_signed(),
            turn,
            by: Origin::Agent,
            kind,
            raw,
            raw_params: None,
            repeats_id: false,
            translated: false,
            lane: None,
        };
        mark(&self.live, &event, &mut self.extract.marks);
        self.live.fold(&event);
        self.events.push(event);
    }

    fn create(&mut self) {
        let created = ThreadCreated {
            agent: "fake".into(),
            cwd: WORKSPACE.into(),
            ..ThreadCreated::default()
        };
        self.emit(
            None,
            EventKind::Thread(ThreadEvent::Created(Box::new(created))),
            None,
        );
    }

    async fn turn(&mut self) -> anyhow::Result<()> {
        let turn = Some(TurnId(self.live.last_turn + 1));
        let started = EventKind::Turn(TurnEvent::Started {
            client_turn_id: None,
            imported: false,
        });
        self.emit(turn, started, None);
        for item in 0..ITEMS {
            if item % 2 == 0 {
                self.message(turn);
            } else {
                self.tool(turn);
            }
            if self.bytes >= BATCH_BYTES {
                self.flush().await?;
            }
        }
        let settled = EventKind::Turn(TurnEvent::Settled {
            status: acpd_model::event::TurnStatus::Completed,
            stop_reason: Some("end_turn".into()),
            error: None,
            started_at: Some(1),
            usage: None,
            changes: None,
            plan: None,
            plans: None,
            permitted: 0,
            waited_ms: 0,
        });
        self.emit(turn, settled, None);
        Ok(())
    }

    fn message(&mut self, turn: Option<TurnId>) {
        let item = ItemId(self.live.last_item + 1);
        let role = MessageType::AgentMessage;
        let start = ItemStart::Message {
            role,
            message_id: None,
            client_message_id: None,
        };
        let started = EventKind::Item(ItemEvent::Started {
            item,
            parent: None,
            start,
        });
        self.emit(turn, started, None);
        let mut whole = String::new();
        for _ in 0..UPDATES {
            let text = self.words(self.shape.update_bytes / 2);
            whole.push_str(&text);
            let delta = EventKind::Item(ItemEvent::Delta {
                item,
                role,
                text,
                message_id: None,
            });
            self.emit(turn, delta, None);
        }
        let end = ItemEnd::Message {
            role,
            content: vec![text_block(&whole)],
        };
        self.complete(turn, item, end);
    }

    fn tool(&mut self, turn: Option<TurnId>) {
        let item = ItemId(self.live.last_item + 1);
        let tool_call_id = format!("call-{}", item.0);
        let start = ItemStart::ToolCall {
            tool_call_id: tool_call_id.clone(),
            title: "Run a command".into(),
            kind: "execute".into(),
            status: ToolStatus::Pending,
        };
        let call = |text: &str| {
            RawJson::from(serde_json::json!({
                "toolCallId": tool_call_id, "title": "Run a command", "kind": "execute",
                "content": [{ "type": "content", "content": { "type": "text", "text": text } }],
            }))
        };
        let started = EventKind::Item(ItemEvent::Started {
            item,
            parent: None,
            start,
        });
        self.emit(turn, started, Some(call("")));
        let mut last = call("");
        for _ in 0..UPDATES {
            last = call(&self.words(self.shape.update_bytes * 3 / 2));
            let status = ToolStatus::InProgress;
            self.emit(
                turn,
                EventKind::Item(ItemEvent::Updated { item, status }),
                Some(last.clone()),
            );
        }
        let end = ItemEnd::ToolCall {
            status: ToolStatus::Completed,
            call: last,
        };
        self.complete(turn, item, end);
    }

    fn complete(&mut self, turn: Option<TurnId>, item: ItemId, end: ItemEnd) {
        let outcome = ItemOutcome::Completed;
        self.emit(
            turn,
            EventKind::Item(ItemEvent::Completed { item, outcome, end }),
            None,
        );
    }

    /// Returns text that compresses about as well as the output of a program.
    fn words(&mut self, bytes: usize) -> String {
        let mut text = String::with_capacity(bytes + 16);
        while text.len() < bytes {
            self.noise = self.noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            text.push_str(&format!("line {:x} of it; ", self.noise >> 40));
        }
        self.bytes += text.len();
        text
    }

    async fn flush(&mut self) -> anyhow::Result<()> {
        if self.events.is_empty() {
            return Ok(());
        }
        let events = std::mem::take(&mut self.events);
        self.bytes = 0;
        let extract = Extract {
            marks: std::mem::take(&mut self.extract.marks),
            ..extract(&events)
        };
        let snapshot = if self.live.weight >= self.due {
            self.due = self.live.weight + SNAPSHOT_BYTES;
            Some(Snapshot {
                seq: self.live.last_seq,
                weight: self.live.weight,
                format: SNAPSHOT_FORMAT,
                body: self.live.to_snapshot()?.into(),
            })
        } else {
            None
        };
        let append = Append {
            summary: Some(&self.live.summary),
            extract: &extract,
            snapshot: snapshot.as_ref(),
            ..Append::new(self.live.thread, &events)
        };
        Ok(self.log.store(append).await?)
    }
}
