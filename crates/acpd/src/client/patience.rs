//! How long a command waits for a daemon, until its connection is open.

use std::time::Duration;

use acpd_model::limits::{REACH_SECS, REACH_WORDS_SECS};
use tokio::time::{Instant, sleep_until};

use crate::exit::Exit;
use crate::terminal::print;

/// The time that all steps of one connection share.
#[derive(Debug)]
pub struct Patience {
    until: Instant,
    /// When to say that the daemon is slow; `None` if that was said, or is not wanted.
    words_at: Option<Instant>,
}

impl Patience {
    /// Begins to wait. A slow daemon is reported on standard error.
    pub fn begin() -> Self {
        let now = Instant::now();
        Self {
            until: now + Duration::from_secs(REACH_SECS),
            words_at: Some(now + Duration::from_secs(REACH_WORDS_SECS)),
        }
    }

    /// Begins to wait without words, where the terminal shows something else.
    pub fn silent() -> Self {
        Self {
            words_at: None,
            ..Self::begin()
        }
    }

    /// Waits for one step. `name` is the daemon's name in messages, and `missing` says what it has not done, as in "did not
    /// open the WebSocket".
    pub async fn wait<T>(
        &mut self,
        name: &str,
        missing: &str,
        step: impl Future<Output = T>,
    ) -> anyhow::Result<T> {
        // Steps may be large, and every command's future would contain them.
        let mut step = Box::pin(step);
        loop {
            let due = self.words_at.unwrap_or(self.until).min(self.until);
            tokio::select! {
                biased;
                done = &mut step => return Ok(done),
                () = sleep_until(due) => {}
            }
            if due == self.until {
                return Err(Exit::Unreachable.error(format!(
                    "{name} {missing} within {REACH_SECS} s: its host may be asleep or the network gone; \"acpd doctor\" on \
                     that host shows whether the daemon answers there"
                )));
            }
            self.words_at = None;
            print::hint(&format!(
                "{name} has not answered yet; waiting for up to {REACH_SECS} s"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn all_steps_share_one_bound() {
        let mut patience = Patience::silent();
        let pause = Duration::from_secs(REACH_SECS - 1);
        let done = patience
            .wait("x", "did not listen", tokio::time::sleep(pause))
            .await;
        assert!(done.is_ok());
        let began = Instant::now();
        let late = patience
            .wait("x", "did not speak", tokio::time::sleep(pause))
            .await;
        let error = late.expect_err("the time is over");
        assert_eq!(began.elapsed().as_secs(), 1);
        assert_eq!(Exit::of(&error), Exit::Unreachable);
        assert!(
            error.to_string().starts_with("x did not speak within 30 s"),
            "{error}"
        );
    }
}
