//! Snapshots of a thread's state, so that a long thread is loaded without its whole history.
//!
//! In: the state, or its stored form. Out: the other. Never: reads a form of another version. A snapshot that cannot be read
//! is only a reason to fold more events.

use acpd_model::ThreadId;

use super::Live;

/// Version of the stored form. It changes whenever the fields of [`Live`] change, or the way in which events are folded
/// into them: an old snapshot would otherwise hide the change.
pub const SNAPSHOT_FORMAT: u32 = 15;

impl Live {
    /// Returns the stored form. Fails only if there is a bug.
    pub fn to_snapshot(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(self)
    }

    /// Reads the stored form, as the state of `thread`, which can be a fork of the thread that stored it.
    pub fn from_snapshot(thread: ThreadId, body: &[u8]) -> Result<Self, serde_json::Error> {
        let mut live: Self = acpd_model::json::from_bytes(body)?;
        live.readdress(thread);
        Ok(live)
    }

    /// Makes this the state of another thread.
    pub fn readdress(&mut self, thread: ThreadId) {
        self.thread = thread;
        if let Some(question) = &mut self.summary.question {
            question.request_id.thread = thread;
        }
        for open in self.requests.values_mut() {
            open.id.thread = thread;
            open.event.readdress(thread);
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    /// A reader of another version would take a field that it does not find for one without a value.
    #[test]
    fn the_version_changes_with_the_fields() {
        let live = Live::new(ThreadId(Uuid::nil()));
        let body = live.to_snapshot().unwrap();
        let json: serde_json::Value = serde_json::from_slice(&body).unwrap();
        let fields: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!((SNAPSHOT_FORMAT, fields.join(" ").as_str()), (15, FIELDS));
    }

    const FIELDS: &str = "asks_changes asks_commands background bound choices client_turns commands config_options cursors declared dropped forgotten is_copy items lanes \
        last_item last_request last_seq last_terminal last_turn last_turn_shown lease mode model models modes names notes plans policy queue queue_paused remembered \
        requests says_agent_decides says_directory_gone spec spending steers summary thread tools turn usage used_ids weight";
}
