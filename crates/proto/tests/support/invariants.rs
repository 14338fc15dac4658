//! The invariants that hold after any scenario.

use std::collections::{BTreeMap, BTreeSet};

use acpd_model::{
    Event, EventKind, HostEvent, ItemEvent, ItemId, NotePlace, RawJson, RequestEvent, SessionEvent,
    ThreadEvent, ThreadStatus, TurnEvent, TurnId,
};
use acpd_proto::projection::{Live, Transcript, marks_of};
use acpd_proto::surface::app::frame;
use serde::Deserialize;

use super::scene::{FORK, Scene};
use super::{app_schema, schema};

/// Bytes of the snapshots of one scenario that are compared.
const SNAPSHOT_BYTES: usize = 8 << 20;

/// The number of events on a page when a check reads the log in pages.
const PAGE: usize = 7;

/// Checks all invariants, and panics at the first violation.
pub fn hold(scene: &Scene) {
    views_agree(scene);
    snapshots_agree(scene);
    places_are_enough(scene);
    status_fits(scene);
    frames_are_whole(scene);
    deltas_are_enough(scene);
    plans_are_known(scene);
    items_are_bracketed(&scene.log);
    turns_end_once(&scene.log);
    questions_end_once(&scene.log);
    cursors_are_placed(&scene.log);
    lanes_are_announced(&scene.log);
    for sent in &scene.sent {
        schema::check_sent(scene.acp, &sent.json, sent.answers.as_deref());
    }
}

/// Checks that the state after each event reads back from a snapshot, also as the state of a fork.
fn snapshots_agree(scene: &Scene) {
    let mut live = Live::new(scene.id);
    // Long logs repeat what short ones have.
    let step = 1 + scene.log.len() / 200;
    let mut room = SNAPSHOT_BYTES;
    for (at, event) in scene.log.iter().enumerate() {
        live.fold(event);
        if at % step == 0 && live.items.tool_bytes() < room {
            let body = live.to_snapshot().unwrap();
            room = room.saturating_sub(body.len());
            assert_eq!(Live::from_snapshot(scene.id, &body).unwrap(), live);
            let mut fork = Live::from_snapshot(FORK, &body).unwrap();
            fork.readdress(scene.id);
            assert_eq!(fork, live);
        }
    }
}

/// Checks that the events at the marked places, and the state at the end, give the whole transcript.
fn places_are_enough(scene: &Scene) {
    let (live, marks) = (scene.thread.live(), marks_of(scene.id, &scene.log));
    let mut whole = Transcript::default();
    for event in &scene.log {
        whole.fold(event);
    }
    let is_kept = |turn: Option<TurnId>| turn.is_none_or(|turn| !live.dropped.contains(turn));
    let items: Vec<_> = marks.items.iter().filter(|item| is_kept(item.turn)).collect();
    let mut places: BTreeSet<u64> = items.iter().flat_map(|item| [item.first, item.last]).collect();
    let turns = marks.turns.iter().filter(|turn| is_kept(Some(turn.turn)));
    places.extend(turns.map(|turn| turn.seq));
    let is_found = |place: NotePlace| match place {
        NotePlace::Start => true,
        NotePlace::Item(item) => items.iter().any(|known| known.item == item),
        NotePlace::Turn(turn) => is_kept(Some(turn)),
    };
    let late = marks.late.iter().filter(|late| is_found(late.place));
    places.extend(late.map(|late| late.seq));
    let mut found = Transcript::default();
    for event in scene.log.iter().filter(|event| places.contains(&event.seq)) {
        found.fold(event);
    }
    let plans = found.turns.iter().filter_map(|turn| turn.settled.as_ref());
    let plans = plans.flat_map(acpd_proto::projection::SettledTurn::plans);
    let plans: Vec<_> = plans
        .map(|seq| scene.log[usize::try_from(seq).unwrap() - 1].clone())
        .collect();
    found.add_plans(&plans, live);
    found.add_open(live, None, None);
    for item in live.items.keys() {
        let notes = marks
            .late
            .iter()
            .filter(|late| late.place == NotePlace::Item(*item));
        let notes = notes.map(|late| scene.log[usize::try_from(late.seq).unwrap() - 1].clone());
        found.add_notes(*item, notes);
    }
    assert_eq!(found.into_turns(), whole.into_turns());
}

/// Checks that the live view and all replayed views are equal: at once and page by page, typed and as JSON.
fn views_agree(scene: &Scene) {
    let mut live = Live::new(scene.id);
    let mut whole = Transcript::default();
    for event in &scene.log {
        live.fold(event);
        whole.fold(event);
    }
    assert_eq!(&live, scene.thread.live(), "replay equals live");
    let mut paged = Transcript::default();
    for page in scene.log.chunks(PAGE) {
        let mut resumed = paged.clone();
        for event in page {
            let mut bytes = Vec::new();
            event.encode(&mut bytes).unwrap();
            resumed.fold(&Event::decode(&bytes).unwrap());
        }
        paged = resumed;
    }
    assert_eq!(paged, whole, "page by page equals at once");
    let mut open: Vec<ItemId> = whole
        .turns
        .iter()
        .flat_map(|turn| &turn.items)
        .filter(|item| item.end.is_none())
        .map(|item| item.id)
        .collect();
    // The rest of a message of an ended turn begins after items of the running one.
    open.sort_unstable();
    let mut open_in_view: Vec<ItemId> = live.items.keys().copied().collect();
    open_in_view.sort_unstable();
    assert_eq!(open, open_in_view, "both views know the same open items");
}

/// Checks that the thread's status matches its state.
fn status_fits(scene: &Scene) {
    let live = scene.thread.live();
    if live.is_deleted() {
        let last = scene.kinds().next_back();
        assert!(
            matches!(last, Some(EventKind::Thread(ThreadEvent::Deleted { .. }))),
            "nothing follows"
        );
        return;
    }
    let status = match (live.turn, live.requests.is_empty()) {
        (_, false) => ThreadStatus::Waiting,
        (Some(_), true) => ThreadStatus::Running,
        (None, true) => ThreadStatus::Idle,
    };
    assert_eq!(live.summary.status, status);
}

/// A message of the daemon, parsed no deeper than necessary. It may contain the peer's numbers and unpaired surrogates,
/// which are valid JSON but do not fit into a `Value`.
#[derive(Deserialize)]
struct Message {
    jsonrpc: String,
    id: Option<String>,
    method: String,
    params: RawJson,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Place {
    thread_id: String,
    seq: u64,
    ts: i64,
    turn_id: Option<TurnId>,
    item_id: Option<ItemId>,
}

/// Checks that each event has at most one notification, with the right thread and number.
fn frames_are_whole(scene: &Scene) {
    let thread = scene.id.to_string();
    let mut frames = scene.frames.iter().peekable();
    for event in &scene.log {
        let Some(shown) = frames.next_if(|frame| frame.seq == event.seq) else {
            panic!("event {} is not shown: {:?}", event.seq, event.kind);
        };
        let again = frame(&thread, event).unwrap();
        assert_eq!(again.text, shown.text, "an event always looks the same");
        let message: Message = serde_json::from_slice(&shown.text).unwrap();
        // Only content of a peer can have unpaired surrogates, which do not fit into a `Value`.
        if let Ok(params) = serde_json::from_str::<serde_json::Value>(message.params.get()) {
            app_schema::check_sent(shown.method, &params, false);
        }
        assert_eq!(
            (message.jsonrpc.as_str(), message.method.as_str()),
            ("2.0", shown.method)
        );
        assert_eq!(message.id, None, "a notification has no id");
        let place: Place = message.params.read().unwrap();
        assert_eq!(
            (place.thread_id.as_str(), place.seq, place.ts),
            (thread.as_str(), event.seq, event.at)
        );
        assert_eq!(place.turn_id, event.turn);
        assert_eq!(place.item_id, item_of(&event.kind));
        if let Some((request, asking)) = shown.ask.as_deref() {
            let asked: Message = serde_json::from_slice(asking).unwrap();
            assert_eq!(asked.id, Some(request.to_string()));
            assert_eq!(asked.method, shown.method);
            assert_eq!(asked.params, message.params, "asked and shown say the same");
        }
    }
    assert!(frames.next().is_none(), "a notification without its event");
}

/// Checks that the concatenated deltas equal the text at the item's end, so that a client needs only one of them.
fn deltas_are_enough(scene: &Scene) {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Words {
        item_id: ItemId,
        text: String,
    }
    let mut said: BTreeMap<ItemId, String> = BTreeMap::new();
    for frame in &scene.frames {
        let words = || {
            serde_json::from_slice::<Message>(&frame.text)
                .unwrap()
                .params
                .read::<Words>()
                .unwrap()
        };
        match frame.method {
            "item/agentMessage/delta" | "item/agentThought/delta" | "item/userMessage" => {
                let Words { item_id, text } = words();
                said.entry(item_id).or_default().push_str(&text);
            }
            "item/completed" => {
                let Words { item_id, text } = words();
                assert_eq!(said.remove(&item_id).unwrap_or_default(), text, "{item_id}");
            }
            _ => {}
        }
    }
}

/// Checks that only plans that are there are removed, and that a thread does not keep more than it may.
fn plans_are_known(scene: &Scene) {
    let mut known = BTreeSet::new();
    for event in &scene.log {
        match &event.kind {
            EventKind::Turn(TurnEvent::PlanReplaced { plan_id, .. }) => {
                known.insert(plan_id);
            }
            EventKind::Turn(TurnEvent::PlanRemoved { plan_id, .. }) => {
                assert!(known.remove(plan_id), "{plan_id:?} was removed, and is no plan");
            }
            EventKind::Thread(ThreadEvent::TurnsRolledBack { .. }) => known.clear(),
            _ => {}
        }
    }
    assert_eq!(known.len(), scene.thread.live().plans.as_slice().len());
    assert!(known.len() <= 64, "{known:?}");
}

fn item_of(kind: &EventKind) -> Option<ItemId> {
    match kind {
        EventKind::Item(
            ItemEvent::Started { item, .. }
            | ItemEvent::Delta { item, .. }
            | ItemEvent::Content { item, .. }
            | ItemEvent::Updated { item, .. }
            | ItemEvent::Completed { item, .. }
            | ItemEvent::UserMessageAdded { item, .. },
        )
        | EventKind::Host(
            HostEvent::TerminalOutput { item, .. }
            | HostEvent::TerminalWaiting { item, .. }
            | HostEvent::TerminalInput { item, .. },
        ) => Some(*item),
        EventKind::Request(
            RequestEvent::PermissionRequested { item, .. } | RequestEvent::Settled { item, .. },
        ) => *item,
        _ => None,
    }
}

/// Checks that each item starts once, ends at most once, and has no events after its end.
fn items_are_bracketed(log: &[Event]) {
    let mut open: BTreeSet<ItemId> = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for event in log {
        match &event.kind {
            EventKind::Item(ItemEvent::Started { item, parent, .. }) => {
                assert!(seen.insert(*item), "{item} began twice");
                assert_eq!(item.0 as usize, seen.len(), "items are numbered without gaps");
                if let Some(parent) = parent {
                    assert!(
                        open.contains(parent),
                        "{item} belongs to {parent}, which is not open"
                    );
                }
                open.insert(*item);
            }
            EventKind::Item(
                ItemEvent::Delta { item, .. }
                | ItemEvent::Content { item, .. }
                | ItemEvent::UserMessageAdded { item, .. },
            )
            | EventKind::Host(
                HostEvent::TerminalOutput { item, .. }
                | HostEvent::TerminalWaiting { item, .. }
                | HostEvent::TerminalInput { item, .. },
            ) => {
                assert!(open.contains(item), "{item} is not open");
            }
            EventKind::Item(ItemEvent::Updated { item, .. }) => {
                assert!(seen.contains(item), "{item} never began")
            }
            EventKind::Item(ItemEvent::Completed { item, .. }) => {
                assert!(open.remove(item), "{item} ends while it is not open");
            }
            _ => {}
        }
    }
}

/// Checks that the first event of each lane creates it, and that the lanes are numbered without gaps.
fn lanes_are_announced(log: &[Event]) {
    let mut known = BTreeSet::new();
    for event in log {
        let Some(lane) = event.lane else { continue };
        if let EventKind::Session(SessionEvent::SubagentUpdated(patch)) = &event.kind {
            assert_eq!(known.insert(lane), patch.session_id.is_some(), "{lane}");
            assert_eq!(known.len(), known.last().unwrap().number() as usize);
        }
        assert!(known.contains(&lane), "{lane} was not created");
    }
}

/// Checks that turns do not overlap, that only prompts of queued turns are replaced, that each turn starts and settles at most once, and that every event's turn exists.
fn turns_end_once(log: &[Event]) {
    let mut known: BTreeSet<TurnId> = BTreeSet::new();
    let mut queued: BTreeSet<TurnId> = BTreeSet::new();
    let mut running: Option<TurnId> = None;
    let mut settled: BTreeSet<TurnId> = BTreeSet::new();
    for event in log {
        let turn = event.turn;
        match &event.kind {
            EventKind::Turn(TurnEvent::Queued { .. }) => {
                let is_new = known.insert(turn.unwrap());
                assert!(
                    is_new || queued.contains(&turn.unwrap()),
                    "{turn:?} is not queued"
                );
                queued.insert(turn.unwrap());
            }
            // An imported turn has already ended, independent of the running turn.
            EventKind::Turn(TurnEvent::Started { imported: true, .. }) => {
                assert!(known.insert(turn.unwrap()), "{turn:?} begins twice");
            }
            EventKind::Turn(TurnEvent::Started { .. }) => {
                assert_eq!(running, None, "one turn at a time");
                assert!(!settled.contains(&turn.unwrap()), "{turn:?} is over");
                known.insert(turn.unwrap());
                queued.remove(&turn.unwrap());
                running = turn;
            }
            EventKind::Turn(TurnEvent::Settled { .. }) => {
                assert!(settled.insert(turn.unwrap()), "{turn:?} ends twice");
                queued.remove(&turn.unwrap());
                running = running.filter(|running| Some(*running) != turn);
            }
            _ => {}
        }
        assert!(
            turn.is_none_or(|turn| known.contains(&turn)),
            "{turn:?} has not begun"
        );
    }
    let mut expected = 1..;
    assert!(
        known.iter().all(|turn| Some(turn.0) == expected.next()),
        "turns are numbered without gaps"
    );
}

/// Checks that cursors are next to messages and tool calls that the thread has.
fn cursors_are_placed(log: &[Event]) {
    let mut seen = BTreeSet::new();
    for event in log {
        match &event.kind {
            EventKind::Item(ItemEvent::Started { item, .. }) => {
                seen.insert(*item);
            }
            EventKind::Session(SessionEvent::CursorUpdated {
                cursor_id,
                place: Some(place),
                ..
            }) => assert!(
                seen.contains(&place.item),
                "{cursor_id} is next to {}",
                place.item
            ),
            _ => {}
        }
    }
}

fn questions_end_once(log: &[Event]) {
    let mut open = BTreeSet::new();
    let mut last = 0;
    for event in log {
        match &event.kind {
            EventKind::Request(
                RequestEvent::PermissionRequested { request, .. }
                | RequestEvent::InputRequested { request, .. },
            ) => {
                last += 1;
                assert_eq!(request.number, last, "questions are numbered without gaps");
                open.insert(*request);
            }
            EventKind::Request(
                RequestEvent::Settled { request, .. } | RequestEvent::Voided { request, .. },
            ) => {
                assert!(open.remove(request), "{request} was not open");
            }
            _ => {}
        }
    }
}
