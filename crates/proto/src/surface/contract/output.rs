//! The outputs of a connection.

use acpd_model::{RawJson, ThreadId};
use bytes::Bytes;

use crate::surface::request::Request;
use crate::thread::EditorCommand;
use crate::wire::RpcError;

/// An output of a connection. Outputs must be carried out in order, because a message may depend on an earlier one.
#[derive(Debug, PartialEq)]
pub enum Output {
    /// Sends one message.
    Send(Bytes),
    /// Carries out a request. Its reply goes to [`handle_reply`](super::Surface::handle_reply) under the same number.
    Request {
        /// Identifies the reply.
        call: u64,
        /// The request.
        request: Box<Request>,
        /// Whether all earlier messages must have been sent before the request is carried out.
        after_sent: bool,
    },
    /// Sends the client an agent's request. From then on the client may have carried it out. If the thread counts the
    /// connection as gone, the message is not sent, and [`Delegated::NotSent`] follows.
    Delegate {
        /// The thread whose agent sent the request.
        thread: ThreadId,
        /// The number of the agent's request.
        call: u64,
        /// The message.
        text: Bytes,
    },
    /// The client has answered an agent's request.
    Delegated {
        /// The thread whose agent sent the request.
        thread: ThreadId,
        /// The number of the agent's request.
        call: u64,
        /// The client's response.
        result: Result<RawJson, RpcError>,
    },
    /// Ends the connection: a thread that the client follows cannot be read any more, and the protocol cannot say so.
    End,
}

/// A command about an agent's requests to the client.
#[derive(Debug, PartialEq)]
pub enum Delegated {
    /// A command of the thread.
    Command(EditorCommand),
    /// The request of [`Output::Delegate`] was not sent.
    NotSent {
        /// The number of the agent's request.
        call: u64,
    },
}
