//! The bound of what is repeated. Version 1 has only the whole content of a tool call, so that a short message of version 2 could make a
//! long one each time.

/// Bytes that are repeated for each byte that the agent sends.
const FACTOR: usize = 16;
/// Bytes that may be repeated at first.
const BEGIN_BYTES: usize = 1 << 20;

/// The bytes that may be repeated now.
#[derive(Debug)]
pub(super) struct Allowance(usize);

impl Default for Allowance {
    fn default() -> Self {
        Self(BEGIN_BYTES)
    }
}

impl Allowance {
    /// Adds to it for a message of the agent.
    pub fn add(&mut self, bytes: usize) {
        self.0 = self.0.saturating_add(bytes.saturating_mul(FACTOR));
    }

    /// Returns bytes that were taken and not used.
    pub fn give_back(&mut self, bytes: usize) {
        self.0 = self.0.saturating_add(bytes);
    }

    /// Takes bytes from it. Returns `false` if there are too few.
    pub fn take(&mut self, bytes: usize) -> bool {
        match self.0.checked_sub(bytes) {
            Some(left) => {
                self.0 = left;
                true
            }
            None => false,
        }
    }
}
