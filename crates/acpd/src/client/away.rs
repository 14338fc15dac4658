//! The time in which a command that follows a turn has no connection.
//!
//! In: the state of a client that reconnects. Out: what the user is shown of it, and when there is no more hope. Never: connects, or
//! starts a daemon: the client does the first, and a user may have stopped the daemon on purpose.

use std::time::Duration;

use acpd_client::{Client, Error, State};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::exit::Exit;

/// Time for a daemon to come back. Another one that takes over is there within seconds; a network may take longer.
const PATIENCE: Duration = Duration::from_mins(1);

/// A change that concerns the user.
#[derive(Debug, PartialEq, Eq)]
pub enum Change {
    /// The connection is lost; the client tries to connect again.
    Lost,
    /// There is a connection again.
    Back,
}

/// Whether the daemon is there.
pub struct Away {
    state: watch::Receiver<State>,
    lost_at: Option<Instant>,
}

impl Away {
    /// Watches the connection of a client, which is open.
    pub fn of(client: &Client) -> Self {
        Self::watch(client.state())
    }

    fn watch(state: watch::Receiver<State>) -> Self {
        Self { state, lost_at: None }
    }

    /// Returns the next change. Fails if the daemon does not come back. Cancel-safe.
    pub async fn next(&mut self) -> anyhow::Result<Change> {
        loop {
            tokio::select! {
                biased;
                changed = self.state.changed() => {
                    if changed.is_err() {
                        // What else belongs to the client says that it is gone.
                        return std::future::pending().await;
                    }
                    if let Some(change) = self.changed() {
                        return Ok(change);
                    }
                }
                () = until(self.lost_at.map(|at| at + PATIENCE)) => {
                    return Err(Exit::Unreachable.error(format!(
                        "the connection to the daemon has been lost for {} s; \"acpd status\" shows whether it runs",
                        PATIENCE.as_secs()
                    )));
                }
            }
        }
    }

    fn changed(&mut self) -> Option<Change> {
        match &*self.state.borrow_and_update() {
            State::Waiting { .. } if self.lost_at.is_none() => {
                self.lost_at = Some(Instant::now());
                Some(Change::Lost)
            }
            State::Open(_) => self.lost_at.take().map(|_| Change::Back),
            _ => None,
        }
    }
}

/// Waits until a time; forever if there is none.
async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// Makes a request, and makes it again on the next connection when one is lost before its response. It must be one that may be sent twice.
pub async fn insist<T, F>(client: &Client, request: impl Fn() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    loop {
        match request().await {
            Err(error) if is_lost(&error) => drop(client.ready().await?),
            outcome => return outcome,
        }
    }
}

/// Returns whether there is no connection, or it was lost before the response.
pub fn is_lost(error: &Error) -> bool {
    error.code() == "disconnected"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting() -> State {
        State::Waiting {
            retry_in: Duration::from_secs(1),
            error: Error::Disconnected("it is gone".to_owned()),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_daemon_that_is_away_for_long_ends_the_command() {
        let (state, watched) = watch::channel(State::Connecting);
        let mut away = Away::watch(watched);
        let begun = Instant::now();
        state.send_replace(waiting());
        assert!(matches!(away.next().await, Ok(Change::Lost)));
        let attempts = async {
            for _ in 0..20 {
                tokio::time::sleep(Duration::from_secs(5)).await;
                state.send_replace(State::Connecting);
                state.send_replace(waiting());
            }
        };
        let error = tokio::select! {
            biased;
            () = attempts => panic!("it waits for ever"),
            changed = away.next() => changed.expect_err("there is no daemon"),
        };
        assert_eq!(Exit::of(&error), Exit::Unreachable);
        assert_eq!(begun.elapsed(), PATIENCE);
    }
}
