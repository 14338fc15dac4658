//! The version of the app protocol.

/// Version of the app protocol. It increases when something is renamed or removed.
pub const PROTOCOL_VERSION: u32 = 1;
