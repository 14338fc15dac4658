//! A refused sign-in beside other processes of the agent.

use std::time::Duration;

use acpd_model::limits::SIGN_IN_RETRY_MILLIS;

use super::{AgentConnection, AgentEvent, Start};
use crate::time::Now;
use crate::wire::Line;

fn at(millis: u64) -> Now {
    Now {
        mono: Duration::from_millis(millis),
        wall: 0,
    }
}

fn connection(retries: bool) -> AgentConnection {
    let start = Start::new("fake", "/w", Duration::from_mins(1));
    let mut connection = AgentConnection::new(start, at(0));
    if retries {
        connection.retry_sign_in();
    }
    connection
}

/// Answers the last request of the connection, whose id is `id`.
fn says(connection: &mut AgentConnection, text: &str, millis: u64) {
    connection.handle_line(&Line::Whole(text.as_bytes()), at(millis));
}

/// Begins the second try of a connection that was refused after 10 ms.
fn again(connection: &mut AgentConnection) {
    let due = at(10 + SIGN_IN_RETRY_MILLIS);
    connection.handle_timeout(due);
    assert!(connection.sign_in_is_due());
    connection.sign_in_again(due);
    assert!(!connection.sign_in_is_due());
}

fn sent(connection: &mut AgentConnection) -> String {
    String::from_utf8(connection.take_writes()).unwrap()
}

const REFUSED: &str =
    r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32000,"message":"Authentication required"}}"#;

#[test]
fn an_initialize_that_is_refused_beside_another_process_is_sent_once_more() {
    let mut connection = connection(true);
    assert!(sent(&mut connection).contains("initialize"));
    says(&mut connection, REFUSED, 10);
    assert_eq!(connection.take_events(), []);
    assert_eq!(
        connection.poll_timeout(),
        Some(Duration::from_millis(10 + SIGN_IN_RETRY_MILLIS))
    );
    connection.handle_timeout(at(SIGN_IN_RETRY_MILLIS));
    assert!(!connection.sign_in_is_due(), "it is too early");
    connection.sign_in_again(at(SIGN_IN_RETRY_MILLIS));
    assert_eq!(sent(&mut connection), "");
    again(&mut connection);
    assert!(sent(&mut connection).contains("initialize"));
    // The second refusal counts, although other processes are starting still.
    connection.retry_sign_in();
    says(&mut connection, &REFUSED.replace("\"id\":0", "\"id\":1"), 20_000);
    let events = connection.take_events();
    assert!(matches!(events[..], [AgentEvent::Failed(_)]), "{events:?}");
}

#[test]
fn a_session_that_is_refused_beside_another_process_is_opened_once_more() {
    let mut connection = connection(true);
    let hello =
        r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"authMethods":[{"id":"m","name":"M"}]}}"#;
    says(&mut connection, hello, 0);
    sent(&mut connection);
    says(&mut connection, &REFUSED.replace("\"id\":0", "\"id\":1"), 10);
    assert_eq!(connection.take_events(), []);
    again(&mut connection);
    assert!(sent(&mut connection).contains("session/new"));
    says(
        &mut connection,
        r#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}"#,
        20_000,
    );
    let events = connection.take_events();
    assert!(matches!(events[..], [AgentEvent::Opened(_)]), "{events:?}");
}

#[test]
fn the_only_process_of_an_agent_is_refused_at_once() {
    let mut connection = connection(false);
    says(&mut connection, REFUSED, 10);
    let events = connection.take_events();
    assert!(matches!(events[..], [AgentEvent::Failed(_)]), "{events:?}");
}
