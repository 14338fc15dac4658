//! The lease: which of the attached editors answers the agent's requests to its client.
//!
//! In: editors that attach, leave, acquire the lease, release it. Out: the event that the lease moved. Owns: the list
//! of attached editors, which is not in the log. Never: keeps a holder across a restart. The holder is the one in the
//! log.

use acpd_model::event::{LeaseHolder, LeaseMove};
use acpd_model::{ErrorCode, EventKind, Failure, Origin, ThreadEvent};

use super::Callbacks;
use crate::agent::ElicitationModes;
use crate::thread::editors::EditorCapabilities;
use crate::thread::journal::Journal;
use crate::thread::reply::Reply;

/// An editor that has the thread open.
#[derive(Debug, Clone)]
pub(super) struct AttachedEditor {
    pub connection: String,
    /// The editor as the origin of events.
    pub by: Origin,
    pub abilities: EditorCapabilities,
    /// Whether the editor released the lease; then it gets the lease again only on request.
    pub declines: bool,
}

impl Callbacks {
    /// Attaches an editor that opened the thread. A repeated attach of the same connection updates its capabilities.
    pub fn attach(
        &mut self,
        journal: &mut Journal,
        by: Origin,
        connection: &str,
        abilities: EditorCapabilities,
    ) -> Reply {
        match self
            .editors
            .iter_mut()
            .find(|editor| editor.connection == connection)
        {
            Some(known) => known.abilities = abilities,
            None => self.editors.push(AttachedEditor {
                connection: connection.to_owned(),
                by: by.clone(),
                abilities,
                declines: false,
            }),
        }
        if journal.live().lease.is_none() && abilities.any() {
            self.move_lease(journal, Some(connection), LeaseMove::Opened, by);
        }
        lease_reply(journal)
    }

    /// Gives the lease to an editor that requests it.
    pub fn acquire_lease(
        &mut self,
        journal: &mut Journal,
        by: Origin,
        connection: &str,
    ) -> Result<Reply, Failure> {
        self.attached_mut(connection)?.declines = false;
        if !holds_lease(journal, connection) {
            self.move_lease(journal, Some(connection), LeaseMove::Acquired, by);
        }
        Ok(lease_reply(journal))
    }

    /// Releases an editor's lease. The lease is passed on as if the editor had left.
    pub fn release_lease(
        &mut self,
        journal: &mut Journal,
        by: Origin,
        connection: &str,
    ) -> Result<Reply, Failure> {
        self.attached_mut(connection)?.declines = true;
        if holds_lease(journal, connection) {
            self.pass_lease_on(journal, LeaseMove::Released, by);
        }
        Ok(lease_reply(journal))
    }

    /// Handles an editor that closed the thread or disconnected. `unsent` are the callbacks that were never sent to
    /// it.
    pub fn editor_gone(&mut self, journal: &mut Journal, connection: &str, unsent: &[u64]) {
        let Some(at) = self
            .editors
            .iter()
            .position(|editor| editor.connection == connection)
        else {
            return;
        };
        let removed = self.editors.remove(at);
        if holds_lease(journal, connection) {
            self.pass_lease_on(journal, LeaseMove::Left, Origin::Daemon);
        }
        self.lose_terminals(journal, connection);
        self.end_delegations_to(journal, &removed, unsent);
    }

    /// Returns the modes of elicitation that the attached editors can show; `None` without an editor.
    pub fn elicitation(&self) -> Option<ElicitationModes> {
        let shown = self.editors.iter().map(|editor| editor.abilities.elicitation);
        shown.reduce(ElicitationModes::or)
    }

    /// Clears the lease after a restart, because no connection outlives the process.
    pub fn void_lease(&mut self, journal: &mut Journal) {
        if journal.live().lease.is_some() {
            self.move_lease(journal, None, LeaseMove::Restarted, Origin::Daemon);
        }
    }

    /// Returns the editor that holds the lease, if it is attached.
    pub(super) fn lease_holder(&self, journal: &Journal) -> Option<&AttachedEditor> {
        let holder = journal.live().lease.as_ref()?;
        self.attached(&holder.connection)
    }

    pub(super) fn attached(&self, connection: &str) -> Option<&AttachedEditor> {
        self.editors.iter().find(|editor| editor.connection == connection)
    }

    fn attached_mut(&mut self, connection: &str) -> Result<&mut AttachedEditor, Failure> {
        let found = self
            .editors
            .iter_mut()
            .find(|editor| editor.connection == connection);
        found.ok_or_else(|| {
            Failure::new(
                ErrorCode::Conflict,
                "the session is not open on this connection: load or resume it first",
            )
        })
    }

    /// Passes the lease to the next attached editor with capabilities, if there is one.
    fn pass_lease_on(&mut self, journal: &mut Journal, why: LeaseMove, by: Origin) {
        let next = self
            .editors
            .iter()
            .find(|editor| editor.abilities.any() && !editor.declines)
            .map(|editor| editor.connection.clone());
        self.move_lease(journal, next.as_deref(), why, by);
    }

    fn move_lease(&mut self, journal: &mut Journal, to: Option<&str>, why: LeaseMove, by: Origin) {
        let to = to.and_then(|connection| self.attached(connection));
        let holder = to.map(|editor| {
            let (principal, client) = match &editor.by {
                Origin::Client(caller) => (caller.principal.clone(), caller.client.clone()),
                _ => Default::default(),
            };
            Box::new(LeaseHolder {
                principal,
                client,
                connection: editor.connection.clone(),
            })
        });
        let kind = EventKind::Thread(ThreadEvent::LeaseMoved { holder, why });
        journal.emit(by, kind, None);
    }
}

fn holds_lease(journal: &Journal, connection: &str) -> bool {
    journal
        .live()
        .lease
        .as_ref()
        .is_some_and(|holder| holder.connection == connection)
}

fn lease_reply(journal: &Journal) -> Reply {
    Reply::Lease(journal.live().lease.clone())
}
