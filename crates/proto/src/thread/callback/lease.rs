//! The lease: which of the editors that have the thread open answers what the agent asks of its client.
//!
//! In: editors that open the thread, go, ask for the lease, give it up. Out: the event that it moved. The holder is what
//! the log says; who is attached is only known here, so that after a restart nobody holds it.

use acpd_model::event::{LeaseHolder, LeaseMove};
use acpd_model::{ErrorCode, EventKind, Failure, Origin};

use super::Callbacks;
use crate::thread::command::Reply;
use crate::thread::editors::EditorCapabilities;
use crate::thread::journal::Journal;

/// An editor that has the thread open.
#[derive(Debug, Clone)]
pub(super) struct AttachedEditor {
    pub connection: String,
    /// It, as the causer of events.
    pub by: Origin,
    pub abilities: EditorCapabilities,
    /// It gave the lease up, and does not get it again unless it asks.
    pub declines: bool,
}

impl Callbacks {
    /// An editor has opened the thread. The same connection once more is the same editor.
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

    /// Gives the lease to an editor that asks for it.
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

    /// Takes the lease back from an editor that does not want it. It is passed on as if the editor had gone.
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

    /// An editor has closed the thread, or its connection is gone. `unsent` is what it was never asked.
    pub fn editor_gone(&mut self, journal: &mut Journal, connection: &str, unsent: &[u64]) {
        let Some(at) = self
            .editors
            .iter()
            .position(|editor| editor.connection == connection)
        else {
            return;
        };
        let gone = self.editors.remove(at);
        if holds_lease(journal, connection) {
            self.pass_lease_on(journal, LeaseMove::Left, Origin::Daemon);
        }
        self.lose_terminals(journal, connection);
        self.end_delegations_to(journal, &gone, unsent);
    }

    /// No connection outlives the process that had it.
    pub fn void_lease(&mut self, journal: &mut Journal) {
        if journal.live().lease.is_some() {
            self.move_lease(journal, None, LeaseMove::Restarted, Origin::Daemon);
        }
    }

    /// The editor that answers: it holds the lease and is there.
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

    /// To the editor that came next and can answer, if there is one.
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
        let kind = EventKind::LeaseMoved { holder, why };
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
