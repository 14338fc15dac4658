//! Watches the free space for the data directory, so that a disk is known to fill up before it is full.
//!
//! In: the free bytes. Out: a metric, and a line of the daemon's log when they become few. Owns: whether they are few. Never:
//! stops anything.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use acpd_log::free_bytes;
use acpd_model::limits::LOW_FREE_BYTES;
use acpd_runtime::metrics::Metrics;
use tokio_util::sync::CancellationToken;

/// Seconds between two looks at the free bytes.
const DISK_LOOK_SECS: u64 = 10;

/// Watches until the daemon stops.
pub(super) async fn watch(data_dir: PathBuf, metrics: Arc<Metrics>, stop: CancellationToken) {
    let mut was_low = false;
    loop {
        // A file system that does not tell its free space may have enough.
        let free = free_bytes(&data_dir).unwrap_or(u64::MAX);
        metrics.disk_free(free);
        let low = is_low(was_low, free);
        let mib = free >> 20;
        if low && !was_low {
            tracing::warn!(
                mib,
                "the disk of the data directory is nearly full: turns fail when it is; delete threads with \"acpd delete\", or \
                 limit the log with [retention]"
            );
        } else if was_low && !low {
            tracing::info!(mib, "the disk of the data directory has room again");
        }
        was_low = low;
        tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = tokio::time::sleep(Duration::from_secs(DISK_LOOK_SECS)) => {}
        }
    }
}

/// Returns whether so few bytes are free that a user should know. Space that comes and goes around the limit is one warning.
fn is_low(was_low: bool, free: u64) -> bool {
    free < if was_low {
        2 * LOW_FREE_BYTES
    } else {
        LOW_FREE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_low_before_it_is_full_and_until_there_is_much_room() {
        let mut low = false;
        let half = LOW_FREE_BYTES / 2;
        for (free, expected) in [
            (u64::MAX, false),
            (LOW_FREE_BYTES, false),
            (LOW_FREE_BYTES - 1, true),
            (0, true),
            (LOW_FREE_BYTES + half, true),
            (2 * LOW_FREE_BYTES, false),
            (LOW_FREE_BYTES + half, false),
        ] {
            low = is_low(low, free);
            assert_eq!(low, expected, "{free}");
        }
    }
}
