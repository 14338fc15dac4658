//! What a connection takes over from one that was lost.

use acpd_model::{Failure, RawJson, ThreadId};

use super::peer::{Peer, Prompt};

impl Peer {
    /// A prompt that an earlier connection of the same editor sent under `name`, and that was not answered there: it is
    /// answered here, under the editor's `id`, when its turn is over. The thread is open.
    pub fn take_over(&mut self, id: RawJson, thread: ThreadId, name: String) {
        self.prompts.push(Prompt {
            id: Some(id),
            thread,
            name,
            turn: None,
            cancelled: false,
        });
    }

    /// A request of an earlier connection that came to nothing.
    pub fn decline(&mut self, id: &RawJson, failure: &Failure) {
        self.refuse(id, failure);
    }
}
