//! Which threads a list includes.

use acpd_model::event::TurnStatus;
use acpd_model::{IdPart, Millis, Summary, ThreadId, ThreadStatus};

/// A thread in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedThread {
    /// Id of the thread.
    pub thread: ThreadId,
    /// The summary, as last appended.
    pub summary: Summary,
}

/// End of a page of a list. Pass it to get the next page. It stays valid while threads are added and change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListCursor {
    /// `updated_at` of the last thread on the page.
    pub updated_at: Millis,
    /// The last thread on the page.
    pub thread: ThreadId,
}

/// Conditions for a list of threads, all of which must hold if they are set, and the size of its page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// Whether the thread is archived; `None` matches both.
    pub archived: Option<bool>,
    /// Whether the thread is pinned; `None` matches both.
    pub pinned: Option<bool>,
    /// Name of the agent in the daemon's configuration.
    pub agent: Option<String>,
    /// Working directory, compared exactly.
    pub cwd: Option<String>,
    /// Only active threads (`true`: a turn runs, or the thread is about to be deleted) or only idle ones (`false`).
    pub active: Option<bool>,
    /// Exact status. Checked among the threads that match [`active`](Self::active).
    pub status: Option<ThreadStatus>,
    /// Status of the last turn.
    pub last_turn: Option<TurnStatus>,
    /// Id of the agent's session that the thread uses.
    pub session_id: Option<String>,
    /// Part of the name, compared case-insensitively.
    pub search: Option<String>,
    /// Beginning or end of the thread's id.
    pub id: Option<IdPart>,
    /// The page ends with the thread by which its summaries have more bytes than this, by [`Summary::weight`]. No condition.
    pub page_bytes: Option<usize>,
}

impl Filter {
    /// Returns whether a page whose summaries have these bytes is full.
    pub(crate) fn is_full(&self, bytes: usize) -> bool {
        self.page_bytes.is_some_and(|most| bytes > most)
    }

    /// Returns how many of these threads are on a page.
    pub(crate) fn fitting(&self, threads: &[ListedThread]) -> usize {
        let mut bytes = 0;
        let has_room = |listed: &&ListedThread| {
            let has_room = !self.is_full(bytes);
            bytes += listed.summary.weight();
            has_room
        };
        threads.iter().take_while(has_room).count()
    }

    /// Returns whether the list includes a thread with this summary.
    pub fn admits(&self, thread: ThreadId, summary: &Summary) -> bool {
        let same = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
        same(&self.agent, &summary.agent)
            && same(&self.cwd, &summary.cwd)
            && self.archived.is_none_or(|archived| archived == summary.archived)
            && self.pinned.is_none_or(|pinned| pinned == summary.pinned)
            && self
                .active
                .is_none_or(|active| active == summary.status.is_active())
            && self.status.is_none_or(|status| status == summary.status)
            && self.last_turn.is_none_or(|end| Some(end) == summary.last_turn)
            && (self.session_id.is_none() || self.session_id == summary.session_id)
            && self.admits_id(thread)
            && self.admits_name(summary.name.as_deref())
    }

    /// Returns whether `id` matches this thread.
    pub(crate) fn admits_id(&self, thread: ThreadId) -> bool {
        self.id.as_ref().is_none_or(|part| part.matches(thread))
    }

    /// Returns whether `search` matches this name. A thread without a name has the empty name.
    ///
    /// Case-insensitivity follows Unicode. Therefore no backend leaves this to its database: `SQLite` only knows ASCII.
    fn admits_name(&self, name: Option<&str>) -> bool {
        self.search.as_deref().is_none_or(|search| {
            let name = name.unwrap_or_default().to_lowercase();
            name.contains(&search.to_lowercase())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_ignores_case_and_knows_no_wildcards() {
        let search = |search: &str, name: Option<&str>| {
            let filter = Filter {
                search: Some(search.into()),
                ..Filter::default()
            };
            filter.admits_name(name)
        };
        assert!(search("ärger", Some("Viel ÄRGER")));
        assert!(search("", None));
        assert!(!search("a", None));
        assert!(search("100%", Some("100% done")));
        assert!(!search("1%e", Some("100% done")));
        assert!(!search("a_c", Some("abc")));
        assert!(search(r"\", Some(r"C:\x")));
    }
}
