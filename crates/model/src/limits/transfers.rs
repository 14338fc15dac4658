//! Large data on its way: blobs, attached files and exports.

/// Bytes of a blob that are read and sent at once, while there is room for it. The log finds each part from the blob's beginning, so
/// that larger parts are faster.
pub const BLOB_PART_BYTES: usize = 1 << 20;
/// The same without room.
pub const BLOB_SMALL_PART_BYTES: usize = 64 << 10;
/// Bytes of all parts of blobs that are larger than [`BLOB_SMALL_PART_BYTES`].
pub const BLOB_PARTS_BYTES: u32 = 16 << 20;
/// Largest file that a client may attach to a thread, in bytes.
pub const ATTACHMENT_BYTES: u64 = 50 << 20;
/// Files that may be attached to one thread.
pub const ATTACHMENTS_OF_THREAD: usize = 256;
/// Bytes of all files that are attached to one thread.
pub const ATTACHMENTS_BYTES_OF_THREAD: u64 = 1 << 30;
/// Bytes of the files that one principal may attach in a day (UTC), to all threads.
pub const ATTACHMENTS_BYTES_OF_DAY: u64 = 4 << 30;
/// Files that clients may be sending at the same time.
pub const ATTACHMENTS_ARRIVING: usize = 16;
/// Files that one principal may be sending at the same time.
pub const ATTACHMENTS_ARRIVING_OF_ONE: usize = 4;
/// Bytes of finished items that an export of a document holds back until their turn is over. Above it, they are written before
/// the turn. A document is charged for them before anything is read, and other exports for
/// [`UNSENT_ANSWER_BYTES`](super::UNSENT_ANSWER_BYTES).
pub const EXPORT_TURN_BYTES: usize = 2 << 20;
/// Bytes of a picture that a document shows. For a larger one, it has words.
pub const EXPORT_PICTURE_BYTES: usize = 4 << 20;
/// Bytes of all pictures that a document shows. For those after them, it has words.
pub const EXPORT_PICTURES_BYTES: usize = 32 << 20;
