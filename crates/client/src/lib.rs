//! A client of acpd for programs in Rust.
//!
//! acpd is a daemon that runs coding agents and keeps everything that they do in a durable log. This crate is a typed client of
//! its app protocol, on Tokio:
//!
//! - [`Client`] has a method for each method of the protocol. It reconnects by itself, and paces requests by the daemon's limits.
//! - [`Subscription`] delivers every event of a thread once and in order, across lost connections, restarts of the daemon and
//!   slow readers.
//! - [`Notifications`] has the rest, such as changes of the thread list.
//! - [`protocol`] has the types. Words, objects and notifications that are newer than this crate are kept as they are, and are
//!   never an error. What an agent sends in place of an object of the Agent Client Protocol is left out.
//!
//! # Example
//!
//! This program runs a prompt, approves nothing, and prints the answer:
//!
//! ```no_run
//! use acpd_client::protocol::{Approve, Notification, StartThread};
//! use acpd_client::{Client, Error, Follow, Options};
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Error> {
//!     // This user's own daemon on this host, such as one that `acpd serve --demo` started.
//!     let client = Client::connect(Options::own("my-program")?).await?;
//!     let started = client
//!         .thread_start(&StartThread {
//!             agent_type: "demo".into(),
//!             cwd: "/home/ann/site".into(),
//!             text: Some("Show me what you can do".into()),
//!             ..StartThread::default()
//!         })
//!         .await?;
//!     let mut events = client.follow(&started.thread.id, Follow::all()).await?;
//!     while let Some(event) = events.next().await {
//!         match event? {
//!             Notification::ItemAgentMessageDelta(delta) => print!("{}", delta.text),
//!             Notification::ItemCommandExecutionRequestApproval(question)
//!             | Notification::ItemFileChangeRequestApproval(question)
//!             | Notification::ItemPermissionsRequestApproval(question) => {
//!                 // Without an answer, the turn waits for one of another client.
//!                 let answer = Approve {
//!                     request_id: question.request_id,
//!                     approved: Some(false),
//!                     ..Approve::default()
//!                 };
//!                 client.item_approve(&answer).await?;
//!             }
//!             Notification::TurnCompleted(completed) => {
//!                 println!("\nthe turn is {}", completed.turn.status);
//!                 break;
//!             }
//!             _ => {}
//!         }
//!     }
//!     Ok(())
//! }
//! ```
//!
//! # Failures
//!
//! A request is sent at most once. An [`Error`] has a stable [`code`](Error::code) and a sentence for users, and
//! [`is_retryable`](Error::is_retryable) says whether the same request may succeed later. After an error with the
//! code `disconnected`, the daemon may have executed the request. It is safe to repeat requests that only read, and `turn_start` with the same
//! `client_turn_id`.
//!
//! # Questions
//!
//! The agent's questions arrive as events, in the subscriptions of all clients. [`Client::item_approve`] and
//! [`Client::item_answer`] answer them. The daemon accepts the first answer, and `serverRequest/resolved` follows. A
//! program that begins with a later event finds the ids of open questions in [`Subscription::resumed`], and receives the
//! questions themselves with [`Follow::repeat_questions`].
//!
//! # Thread ids
//!
//! In the protocol, some params default to the thread that the connection used last. A client that reconnects has no such
//! thread, so `thread_id` is required here.

#![deny(missing_docs)]

mod address;
mod backoff;
mod client;
mod control;
mod driver;
mod error;
mod feed;
mod heard;
mod inbox;
mod json;
mod json_text;
mod message;
#[rustfmt::skip]
#[allow(clippy::doc_markdown, reason = "the docs are those of the protocol")]
mod methods;
mod objects;
mod options;
mod pace;
#[rustfmt::skip]
#[allow(
    clippy::doc_markdown,
    clippy::match_same_arms,
    clippy::option_option,
    reason = "docs and kinds are those of the protocol, in which absent is not null"
)]
pub mod protocol;
mod received;
mod socket;
mod stream;
mod subscription;
#[cfg(test)]
mod tests;
mod words;

pub use address::{Connection, Transport};
pub use backoff::Backoff;
pub use client::Client;
pub use control::State;
pub use error::{ConnectError, Error, Refusal};
pub use feed::{Notifications, Update};
pub use json_text::JsonText;
pub use options::Options;
pub use received::Received;
pub use stream::Follow;
pub use subscription::Subscription;

impl protocol::Notification {
    /// Returns whether it is a question of the agent, which `item/approve` or `item/answer` answers. Questions that are newer
    /// than this crate count as well.
    pub fn is_question(&self) -> bool {
        let method = self.method();
        method.ends_with("/requestApproval") || method == "item/tool/requestUserInput"
    }

    /// Returns the id of the question, if it is one.
    pub(crate) fn question_id(&self) -> Option<&str> {
        match self {
            Self::ItemCommandExecutionRequestApproval(approval)
            | Self::ItemFileChangeRequestApproval(approval)
            | Self::ItemPermissionsRequestApproval(approval) => Some(&approval.request_id),
            Self::ItemToolRequestUserInput(wanted) => Some(&wanted.request_id),
            Self::Unrecognized { params, .. } if self.is_question() => params["requestId"].as_str(),
            _ => None,
        }
    }
}

impl From<&str> for protocol::Words {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&str> for protocol::ConfigValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<bool> for protocol::ConfigValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}
