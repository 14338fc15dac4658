//! The queue of a state machine's outputs, until they are polled.

use std::collections::VecDeque;

/// A queue that fills and drains repeatedly. Empty, it uses no memory, because a daemon has thousands of idle state
/// machines.
#[derive(Debug)]
pub(crate) struct Queue<T>(VecDeque<T>);

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Queue<T> {
    pub(crate) fn push(&mut self, item: T) {
        self.0.push_back(item);
    }

    /// Makes room for `more` items in one allocation.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.0.reserve(more);
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        let item = self.0.pop_front();
        if item.is_none() {
            self.0 = VecDeque::new();
        }
        item
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_memory_back_when_less_is_going_on() {
        let mut queue = Queue::default();
        for round in [1000, 1] {
            (0..round).for_each(|n| queue.push(n));
            assert_eq!(queue.len(), round);
            assert_eq!(std::iter::from_fn(|| queue.pop()).count(), round);
            assert_eq!(queue.0.capacity(), 0);
        }
    }
}
