//! Numbers of events, and times.

/// An event's number in its thread: 1, 2, 3 … without gaps. 0 means "before the first event".
pub type Seq = u64;

/// Milliseconds since the Unix epoch.
pub type Millis = i64;
