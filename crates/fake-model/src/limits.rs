//! The limits of the fake model, with their units.

use std::time::Duration;

/// Maximum size of a request body, in bytes; agents send their whole conversation each time.
pub const BODY_BYTES: usize = 64 << 20;
/// Number of recorded requests; older ones are dropped.
pub const SEEN_REQUESTS: usize = 1024;
/// Maximum number of chunks of `slow`.
pub const SLOW_PIECES: usize = 10_000;
/// Time between two chunks of `slow`.
pub const SLOW_PAUSE: Duration = Duration::from_millis(50);
/// Maximum length of a quoted tool result, in characters.
pub const QUOTE_CHARS: usize = 2000;
/// Length of a streamed chunk of text, in characters.
pub const PIECE_CHARS: usize = 12;
/// Maximum depth to which an example follows a JSON schema.
pub const SCHEMA_DEPTH: usize = 16;
