//! A transport whose messages are recorded.

use std::task::{Context, Poll};

use acpd_runtime::record::{Direction, Recording, WireRecorder};
use bytes::Bytes;

use super::{Broken, End, Stalled, Transport};

/// Wraps the transport of a client that speaks this protocol, if the wire is recorded.
pub fn recorded(
    transport: Box<dyn Transport>,
    wire: Option<&WireRecorder>,
    protocol: &str,
) -> Box<dyn Transport> {
    match wire {
        None => transport,
        Some(wire) => Box::new(Recorded {
            transport,
            recording: wire.client(protocol),
        }),
    }
}

struct Recorded {
    transport: Box<dyn Transport>,
    recording: Recording,
}

impl Transport for Recorded {
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<String>, Broken>> {
        let received = self.transport.poll_receive(cx);
        if let Poll::Ready(Ok(Some(text))) = &received {
            self.recording.text(Direction::FromClient, text);
        }
        received
    }

    fn queue(&mut self, text: Bytes) -> u64 {
        self.recording.message(Direction::ToClient, &text);
        self.transport.queue(text)
    }

    fn poll_write(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        self.transport.poll_write(cx)
    }

    fn backlog(&self) -> usize {
        self.transport.backlog()
    }

    fn sent(&self) -> u64 {
        self.transport.sent()
    }

    fn taken(&self) -> u64 {
        self.transport.taken()
    }

    fn heard(&self) -> u64 {
        self.transport.heard()
    }

    fn ping(&mut self) -> bool {
        self.transport.ping()
    }

    fn stalled(&mut self) -> Stalled {
        self.transport.stalled()
    }

    fn close(&mut self, why: End) {
        self.transport.close(why);
    }
}
