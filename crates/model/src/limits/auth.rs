//! Access: tokens, pairings, sessions of browsers, and links that share a thread.

/// Access tokens that may exist.
pub const TOKENS: usize = 256;
/// Longest name of a token, in bytes.
pub const TOKEN_NAME_BYTES: usize = 64;
/// Seconds for which a ticket is valid.
pub const TICKET_SECS: u64 = 30;
/// Shortest time for which a pairing waits for its device, in seconds.
pub const PAIRING_MIN_SECS: u64 = 60;
/// Longest time for which a pairing waits for its device, in seconds.
pub const PAIRING_MAX_SECS: u64 = 3600;
/// Paired devices of one token other than the owner's.
pub const PAIRED_OF_ONE: usize = 16;
/// Days until an unused browser session expires.
pub const SESSION_DAYS: i64 = 7;
/// Days until a browser session expires in any case.
pub const SESSION_MAX_DAYS: i64 = 30;
/// Browser sessions of all tokens.
pub const SESSIONS: usize = 512;
/// Browser sessions of one token.
pub const SESSIONS_OF_ONE: usize = 64;
/// Browser sessions of all links that share a thread.
pub const SHARE_SESSIONS: usize = 512;
/// Longest name that a user gives to a signed-in device, in bytes: the web UI accepts 32 UTF-16 units, of up to three bytes each.
pub const DEVICE_NAME_BYTES: usize = 96;
/// Largest file of browser sessions, in bytes. All sessions have up to 700 bytes each, with their names, and the browsers that receive
/// notifications 3 KiB more.
pub const SESSIONS_FILE_BYTES: u64 = 1 << 21;
/// Links with which threads are shared, all together.
pub const SHARES: usize = 512;
/// Links of one thread.
pub const SHARES_OF_THREAD: usize = 32;
/// Open connections of one link.
pub const SHARE_CONNECTIONS: usize = 64;
/// Bytes in the name of a link.
pub const SHARE_NAME_BYTES: usize = 100;
/// Bytes in the file of links.
pub const SHARES_FILE_BYTES: u64 = 512 << 10;
