use std::collections::BTreeMap;
use std::pin::pin;

use acpd_log::{EventLog, Memory};
use acpd_model::event::ClientOrigin;
use acpd_model::limits::{
    FREE_EVENT_BYTES, UNSENT_ANSWER_BYTES, UNSENT_BYTES_OF_CONNECTION, UNSENT_BYTES_OF_ONE,
};
use acpd_model::{Event, Limits, RawJson, Role, Seq, Summary};
use acpd_proto::agent::ElicitationModes;
use acpd_proto::projection::Live;
use acpd_proto::surface::app::Peer;
use acpd_proto::surface::contract::{Gate, Lane, Source};
use acpd_proto::surface::request::ListThreads;
use acpd_proto::time::Now;
use acpd_runtime::feed::snapshot::ThreadSnapshot;
use acpd_runtime::test_context::{context, context_with_log, event};
use acpd_runtime::thread::directory::Directory;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::Instant;

use super::*;
use crate::transport::lines::Lines;

async fn service() -> Service {
    let place = tempfile::tempdir().unwrap();
    let context = context(place.path(), BTreeMap::new(), Limits::default());
    let directory = Directory::open(context.clone()).await.unwrap();
    Service::new(directory, context)
}

/// Returns the connection of a client whose messages are the lines of the other end.
fn connection<S: Surface>(
    service: Service,
    name: &str,
    ours: DuplexStream,
    surface: impl FnOnce(Gate) -> S,
) -> Connection<S> {
    let limits = service.context.limits.now();
    let (reader, writer) = tokio::io::split(ours);
    let channel = Channel::new(Box::new(Lines::new(reader, writer, &limits)), &limits);
    let access = Access {
        permissions: Role::Owner.into(),
        connection: name.into(),
        user: "owner".into(),
        defaults: Defaults::none(),
        standby: None,
        stop: CancellationToken::new(),
        ends: CancellationToken::new(),
    };
    let surface = surface(service.context.gate());
    Connection::new(channel, surface, service, access)
}

/// A daemon has thousands of idle connections, and a task reserves space for the largest of its states.
#[tokio::test]
async fn an_idle_connection_is_small() {
    let peer = |gate| Peer::new("owner".into(), Role::Owner, gate);
    let task = connection(service().await, "c", tokio::io::duplex(64).0, peer).run(None);
    assert!(size_of_val(&task) <= 6_064, "{}", size_of_val(&task));
    // One request allocates space for 32 or 64 of these, and a queue of outputs for four.
    assert!(size_of::<RequestStep>() <= 336, "{}", size_of::<RequestStep>());
    assert!(size_of::<Output>() <= 64, "{}", size_of::<Output>());
}

/// A surface that takes every message for the same request, and answers with the same text.
struct Answering {
    gate: Gate,
    request: Request,
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
            may_answer: true,
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
            request: Box::new(self.request.clone()),
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
        request: Request::ListAgents,
        answer,
        out: VecDeque::new(),
    };
    let mut run = pin!(connection(service().await, "c", ours, answering).run(None));
    let (mut received, mut turns) = (0, 0);
    let mut buffer = vec![0; ANSWERS * TURN_BYTES];
    while received < ANSWERS * (TURN_BYTES / 4 + 1) {
        assert!(run.as_mut().now_or_never().is_none());
        match theirs.read(&mut buffer).now_or_never() {
            Some(bytes) => {
                let bytes = bytes.unwrap();
                assert!(bytes <= TURN_BYTES + 4, "{bytes} in turn {turns}");
                received += bytes;
                turns += 1;
            }
            None => tokio::task::yield_now().await,
        }
    }
    assert!(turns >= ANSWERS / 4, "{turns}");
}

/// Bytes of each answer to a client of [`lister`].
const LISTED: usize = 1 << 20;

/// Starts the connection of a client that has requested as many lists as its room is for. Returns the client's end.
async fn lister(service: &Service, name: u32, pipe: usize) -> DuplexStream {
    let (mut theirs, ours) = tokio::io::duplex(pipe);
    let answering = |gate| Answering {
        gate,
        request: Request::ListThreads(ListThreads::default()),
        answer: Bytes::from(vec![b'x'; LISTED]),
        out: VecDeque::new(),
    };
    let connection = connection(service.clone(), &name.to_string(), ours, answering);
    tokio::spawn(connection.run(None));
    let lists = u64::from(UNSENT_BYTES_OF_CONNECTION) / UNSENT_ANSWER_BYTES;
    for _ in 0..lists {
        theirs.write_all(b"?\n").await.unwrap();
    }
    theirs
}

/// Returns how long a client that reads at once waits for its lists.
async fn time_to_list(service: &Service, name: u32) -> Duration {
    let begun = Instant::now();
    let mut client = lister(service, name, 4 * LISTED).await;
    client.read_exact(&mut vec![0; LISTED]).await.unwrap();
    begun.elapsed()
}

#[tokio::test(start_paused = true)]
async fn clients_that_take_a_byte_at_a_time_keep_others_of_their_principal_waiting_for_a_while_at_most() {
    let service = service().await;
    let write_within = Duration::from_secs(service.context.limits.now().write_secs);
    for slow in 0..UNSENT_BYTES_OF_ONE / UNSENT_BYTES_OF_CONNECTION {
        let took = time_to_list(&service, 100 + slow).await;
        assert!(
            took < Duration::from_millis(100),
            "{took:?} with {slow} slow clients"
        );
        let mut client = lister(&service, slow, 64).await;
        // It has received the beginning, and keeps reading.
        client.read_u8().await.unwrap();
        tokio::spawn(async move {
            while client.read_u8().await.is_ok() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // Without others, each of them may be as slow as it likes.
    tokio::time::sleep(2 * write_within).await;
    let took = time_to_list(&service, 200).await;
    assert!(took < Duration::from_secs(1), "{took:?}");
    for slow in 1000..1000 + UNSENT_BYTES_OF_ONE / UNSENT_BYTES_OF_CONNECTION {
        let took = time_to_list(&service, slow).await;
        assert!(took < Duration::from_secs(1), "{took:?}");
    }
}

/// Returns a request to follow a thread whose last event is `last_seq`.
fn request_to_follow(thread: ThreadId, last_seq: Seq) -> FollowRequest {
    let mut live = Live::new(thread);
    live.last_seq = last_seq;
    FollowRequest {
        thread,
        cursor: 0,
        snapshot: ThreadSnapshot {
            batches: tokio::sync::broadcast::channel(1).1,
            live: Arc::new(live),
            pending: Arc::default(),
            suggestions: tokio::sync::watch::channel(None).1,
            log_error: None,
        },
        attachment: None,
    }
}

/// Its next request may start the agent before that.
#[tokio::test]
async fn a_client_is_a_subscriber_before_it_has_the_response() {
    let service = service().await;
    let answering = |gate| Answering {
        gate,
        request: Request::ListAgents,
        answer: Bytes::new(),
        out: VecDeque::new(),
    };
    let mut connection = connection(service.clone(), "c", tokio::io::duplex(64).0, answering);
    let thread = ThreadId(uuid::Uuid::from_u128(7));
    let shown = || service.context.subscribers.elicitation(thread);
    let begun = |connection: &mut Connection<Answering>, call| {
        let dispatched = Dispatched {
            follow: Some(request_to_follow(thread, 0)),
            answer_first: true,
            watch: None,
            answer: std::future::pending().boxed(),
        };
        connection.dispatched(call, dispatched);
    };
    begun(&mut connection, 1);
    assert_eq!(shown(), ElicitationModes::ALL);
    let failure = Failure::new(ErrorCode::Overloaded, "there is no room");
    connection.answered(1, Err(failure));
    assert_eq!(shown(), ElicitationModes::NONE);
    begun(&mut connection, 2);
    connection.close(thread);
    assert_eq!(shown(), ElicitationModes::NONE);
}

/// Each of them takes all room of its connection until it is sent.
#[tokio::test(start_paused = true)]
async fn large_events_are_sent_to_the_last_one_when_the_daemon_stops() {
    let thread = ThreadId(uuid::Uuid::from_u128(7));
    let large = "x".repeat(usize::try_from(FREE_EVENT_BYTES).unwrap());
    let events = [1, 2, 3].map(|seq| Event {
        raw: Some(RawJson::of(&large).unwrap()),
        ..event(seq)
    });
    let log = Arc::new(Memory::new());
    log.append(thread, &events, Some(&Summary::default()))
        .await
        .unwrap();
    let place = tempfile::tempdir().unwrap();
    let context = context_with_log(log, place.path(), BTreeMap::new(), Limits::default());
    let directory = Directory::open(context.clone()).await.unwrap();
    let service = Service::new(directory.clone(), context);
    let (mut theirs, ours) = tokio::io::duplex(LISTED);
    let peer = |gate| Peer::new("owner".into(), Role::Owner, gate);
    let mut connection = connection(service, "c", ours, peer);
    connection.follow(request_to_follow(thread, 3), None);
    directory.close_within(Duration::from_secs(5)).await;
    connection.access.stop.cancel();
    tokio::spawn(connection.run(None));
    let mut received = Vec::new();
    theirs.read_to_end(&mut received).await.unwrap();
    assert!(received.len() > 3 * large.len(), "{} bytes", received.len());
}
