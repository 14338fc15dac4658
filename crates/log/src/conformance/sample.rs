//! Threads, events and summaries for tests. The same arguments return the same values, in every process.

use std::ops::RangeInclusive;

use acpd_model::{
    Event, EventKind, Extract, ItemEvent, ItemId, MessageType, Millis, Origin, RawJson, SearchableText, Seq,
    Summary, TextKind, ThreadId, ThreadStatus, TurnId,
};
use uuid::Uuid;

use crate::Filter;

/// Returns the thread number `number`. Higher numbers sort later.
pub fn thread(number: u64) -> ThreadId {
    ThreadId(Uuid::from_u128(
        0x0192_f0c1_c5d7_7c0a_0000_0000_0000_0000 | u128::from(number),
    ))
}

/// Returns a thread id that no other call returns.
pub fn new_thread() -> ThreadId {
    ThreadId(Uuid::now_v7())
}

/// Returns event number `seq`: text of an agent, with `bytes` bytes of its original JSON.
pub fn event(seq: Seq, bytes: usize) -> Event {
    const FRAME: &str = r#"{"seq":12345678,"text":""}"#;
    const WORDS: &str = "lorem ipsum ";
    let length = bytes.saturating_sub(FRAME.len());
    let mut text = WORDS.repeat(length.div_ceil(WORDS.len()));
    text.truncate(length);
    let raw = format!(r#"{{"seq":{:08},"text":"{text}"}}"#, 10_000_000 + seq);
    Event {
        seq,
        at: 1_700_000_000_000 + seq.cast_signed(),
        turn: Some(TurnId(1)),
        by: Origin::Agent,
        kind: EventKind::Item(ItemEvent::Delta {
            item: ItemId(1),
            role: MessageType::AgentMessage,
            text: format!("word {seq} "),
            message_id: None,
        }),
        raw: Some(RawJson::parse(raw).expect("a sample is JSON")),
        raw_params: None,
        repeats_id: false,
        translated: false,
        lane: None,
    }
}

/// Returns the events `seqs`, each created by [`event`].
pub fn run(seqs: RangeInclusive<Seq>, bytes: usize) -> Vec<Event> {
    seqs.map(|seq| event(seq, bytes)).collect()
}

/// Returns a word that no other call returns.
pub fn unique_word() -> String {
    format!("w{}", Uuid::now_v7().simple())
}

/// Returns the searchable data of event number `seq`: the texts as messages of the agent.
pub fn extract(seq: Seq, texts: &[&str]) -> Extract {
    let texts = texts.iter().map(|text| SearchableText {
        seq,
        at: 1_700_000_000_000 + seq.cast_signed(),
        turn: Some(TurnId(1)),
        item: Some(ItemId(1)),
        kind: TextKind::AgentMessage,
        text: (*text).to_owned(),
    });
    Extract {
        texts: texts.collect(),
        ..Extract::default()
    }
}

/// Returns the summary of a thread with the name `name`, last changed at `updated_at`.
pub fn summary(name: &str, updated_at: Millis) -> Summary {
    Summary {
        agent: "demo".into(),
        cwd: "/workspace".into(),
        name: Some(name.into()),
        project_id: None,
        metadata: None,
        status: ThreadStatus::Idle,
        error: None,
        last_turn: None,
        cut_off: false,
        session_id: None,
        created_at: 1,
        updated_at,
        turns: 1,
        archived: false,
        pinned: false,
        pin_place: None,
        question: None,
        usage: None,
    }
}

/// Returns filters with the conditions of both. Where both have the same, the second one counts.
pub fn both(one: &Filter, other: &Filter) -> Filter {
    let (one, other) = (one.clone(), other.clone());
    Filter {
        archived: other.archived.or(one.archived),
        pinned: other.pinned.or(one.pinned),
        agent: other.agent.or(one.agent),
        cwd: other.cwd.or(one.cwd),
        active: other.active.or(one.active),
        status: other.status.or(one.status),
        last_turn: other.last_turn.or(one.last_turn),
        session_id: other.session_id.or(one.session_id),
        search: other.search.or(one.search),
        id: other.id.or(one.id),
        page_bytes: other.page_bytes.or(one.page_bytes),
    }
}
