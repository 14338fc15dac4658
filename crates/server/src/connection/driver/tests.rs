use std::collections::BTreeMap;
use std::pin::pin;

use acpd_model::Role;
use acpd_model::event::ClientOrigin;
use acpd_model::{Limits, Seq};
use acpd_proto::surface::app::Peer;
use acpd_proto::surface::contract::{Gate, Lane, Source};
use acpd_proto::time::Now;
use acpd_runtime::test_context::context;
use acpd_runtime::thread::directory::Directory;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::transport::lines::Lines;

/// Returns the connection of a client whose messages are the lines of the other end.
async fn connection<S: Surface>(
    ours: tokio::io::DuplexStream,
    surface: impl FnOnce(Gate) -> S,
) -> Connection<S> {
    let place = tempfile::tempdir().unwrap();
    let context = context(place.path(), BTreeMap::new(), Limits::default());
    let directory = Directory::open(context.clone()).await.unwrap();
    let (reader, writer) = tokio::io::split(ours);
    let link = Link::new(
        Box::new(Lines::new(reader, writer, &context.limits.now())),
        &context.limits.now(),
    );
    let access = Access {
        permissions: Role::Owner.into(),
        connection: "c".into(),
        defaults: Defaults::none(),
        standby: None,
        stop: CancellationToken::new(),
        ends: CancellationToken::new(),
    };
    let surface = surface(context.gate());
    Connection::new(link, surface, Service::new(directory, context), access)
}

/// A daemon has thousands of idle connections, and a task reserves space for the largest of its states.
#[tokio::test]
async fn an_idle_connection_is_small() {
    let peer = |gate| Peer::new("owner".into(), Role::Owner, gate);
    let task = connection(tokio::io::duplex(64).0, peer).await.run(None);
    assert!(size_of_val(&task) <= 5328, "{}", size_of_val(&task));
    // One request allocates space for 32 or 64 of these, and a queue of outputs for four.
    assert!(size_of::<Step>() <= 328, "{}", size_of::<Step>());
    assert!(size_of::<Output>() <= 64, "{}", size_of::<Output>());
}

/// A surface that takes every message for the same request, and answers with the same text.
struct Answering {
    gate: Gate,
    answer: Bytes,
    out: VecDeque<Output>,
}

impl Surface for Answering {
    type Frame = ();

    fn encode(_: Lane, _: Source<'_>) -> Vec<()> {
        Vec::new()
    }

    fn seq((): &()) -> Seq {
        0
    }

    fn lane(&self) -> Lane {
        Lane::App
    }

    fn profile(&self) -> Profile {
        Profile {
            origin: ClientOrigin {
                principal: "owner".into(),
                client: "answering".into(),
            },
            may_answer: false,
            sees_subscribers: false,
            abilities: None,
        }
    }

    fn gate(&mut self) -> &mut Gate {
        &mut self.gate
    }

    fn handle_message(&mut self, _: &str, _: Now) {
        self.out.push_back(Output::Request {
            call: 0,
            request: Box::new(Request::ListAgents),
            after_sent: false,
        });
    }

    fn handle_reply(&mut self, _: u64, _: Result<Reply, Failure>) {
        self.out.push_back(Output::Send(self.answer.clone()));
    }

    fn handle_frames(&mut self, _: Delivery<'_, ()>) {}

    fn handle_closed(&mut self, _: ThreadId, _: &Failure) {}

    fn poll_output(&mut self) -> Option<Output> {
        self.out.pop_front()
    }
}

/// The client reads at once, and its next message is always there.
#[tokio::test]
async fn a_client_that_reads_large_answers_one_after_the_other_leaves_turns_to_others() {
    const ANSWERS: usize = 40;
    let answer = Bytes::from(vec![b'x'; TURN_BYTES / 4]);
    let (mut theirs, ours) = tokio::io::duplex(ANSWERS * TURN_BYTES);
    theirs.write_all(&b"?\n".repeat(ANSWERS)).await.unwrap();
    let answering = |gate| Answering {
        gate,
        answer,
        out: VecDeque::new(),
    };
    let mut run = pin!(connection(ours, answering).await.run(None));
    let (mut received, mut turns) = (0, 0);
    let mut buffer = vec![0; ANSWERS * TURN_BYTES];
    while received < ANSWERS * (TURN_BYTES / 4 + 1) {
        assert!(run.as_mut().now_or_never().is_none());
        let bytes = theirs.read(&mut buffer).await.unwrap();
        assert!(bytes <= TURN_BYTES + 4, "{bytes} in turn {turns}");
        received += bytes;
        turns += 1;
    }
    assert!(turns >= ANSWERS / 4, "{turns}");
}
