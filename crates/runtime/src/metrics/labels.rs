//! Labels of numbers.

/// A single label: its name and value.
pub(super) type Labels = [(&'static str, &'static str); 1];
