//! Connections of clients, and the memory for what they have not received yet.

/// Seconds that a new connection has for the TLS handshake, for its HTTP head, and again for a body.
pub const HEAD_SECS: u64 = 10;
/// Seconds that a client has to receive the rest of its messages when the daemon closes the connection.
pub const LAST_WORDS_SECS: u64 = 1;
/// Bytes that may be queued for a client before the daemon queues no more events and large answers for it. One batch of events
/// or one answer may exceed the limit.
pub const OUTBOX_BYTES: usize = 1 << 20;
/// Steps that may queue more for a client at that limit: small answers, and errors. A client that exceeds it, or [`OUTBOX_BYTES`] of
/// such answers, sends requests without reading, and is disconnected.
pub const UNREAD_ANSWERS: usize = 256;
/// Bytes of batches that the subscribers of all threads have not received yet. A batch that does not fit is not kept: its
/// subscribers read it from the log.
pub const LIVE_BYTES: u32 = 64 << 20;
/// Bytes of a batch that the subscribers of a thread share. They read a larger one from the log.
pub const SHARED_BATCH_BYTES: u64 = 4 << 20;
/// Bytes of events that a subscriber reads from the log at once without room of its principal. A larger event, such as a tool call with a
/// large diff, waits for room: its frames are in memory until the client has received them.
pub const FREE_EVENT_BYTES: u64 = 2 << 20;
/// Bytes of pages and lists that the clients of one principal have not received yet. The next one is read when there is room.
pub const UNSENT_BYTES_OF_ONE: u32 = 8 << 20;
/// The same for one connection. A larger answer takes all of it, and more of its principal's.
pub const UNSENT_BYTES_OF_CONNECTION: u32 = 2 << 20;
/// The same for all principals, and again for the readers of all shared threads. The last [`UNSENT_BYTES_OF_ONE`] are for owners.
pub const UNSENT_BYTES: u32 = 32 << 20;
/// Bytes that the downloads of one principal hold until its clients have received them. Another download is refused.
pub const DOWNLOAD_BYTES_OF_ONE: u32 = UNSENT_BYTES_OF_ONE / 2;
/// The same for all principals, and again for the readers of all shared threads. The last [`DOWNLOAD_BYTES_OF_ONE`] are for owners.
pub const DOWNLOAD_BYTES: u32 = UNSENT_BYTES / 2;
/// Bytes of the log's pages above [`FREE_EVENT_BYTES`] that the downloads of one principal hold besides. The next one is read when there is
/// room. A larger page takes all of it.
pub const DOWNLOAD_PAGE_BYTES_OF_ONE: u32 = 32 << 20;
/// The same for all principals, and again for the readers of all shared threads. The last [`DOWNLOAD_PAGE_BYTES_OF_ONE`] are for owners.
pub const DOWNLOAD_PAGE_BYTES: u32 = 64 << 20;
/// Bytes of an answer that needs none of this room.
pub const SMALL_ANSWER_BYTES: u64 = 64 << 10;
/// Bytes that are reserved for an answer before anything is read for it. Then it takes what it has.
pub const UNSENT_ANSWER_BYTES: u64 = 1 << 20;
/// Bytes of one item for a Codex client, which reads messages of at most 128 MiB: a resumed thread is one. Larger parts of it are
/// words that say where to read them.
pub const CODEX_ITEM_BYTES: usize = 4 << 20;
