//! Changes of the configuration file that clients request. The program that reads the file carries them out.
//!
//! In: changes, which the service has checked. Out: the same, one after the other, each with a place for its result. Owns: a short
//! queue. Never: reads or writes the file.

use acpd_model::limits::CONFIG_CHANGES;
use acpd_model::{ErrorCode, Failure};
use acpd_proto::surface::request::ConfigChange;
use tokio::sync::{mpsc, oneshot};

/// Gives clients access to the configuration file; cheap to clone. By default, there is no file.
#[derive(Debug, Clone, Default)]
pub struct ConfigFile(Option<mpsc::Sender<RequestedChange>>);

/// A change that a client has requested.
#[derive(Debug)]
pub struct RequestedChange {
    /// The change.
    pub change: ConfigChange,
    /// The agent of clients that name none, before the change.
    pub default_agent: Option<String>,
    done_tx: oneshot::Sender<Result<Changed, Failure>>,
}

/// The result of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Absolute path of the file.
    pub file: String,
    /// Whether the file was written: it may have had the setting already.
    pub is_new: bool,
}

impl ConfigFile {
    /// Creates the queue of changes.
    pub fn channel() -> (Self, mpsc::Receiver<RequestedChange>) {
        let (tx, rx) = mpsc::channel(CONFIG_CHANGES);
        (Self(Some(tx)), rx)
    }

    /// Queues a change. The receiver gets its result once the daemon has reloaded the file.
    pub(crate) fn change(
        &self,
        change: ConfigChange,
        default_agent: Option<String>,
    ) -> Result<oneshot::Receiver<Result<Changed, Failure>>, Failure> {
        let tx = self
            .0
            .as_ref()
            .ok_or_else(|| Failure::new(ErrorCode::Unsupported, "this daemon has no configuration file"))?;
        let (done_tx, done_rx) = oneshot::channel();
        let requested = RequestedChange {
            change,
            default_agent,
            done_tx,
        };
        tx.try_send(requested).map_err(|_| {
            Failure::new(
                ErrorCode::Overloaded,
                "the configuration is being changed already; try again",
            )
        })?;
        Ok(done_rx)
    }
}

impl RequestedChange {
    /// Answers the client, which may have gone.
    pub fn answer(self, result: Result<Changed, Failure>) {
        let _ = self.done_tx.send(result);
    }
}
