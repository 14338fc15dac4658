//! An editor's connection whose calls to the daemon a test answers by hand.

use acpd_model::{RawJson, Role, ThreadId};
use acpd_proto::projection::Live;
use acpd_proto::surface::acp::{ConnectionStart, Frame, Peer};
use acpd_proto::surface::contract::{Delivery, Output, Pending, Surface};
use acpd_proto::surface::reply::{ClaimedPrompt, Opened, Reply};
use acpd_proto::surface::request::Request;
use serde_json::Value;

use super::stage::{NOW, SIMPLE};
use crate::support::gate;

/// Returns a connection after its handshake.
pub fn connection(start: ConnectionStart) -> Peer {
    let mut peer = Peer::new("owner".into(), Role::Owner, "c".into(), gate()).starting(start);
    let (token, called) = request(&mut peer, 0, "initialize", SIMPLE);
    assert_eq!(called, Request::Initialize);
    peer.handle_reply(token, Ok(Reply::Initialized(RawJson::parse("{}").unwrap())));
    sent(&mut peer);
    peer
}

/// Sends a request, and returns the connection's request to the daemon with its number.
pub fn request(peer: &mut Peer, id: u64, method: &str, params: &str) -> (u64, Request) {
    let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
    peer.handle_message(&text, NOW);
    match peer.poll_output() {
        Some(Output::Request { call, request, .. }) => (call, *request),
        other => panic!("{other:?}"),
    }
}

/// Delivers frames up to event `last`, whose questions are all open.
pub fn deliver(peer: &mut Peer, thread: ThreadId, frames: &[Frame], last: u64) {
    peer.handle_frames(Delivery {
        thread,
        frames,
        last,
        pending: &Pending::all(),
    });
}

/// Returns the messages for the editor.
pub fn sent(peer: &mut Peer) -> Vec<Value> {
    std::iter::from_fn(|| peer.poll_output())
        .map(|output| match output {
            Output::Send(text) => serde_json::from_slice(&text).unwrap(),
            other => panic!("{other:?}"),
        })
        .collect()
}

/// Returns the daemon's reply when a thread is opened whose last event is `last`, and events after `cursor` follow.
pub fn opened(thread: ThreadId, last: u64, cursor: u64, claimed: Vec<ClaimedPrompt>) -> Reply {
    let mut live = Live::new(thread);
    live.last_seq = last;
    opened_as(live, cursor, claimed)
}

/// Returns the daemon's reply when a thread in this state is opened, and events after `cursor` follow.
pub fn opened_as(live: Live, cursor: u64, claimed: Vec<ClaimedPrompt>) -> Reply {
    Reply::Opened(Box::new(Opened {
        live: live.into(),
        cursor,
        turns: None,
        turn: None,
        fidelity: None,
        claimed,
    }))
}
