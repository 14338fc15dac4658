use std::collections::{BTreeMap, BTreeSet};

use acpd_log::{EventLog, Fault, Memory};
use acpd_model::event::ClientOrigin;
use acpd_model::limits::{OPEN_QUESTION_BYTES, SHARED_BATCH_BYTES};
use acpd_model::{
    ErrorCode, Event, EventKind, ItemId, Limits, RawJson, RequestEvent, RequestId, Role, Summary,
};
use acpd_proto::agent::ElicitationModes;
use acpd_proto::fanout::{LiveText, LiveUpdate};
use acpd_proto::projection::Live;
use acpd_proto::surface::app::Peer;
use acpd_proto::surface::contract::Subscriber;

use super::*;
use crate::feed::publisher::Publisher;
use crate::test_context::{context_with_log, event};

fn thread() -> ThreadId {
    ThreadId(uuid::Uuid::from_u128(7))
}

fn shown(after: Seq) -> Shown {
    let update = LiveUpdate::Output(LiveText {
        item: ItemId(1),
        lane: None,
        terminal_id: "t".into(),
        text: "x".into(),
        skipped: 0,
    });
    Shown {
        after,
        turn: None,
        at: 0,
        update,
    }
}

/// Subscribes to a thread of which the log contains three events. `publish` sends batches after the subscription.
async fn news(log: Arc<Memory>, publish: impl FnOnce(&Publisher)) -> Vec<News> {
    news_of(log, &[event(1), event(2), event(3)], publish).await
}

/// Does the same with these events in the log.
async fn news_of(log: Arc<Memory>, events: &[Event], publish: impl FnOnce(&Publisher)) -> Vec<News> {
    news_after(log, events, 0, publish).await
}

/// Does the same as a client that has the events up to `cursor`.
async fn news_after(
    log: Arc<Memory>,
    events: &[Event],
    cursor: Seq,
    publish: impl FnOnce(&Publisher),
) -> Vec<News> {
    let place = tempfile::tempdir().unwrap();
    let (subscription, publisher, directory) = subscribed(log, place.path(), events, cursor).await;
    publish(&publisher);
    directory.close_within(std::time::Duration::from_secs(5)).await;
    // The thread is unloaded, and the daemon stops.
    drop(publisher);
    subscription.into_stream().collect().await
}

/// Subscribes to a thread of which the log contains these events, as a client that has those up to `cursor`.
async fn subscribed(
    log: Arc<Memory>,
    place: &std::path::Path,
    events: &[Event],
    cursor: Seq,
) -> (Subscription, Publisher, Directory) {
    let summary = Summary::default();
    log.append(thread(), events, Some(&summary)).await.unwrap();
    let context = context_with_log(log, place, BTreeMap::new(), Limits::default());
    let directory = Directory::open(context.clone()).await.unwrap();
    let mut publisher = Publisher::new(16, context.live_room.clone());
    let mut live = Box::new(Live::new(thread()));
    for event in events {
        live.fold(event);
    }
    let snapshot = ThreadSnapshot {
        batches: publisher.subscribe(Lane::App),
        live: live.into(),
        pending: Arc::new(BTreeSet::new()),
        suggestions: publisher.suggestions(),
        log_error: None,
    };
    let someone = Subscriber {
        who: ClientOrigin {
            principal: String::new(),
            client: String::new(),
        },
        may_answer: false,
        elicitation: ElicitationModes::NONE,
    };
    let presence = context.subscribers.join(thread(), someone, false);
    let lane = Lane::App;
    let follow = FollowRequest {
        thread: snapshot.live.thread,
        cursor,
        snapshot,
        attachment: None,
    };
    let recipient = context
        .unsent
        .recipient("ann".into(), Role::Observer.into(), "1".into());
    let (subscription, _) = Subscription::new(&context, directory.clone(), lane, follow, presence, recipient);
    (subscription, publisher, directory)
}

/// Returns the first and last event of each batch.
fn spans(news: &[News]) -> Vec<(Seq, Seq, usize)> {
    let frames = news.iter().filter_map(|news| match news {
        News::Frames { batch, from, .. } => {
            let frames = batch.frames.of::<Peer>().iter();
            Some((
                batch.first,
                batch.last,
                frames.filter(|frame| frame.seq >= *from).count(),
            ))
        }
        _ => None,
    });
    frames.collect()
}

#[tokio::test]
async fn the_frames_of_a_large_event_take_room_until_they_are_received() {
    let text = "x".repeat(usize::try_from(FREE_EVENT_BYTES).unwrap());
    let large = Event {
        raw: Some(RawJson::of(&text).unwrap()),
        ..event(2)
    };
    let news = news_of(Arc::new(Memory::new()), &[event(1), large, event(3)], |_| {}).await;
    let charged = news.iter().filter_map(|news| match news {
        News::Frames { batch, charge, .. } => Some((batch.last, charge.is_some())),
        _ => None,
    });
    let charged: Vec<_> = charged.collect();
    assert_eq!(charged, [(0, false), (1, false), (2, true), (3, false)]);
}

/// The thread's state lacks the agent's params of a long question.
#[tokio::test]
async fn a_long_question_from_before_the_cursor_is_read_from_the_log() {
    let title = "x".repeat(OPEN_QUESTION_BYTES);
    let params =
        format!(r#"{{"mode":"form","message":"m","requestedSchema":{{"type":"object","title":"{title}"}}}}"#);
    let question = Event {
        kind: EventKind::Request(RequestEvent::InputRequested {
            request: RequestId {
                thread: thread(),
                number: 1,
            },
            message: "m".into(),
            call: None,
        }),
        raw: Some(RawJson::parse(params).unwrap()),
        ..event(2)
    };
    let events = [event(1), question, event(3)];
    let news = news_after(Arc::new(Memory::new()), &events, 3, |_| {}).await;
    let Some(News::Frames { batch, .. }) = news.first() else {
        panic!("{news:?}");
    };
    let [frame] = batch.frames.of::<Peer>() else {
        panic!("there is one question");
    };
    assert!(frame.ask.is_some() && frame.text.len() > title.len());
    let log = Arc::new(Memory::new());
    let failing = Arc::clone(&log);
    let news = news_after(log, &events, 3, |_| failing.inject(Fault::FailRead { after: 0 })).await;
    assert!(matches!(news[..], [News::Closed(_)]), "{news:?}");
}

#[tokio::test]
async fn a_batch_that_is_too_large_to_share_reaches_the_client_from_the_log() {
    let place = tempfile::tempdir().unwrap();
    let log = Arc::new(Memory::new());
    let (mut subscription, publisher, _directory) =
        subscribed(Arc::clone(&log), place.path(), &[event(1)], 0).await;
    let text = "x".repeat(usize::try_from(SHARED_BATCH_BYTES).unwrap());
    let large = Event {
        raw: Some(RawJson::of(&text).unwrap()),
        ..event(2)
    };
    let mut received = Vec::new();
    while received.is_empty() {
        receive(&mut subscription, &mut received).await;
    }
    // The client follows live, and then only the log has the first of these.
    for stored in [[large], [event(3)]] {
        log.append(thread(), &stored, None).await.unwrap();
        publisher.send(publisher.encode("t", &stored, &[]));
    }
    while received.last() != Some(&3) {
        receive(&mut subscription, &mut received).await;
    }
    assert_eq!(received, [1, 2, 3], "each event once, and in order");
}

/// Adds the events of the next news.
async fn receive(subscription: &mut Subscription, received: &mut Vec<Seq>) {
    match subscription.next().await {
        Some(News::Frames { batch, from, .. }) => {
            let frames = batch.frames.of::<Peer>().iter();
            received.extend(frames.map(|frame| frame.seq).filter(|seq| *seq >= from));
        }
        other => panic!("{other:?}"),
    }
}

/// A client that had to read the log has already read there how an item ended.
#[tokio::test]
async fn live_output_before_an_event_is_not_sent_after_it() {
    let news = news(Arc::new(Memory::new()), |publisher| {
        let send = |events: &[Event], after: Option<Seq>| {
            let shown: Vec<_> = after.map(shown).into_iter().collect();
            publisher.send(publisher.encode("t", events, &shown));
        };
        send(&[], Some(1));
        send(&[event(2), event(3)], Some(3));
        send(&[event(3), event(4)], None);
    })
    .await;
    let beginning = (0, 0, 0);
    assert_eq!(spans(&news), [beginning, (1, 3, 3), (0, 3, 1), (3, 4, 1)]);
}

/// They are in no log, so the thread keeps them for clients that come later.
#[tokio::test]
async fn a_new_client_receives_what_the_agent_suggests_after_the_log() {
    let suggested = |after| Shown {
        update: LiveUpdate::Suggestions(Vec::new()),
        ..shown(after)
    };
    let news = news(Arc::new(Memory::new()), |publisher| {
        publisher.keep(vec![suggested(1), shown(2)]);
        publisher.keep(vec![shown(3)]);
    })
    .await;
    assert_eq!(spans(&news), [(0, 0, 0), (1, 3, 3), (0, 3, 1)]);
    let Some(News::Frames { batch, .. }) = news.get(2) else {
        panic!("{news:?}");
    };
    assert_eq!(batch.frames.of::<Peer>()[0].method, "thread/suggestions/updated");
}

#[tokio::test]
async fn a_log_that_cannot_be_read_ends_the_subscription_with_its_error() {
    let log = Arc::new(Memory::new());
    let failing = Arc::clone(&log);
    let news = news(log, |_| failing.inject(Fault::FailRead { after: 0 })).await;
    let Some(News::Closed(failure)) = news.last() else {
        panic!("{news:?}");
    };
    assert_eq!(failure.code, ErrorCode::Storage);
}
