//! Every bound of the fake model, with its unit.

use std::time::Duration;

/// Longest body of a request, in bytes; agents send their whole conversation each time.
pub const BODY_BYTES: usize = 64 << 20;
/// Requests that are remembered; older ones are forgotten.
pub const SEEN_REQUESTS: usize = 1024;
/// Pieces that `slow` may stream.
pub const SLOW_PIECES: usize = 10_000;
/// Time between two pieces of `slow`.
pub const SLOW_PAUSE: Duration = Duration::from_millis(50);
/// What is quoted of a tool's result, in characters.
pub const QUOTE_CHARS: usize = 2000;
/// Characters of text in one streamed piece.
pub const PIECE_CHARS: usize = 12;
/// How deep a JSON schema is followed when an example of it is made.
pub const SCHEMA_DEPTH: usize = 16;
