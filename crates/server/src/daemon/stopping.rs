//! How running turns end when the daemon stops.
//!
//! In: the setting, and the threads. Out: threads that are unloaded, with their turns ended or left to the next daemon. Owns:
//! nothing. Never: waits longer than its limits.

use std::time::Duration;

use acpd_log::{Filter, SharedLog};
use acpd_model::limits::{DRAIN_SECS, SHUTDOWN_SECS};
use acpd_runtime::service::Service;

use crate::config::OnStop;

/// Time between two looks at the running turns.
const LOOK: Duration = Duration::from_millis(500);

/// Unloads all threads.
pub(super) async fn unload_threads(service: &Service, on_stop: OnStop) {
    let patience = Duration::from_secs(SHUTDOWN_SECS);
    let Service {
        directory, context, ..
    } = service;
    if on_stop == OnStop::Leave {
        return directory.leave_within(patience).await;
    }
    if on_stop == OnStop::Drain {
        let limit = Duration::from_secs(DRAIN_SECS);
        if tokio::time::timeout(limit, turns_ended(&context.log))
            .await
            .is_err()
        {
            tracing::warn!(secs = DRAIN_SECS, "some turns took too long; they are ended");
        }
    }
    directory.close_within(patience).await;
    if tokio::time::timeout(patience, context.end_carried())
        .await
        .is_err()
    {
        tracing::warn!("some agents of threads that are not loaded did not end in time");
    }
}

/// Waits until no turn runs or waits.
async fn turns_ended(log: &SharedLog) {
    loop {
        let active = Filter {
            active: Some(true),
            ..Filter::default()
        };
        match log.list(active, None, 1).await {
            Ok(threads) if threads.is_empty() => return,
            Ok(_) => tokio::time::sleep(LOOK).await,
            Err(error) => {
                tracing::warn!(%error, "the running turns cannot be listed; they are ended");
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use acpd_log::{EventLog, Memory, conformance::sample};
    use acpd_model::{Summary, ThreadStatus};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_daemon_that_drains_waits_until_no_turn_runs() {
        let memory = Arc::new(Memory::new());
        let log: SharedLog = memory.clone();
        let thread = sample::thread(1);
        let with = |status| Summary {
            status,
            ..sample::summary("busy", 1)
        };
        memory
            .append(
                thread,
                &sample::run(1..=1, 10),
                Some(&with(ThreadStatus::Running)),
            )
            .await
            .unwrap();
        let waits = tokio::time::timeout(Duration::from_mins(1), turns_ended(&log)).await;
        assert!(waits.is_err(), "its turn runs");
        memory
            .append(thread, &sample::run(2..=2, 10), Some(&with(ThreadStatus::Idle)))
            .await
            .unwrap();
        let ended = tokio::time::timeout(Duration::from_mins(1), turns_ended(&log)).await;
        assert!(ended.is_ok());
    }
}
