//! Work with a limit on its memory.

/// The result of work with a memory limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fit<T> {
    /// The work is done.
    Done(T),
    /// The limit was too small, and nothing was done. A text needs this many bytes.
    Needs(u64),
}

impl<T> Fit<T> {
    /// Applies `change` to the result.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Fit<U> {
        match self {
            Self::Done(done) => Fit::Done(change(done)),
            Self::Needs(bytes) => Fit::Needs(bytes),
        }
    }
}
