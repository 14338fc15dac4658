//! Changes of the configuration file that clients request. The program that reads the file carries them out.
//!
//! In: changes, which the service has checked. Out: the same, one after the other, each with a place for its result, and whether the
//! daemon uses the setting then: the next change may already have replaced it when the client is answered. Owns: a short queue. Never: reads or writes the file.

use std::fmt;

use acpd_model::{ErrorCode, Failure};
use acpd_proto::surface::request::ConfigChange;
use tokio::sync::{mpsc, oneshot};

/// Changes of the configuration file that wait for another one.
const CONFIG_CHANGES: usize = 8;

/// Gives clients access to the configuration file; cheap to clone. By default, there is no file.
#[derive(Debug, Clone, Default)]
pub struct ConfigFile(Option<mpsc::Sender<RequestedChange>>);

/// Returns whether the daemon uses the setting of a change.
type IsInUse = Box<dyn Fn(&ConfigChange) -> bool + Send>;

/// A change that a client has requested.
pub struct RequestedChange {
    /// The change.
    pub change: ConfigChange,
    /// The agent of clients that name none, before the change.
    pub default_agent: Option<String>,
    is_in_use: IsInUse,
    done_tx: oneshot::Sender<Result<Done, Failure>>,
}

impl fmt::Debug for RequestedChange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("RequestedChange")
            .field("change", &self.change)
            .finish_non_exhaustive()
    }
}

/// A change that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Done {
    pub changed: Changed,
    /// Whether the daemon used the setting once it had reloaded the file.
    pub is_in_use: bool,
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

    /// Queues a change. The receiver gets its result once the daemon has reloaded the file. `is_in_use` is called then.
    pub(crate) fn change(
        &self,
        change: ConfigChange,
        default_agent: Option<String>,
        is_in_use: impl Fn(&ConfigChange) -> bool + Send + 'static,
    ) -> Result<oneshot::Receiver<Result<Done, Failure>>, Failure> {
        let tx = self
            .0
            .as_ref()
            .ok_or_else(|| Failure::new(ErrorCode::Unsupported, "this daemon has no configuration file"))?;
        let (done_tx, done_rx) = oneshot::channel();
        let requested = RequestedChange {
            change,
            default_agent,
            is_in_use: Box::new(is_in_use),
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
    /// Answers the client, which may have gone. Called when the daemon has reloaded the file, before the next change.
    pub fn answer(self, result: Result<Changed, Failure>) {
        let is_in_use = (self.is_in_use)(&self.change);
        let _ = self
            .done_tx
            .send(result.map(|changed| Done { changed, is_in_use }));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[tokio::test]
    async fn a_setting_counts_as_used_although_the_next_change_replaces_it() {
        let (file, mut requested) = ConfigFile::channel();
        let used = Arc::new(AtomicBool::new(false));
        let is_used = Arc::clone(&used);
        let change = ConfigChange::DefaultAgent { agent: None };
        let done = file
            .change(change, None, move |_| is_used.load(Ordering::Relaxed))
            .unwrap();
        let requested = requested.recv().await.unwrap();
        used.store(true, Ordering::Relaxed);
        requested.answer(Ok(Changed {
            file: "/c.toml".to_owned(),
            is_new: true,
        }));
        // The next change, before the client is answered.
        used.store(false, Ordering::Relaxed);
        assert!(done.await.unwrap().unwrap().is_in_use);
    }
}
