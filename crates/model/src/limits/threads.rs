//! Threads: what they keep and show, and lists of them.

/// Longest name of a thread, in bytes.
pub const NAME_BYTES: usize = 1024;
/// Largest data that a client may store with a thread, in bytes.
pub const METADATA_BYTES: usize = 64 << 10;
/// Further directories that users may add to one thread.
pub const ADDITIONAL_DIRECTORIES: usize = 64;
/// Pending bytes at which the merged deltas of one item are emitted.
pub const COALESCE_BYTES: usize = 4096;
/// Longest time for which deltas of one item are merged, in milliseconds.
pub const COALESCE_MILLIS: u64 = 10;
/// Bytes of one item of a message or thought. A longer message continues in the next item, and only a single block other than text,
/// such as an image, makes a larger item.
pub const MESSAGE_ITEM_BYTES: usize = 1 << 20;
/// Bytes of an update beside its text, such as `_meta`, that each part of a divided text repeats. Only the first part has larger ones.
pub const REPEATED_MEMBERS_BYTES: usize = 4 << 10;
/// Largest schema of a form that an agent requests of which fields are read, in bytes. What is read takes many times its size for a
/// moment, and an agent's line may be much longer. A larger schema passes through unread.
pub const FORM_SCHEMA_BYTES: usize = 64 << 10;
/// Open tool calls of one thread. When another one starts, the oldest without an open question is ended.
pub const OPEN_TOOL_CALLS: usize = 4096;
/// Bytes of the open tool calls of one thread with all their updates. Above it, the oldest is ended.
pub const OPEN_TOOL_BYTES: usize = 64 << 20;
/// Bytes of the ids of a session's ended tool calls, which are kept to recognize late updates. Above it, the oldest id
/// is dropped.
pub const ENDED_TOOL_BYTES: usize = 256 << 10;
/// Files of all open tool calls that are shown as items of their own. Further files appear only in their tool calls.
pub const OPEN_FILE_CHANGES: usize = 1024;
/// Bytes of either text that a diff is computed from. A larger file is shown as rewritten.
pub const DIFF_BYTES: usize = 256 << 10;
/// Bytes of one turn's unified diff.
pub const TURN_DIFF_BYTES: usize = 1 << 20;
/// Shortest time between a change of a turn's diff and its live notification, in milliseconds.
pub const LIVE_DIFF_MILLIS: u64 = 250;
/// Bytes of live diffs that a turn may send to each client in a second, beyond the bytes of the changes themselves.
pub const LIVE_DIFF_BYTES_PER_SEC: u64 = 32 << 10;
/// Turns on one page of a thread if the client sets no limit.
pub const TURNS_PAGE: usize = 20;
/// Bytes of items on one page of a thread's turns, again of the notices and late updates beside them, and again of plans. A larger
/// item is on a page alone.
pub const TURNS_PAGE_BYTES: u64 = 1 << 20;
/// Pages of turns in one answer, for protocols whose clients read whole turns or threads. Clients request what is older.
pub const ANSWER_PAGES: usize = 16;
/// Threads on one page of `thread/list`: the maximum and the default.
pub const LIST_PAGE: usize = 100;
/// Bytes of the summaries on one page of `thread/list`. With large metadata, a page has fewer threads.
pub const LIST_PAGE_BYTES: usize = 1 << 20;
/// Days for which a thread's usage is kept. The oldest of more days becomes a part of the next one.
pub const USAGE_DAYS: usize = 128;
/// Currencies of one sum of costs.
pub const USAGE_CURRENCIES: usize = 8;
/// Currencies that are added up for one sum, of which it has the [`USAGE_CURRENCIES`] that most threads report.
pub const USAGE_CURRENCIES_ADDED: usize = 4096;
/// Rows of `usage/read`. The smallest of more rows are left out; the total has them.
pub const USAGE_ROWS: usize = 500;
