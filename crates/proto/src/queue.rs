//! The queue of a state machine's outputs, until they are polled.

use std::collections::VecDeque;

/// A queue that fills and drains repeatedly. After a burst it frees its memory as soon as the load drops, because a
/// daemon has thousands of idle state machines.
#[derive(Debug)]
pub(crate) struct Queue<T> {
    items: VecDeque<T>,
    /// Number of items popped since the queue was last empty.
    taken: usize,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self {
            items: VecDeque::new(),
            taken: 0,
        }
    }
}

impl<T> Queue<T> {
    pub(crate) fn push(&mut self, item: T) {
        self.items.push_back(item);
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        let item = self.items.pop_front();
        match item {
            Some(_) => self.taken += 1,
            None => {
                if self.items.capacity() > 8 && self.items.capacity() > 4 * self.taken {
                    self.items.shrink_to(2 * self.taken);
                }
                self.taken = 0;
            }
        }
        item
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_memory_back_when_less_is_going_on() {
        let mut queue = Queue::default();
        for round in [1000, 1000, 1] {
            (0..round).for_each(|n| queue.push(n));
            assert_eq!(queue.len(), round);
            assert_eq!(std::iter::from_fn(|| queue.pop()).count(), round);
            assert!(
                round == 1 || queue.items.capacity() >= round,
                "kept while it is needed"
            );
        }
        assert!(queue.items.capacity() < 16);
    }
}
