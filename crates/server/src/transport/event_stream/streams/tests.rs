use serde_json::json;

use super::*;

const SESSION: &str = "01990000-0000-7000-8000-000000000001";

#[allow(clippy::unnecessary_wraps, reason = "a key may be none")]
fn key() -> StreamKey {
    Some(SESSION.to_owned())
}

fn post(streams: &mut Streams, id: u64, method: &str, header: Option<&str>) {
    let text = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": { "sessionId": SESSION } });
    let text = text.to_string();
    streams.posted(&Message::parse(&text).unwrap(), header).unwrap();
}

fn update(text: &str) -> Bytes {
    let params = json!({ "sessionId": SESSION, "update": text });
    json!({ "jsonrpc": "2.0", "method": "session/update", "params": params })
        .to_string()
        .into()
}

fn answer(id: u64) -> Bytes {
    json!({ "jsonrpc": "2.0", "id": id, "result": {} })
        .to_string()
        .into()
}

/// Returns the numbers of all events that are available to a reader.
fn numbers(streams: &mut Streams, key: &StreamKey, reader: u64) -> Vec<u64> {
    std::iter::from_fn(|| match streams.take(key, reader, true) {
        ReadOutcome::Event(number, _) => Some(number),
        _ => None,
    })
    .collect()
}

#[test]
fn a_loaded_session_arrives_on_the_stream_that_its_editor_reads() {
    // With a stream, or with a header that names the session: the replay uses the session's stream, and the response
    // follows it.
    for header in [None, Some(SESSION)] {
        let mut streams = Streams::default();
        let connection = streams.open(None, None).unwrap();
        let session = header.is_none().then(|| streams.open(key(), None).unwrap());
        post(&mut streams, 1, "session/load", header);
        assert_eq!(streams.sent(update("one")), None);
        assert_eq!(streams.sent(answer(1)), None);
        if session.is_some() {
            assert_eq!(
                streams.take(&None, connection, true),
                ReadOutcome::Nothing,
                "the replay comes first"
            );
        }
        let session = session.unwrap_or_else(|| streams.open(key(), None).unwrap());
        assert_eq!(numbers(&mut streams, &key(), session), [1]);
        assert_eq!(streams.take(&None, connection, false), ReadOutcome::Soon);
        assert_eq!(
            streams.take(&None, connection, true),
            ReadOutcome::Event(1, answer(1))
        );
    }
    // With neither, all messages use the connection's stream until the session has its own.
    let mut streams = Streams::default();
    let connection = streams.open(None, None).unwrap();
    post(&mut streams, 1, "session/load", None);
    streams.sent(update("one"));
    streams.sent(answer(1));
    post(&mut streams, 2, "session/prompt", None);
    streams.sent(answer(2));
    assert_eq!(numbers(&mut streams, &None, connection), [1, 2, 3]);
    let session = streams.open(key(), None).unwrap();
    streams.sent(update("two"));
    assert_eq!(numbers(&mut streams, &key(), session), [1]);
}

#[test]
fn a_new_session_arrives_on_its_own_stream_even_if_opened_later() {
    let mut streams = Streams::default();
    let connection = streams.open(None, None).unwrap();
    let text = json!({ "jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {} }).to_string();
    streams.posted(&Message::parse(&text).unwrap(), None).unwrap();
    streams.sent(answer(1));
    streams.sent(update("commands"));
    assert_eq!(numbers(&mut streams, &None, connection), [1]);
    post(&mut streams, 2, "session/prompt", None);
    streams.sent(answer(2));
    let session = streams.open(key(), None).unwrap();
    assert_eq!(numbers(&mut streams, &key(), session), [1, 2]);
}

#[test]
fn a_reader_continues_without_gaps_or_repeats() {
    let mut streams = Streams::default();
    let first = streams.open(key(), None).unwrap();
    for text in ["1", "2", "3"] {
        streams.sent(update(text));
    }
    assert_eq!(numbers(&mut streams, &key(), first), [1, 2, 3]);
    assert_eq!(streams.open(key(), None), Err(StreamError::Taken));
    assert_eq!(streams.open(key(), Some(4)), Err(StreamError::Unknown));
    // The reader had received two events when its connection broke. The daemon has not noticed this yet.
    let second = streams.open(key(), Some(2)).unwrap();
    assert_eq!(streams.take(&key(), first, true), ReadOutcome::End);
    assert_eq!(numbers(&mut streams, &key(), second), [3]);
    streams.left(&key(), first);
    streams.sent(update("4"));
    assert_eq!(numbers(&mut streams, &key(), second), [4]);
    streams.left(&key(), second);
    streams.sent(update("5"));
    // A reader without a number receives the events that no reader has received.
    let third = streams.open(key(), None).unwrap();
    assert_eq!(numbers(&mut streams, &key(), third), [5]);
}

#[test]
fn unread_events_are_dropped_and_reported_once() {
    let mut streams = Streams::default();
    let big = "x".repeat(EDITOR_STREAM_BYTES / 3);
    for _ in 0..5 {
        streams.sent(update(&big));
    }
    assert_eq!(streams.backlog(), 0, "nothing waits for nobody");
    assert_eq!(streams.open(key(), None), Err(StreamError::Gone));
    let reader = streams.open(key(), None).unwrap();
    assert_eq!(streams.backlog(), 2 * update(&big).len());
    assert_eq!(numbers(&mut streams, &key(), reader), [4, 5]);
    assert_eq!(streams.open(key(), Some(2)), Err(StreamError::Gone));
    assert!(streams.open(key(), Some(3)).is_ok());
}

#[test]
fn a_slow_reader_delays_the_stream_until_it_times_out() {
    let mut streams = Streams::default();
    let big = "x".repeat(EDITOR_STREAM_BYTES / 2);
    let reader = streams.open(key(), None).unwrap();
    for _ in 0..3 {
        streams.sent(update(&big));
    }
    let all = 3 * update(&big).len();
    assert_eq!((streams.backlog(), streams.taken()), (all, 0));
    assert_eq!(
        numbers(&mut streams, &key(), reader),
        [1, 2, 3],
        "nothing is lost"
    );
    assert_eq!((streams.backlog(), streams.taken()), (0, all as u64));
    for _ in 0..3 {
        streams.sent(update(&big));
    }
    assert_eq!(streams.backlog(), all);
    streams.drop_readers();
    assert_eq!(streams.backlog(), 0);
    assert_eq!(streams.take(&key(), reader, true), ReadOutcome::End);
    // Another reader resumes after its last event, if the later events are still stored.
    assert_eq!(streams.open(key(), Some(4)), Err(StreamError::Gone));
    let kept = streams.open(key(), Some(5)).unwrap();
    assert_eq!(streams.backlog(), update(&big).len());
    assert_eq!(numbers(&mut streams, &key(), kept), [6]);
}

#[test]
fn there_are_only_so_many_streams() {
    let mut streams = Streams::default();
    for number in 0..=EDITOR_STREAMS {
        assert!(streams.open(Some(number.to_string()), None).is_ok());
    }
    assert_eq!(
        streams.open(Some("one more".into()), None),
        Err(StreamError::TooMany)
    );
    assert!(streams.open(Some("0".into()), Some(0)).is_ok());
    let text = r#"{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"a"}}"#;
    let posted = streams.posted(&Message::parse(text).unwrap(), Some("b"));
    assert_eq!(posted, Err(StreamError::Mismatch));
}

#[test]
fn an_error_for_an_unread_session_goes_to_the_connection() {
    let mut streams = Streams::default();
    let reader = streams.open(None, None).unwrap();
    for (id, method) in [(1, "session/close"), (2, "session/prompt"), (3, "_x")] {
        let text =
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"sessionId":"none"}}}}"#);
        streams
            .posted(&Message::parse(&text).unwrap(), Some("none"))
            .unwrap();
        let refused = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32002,"message":"no"}}}}"#);
        assert!(streams.sent(refused.into()).is_none());
    }
    assert_eq!(numbers(&mut streams, &None, reader), [1, 2, 3]);
}

#[test]
fn messages_of_subagents_are_on_the_stream_of_their_thread() {
    let mut streams = Streams::default();
    let reader = streams.open(key(), None).unwrap();
    let of = |session: &str, method: &str| -> Bytes {
        let params = json!({ "sessionId": session, "update": {} });
        json!({ "jsonrpc": "2.0", "method": method, "params": params })
            .to_string()
            .into()
    };
    // Version 1 and 2 have the same ids for them. More than an editor may have streams use up none.
    for lane in 1..=100 {
        streams.sent(of(SESSION, "session/update"));
        streams.sent(of(&format!("{SESSION}/lane_{lane}"), "session/update"));
        streams.sent(of(
            &format!("{SESSION}/lane_{lane}"),
            "session/request_permission",
        ));
    }
    assert_eq!(
        numbers(&mut streams, &key(), reader),
        (1..=300).collect::<Vec<_>>()
    );
    assert!(streams.open(Some("another".to_owned()), None).is_ok());
    // A terminal of a subagent is cancelled in its session.
    let session = format!("{SESSION}/lane_1");
    let text =
        json!({ "jsonrpc": "2.0", "id": 7, "method": "terminal/cancel", "params": { "sessionId": session } });
    let text = text.to_string();
    let cancel = Message::parse(&text).unwrap();
    for header in [SESSION, session.as_str()] {
        streams.posted(&cancel, Some(header)).unwrap();
        streams.sent(answer(7));
        assert_eq!(numbers(&mut streams, &key(), reader).len(), 1, "{header}");
    }
    assert_eq!(
        streams.posted(&cancel, Some("another")),
        Err(StreamError::Mismatch)
    );
}
