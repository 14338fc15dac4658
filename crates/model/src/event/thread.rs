//! What happened to a thread as a whole.

use super::created::{Directories, Fidelity, ThreadCreated, ThreadForked};
use super::row::kinds;
use super::words::{LeaseHolder, LeaseMove, SessionDeleted};
use crate::ids::TurnId;
use crate::json::RawJson;
use crate::status::ThreadStatus;

kinds! {
    /// What happened to a thread as a whole.
    ThreadEvent {
        /// The thread was created.
        "threadCreated" as "thread:create" in Thread => Created(Box<ThreadCreated>),
        /// The status of the thread changed.
        "statusChanged" as "thread:status" in Thread => StatusChanged {
            /// The new status.
            status: ThreadStatus,
        },
        /// A user named the thread, or removed the name.
        "threadRenamed" as "thread:rename" in Thread => Renamed {
            /// The new name; absent if it was removed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            name: Option<String>,
            /// The name displayed from now on: `name`, else the agent's title, else the beginning of the first prompt.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            shown: Option<String>,
        },
        /// The client replaced all of its own data.
        "metadataSet" as "thread:metadata" in Thread => MetadataSet {
            /// The new data; absent if the data were removed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            metadata: Option<RawJson>,
        },
        /// A user named the directories that the thread works in from now on, for example because they were moved.
        "directoriesSet" as "thread:directories" in Thread => DirectoriesSet(Box<Directories>),
        /// A user pinned the thread, or removed its pin.
        "pinSet" as "thread:pin" in Thread => PinSet {
            /// Whether the thread is pinned from now on.
            pinned: bool,
            /// The thread's place among pinned threads, the lowest first; absent if the user has chosen none.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            place: Option<u32>,
        },
        /// The thread was archived.
        "threadArchived" as "thread:archive" in Thread => Archived {},
        /// The thread was unarchived.
        "threadUnarchived" as "thread:unarchive" in Thread => Unarchived {},
        /// The thread is about to be deleted together with its log. No event follows.
        "threadDeleted" as "thread:delete" in Thread => Deleted {
            /// Whether the agent also deleted its session.
            session: SessionDeleted,
        },
        /// The turns after one turn were dropped and are no longer part of the conversation. The daemon released the
        /// agent's session, since that session remembers them.
        "turnsRolledBack" as "turn:rollback" in Thread => TurnsRolledBack {
            /// The last turn that is kept; absent if no turn is kept.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            last_kept: Option<TurnId>,
            /// How well the agent remembers the kept turns.
            fidelity: Fidelity,
            /// The fork of the agent's session that has exactly the kept turns, if the agent has forked it there.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            session_id: Option<String>,
        },
        /// The thread was forked from another thread. All events before this one are shared with that
        /// thread, or concern turns of it that the fork leaves out.
        "threadForked" as "thread:fork" in Thread => Forked(Box<ThreadForked>),
        /// The lease moved: from now on another connection, or the daemon, answers the agent's client requests.
        "leaseMoved" as "thread:lease" in Thread => LeaseMoved {
            /// The new holder; absent if the daemon itself answers.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            holder: Option<Box<LeaseHolder>>,
            /// Why the lease moved.
            why: LeaseMove,
        },
        /// The thread's own policy was set or removed.
        "policySet" as "policy:set" in Thread => PolicySet {
            /// The new policy; absent if it was removed.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            policy: Option<RawJson>,
        },
    }
}
