//! What the daemon sends to other services: notifications and traces.

use std::time::Duration;

/// Notifications that may wait for one target. The oldest one makes room for another.
pub const NOTIFICATIONS_WAITING: usize = 256;
/// Notifications that may wait for all targets.
pub const NOTIFICATIONS_WAITING_ALL: usize = 2048;
/// Time after which the daemon gives up on a notification.
pub const NOTIFICATIONS_GIVE_UP: Duration = Duration::from_hours(24);
/// Seconds that one delivery may take.
pub const NOTIFICATION_SECS: u64 = 15;
/// Bytes of a notification that is pushed to a browser, before it is encrypted. Push services accept 4096 bytes after it.
pub const PUSH_BYTES: usize = 3 << 10;
/// Bytes of the URL at which a push service accepts messages for a browser.
pub const PUSH_ENDPOINT_BYTES: usize = 2 << 10;
/// Seconds that the collector has to accept spans.
pub const TRACE_SEND_SECS: u64 = 5;
